# SPDX-License-Identifier: Apache-2.0
"""Scores of a session against another version of the targets: every stored vector is
evaluated again; raw files stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rig.errors import DataError, NotInSession
from rig.model.step_record import StepRecord
from rig.model.steps import Solve
from rig.store import completion_lines, session_folder
from rig.store.session_folder import COMPLETIONS, SessionFolder
from scenarios.common.cost_gap import CostGap
from scenarios.tasks.qubo import answer, official, targets
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.facts import WorkloadFacts
from scenarios.tasks.qubo.facts import of as of_session
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.official import Officials
from scenarios.tasks.qubo.targets import Target, Targets, packed

SCHEMA = "neurorig-rescored-2"
RESCORED = "rescored.json"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two targets of a workload at one time; None where there was none."""

    official: int | None
    best_known: int | None


@dataclass(frozen=True, slots=True)
class Vector:
    """A stored vector: its trial (or segment) and step, its cost, the stored cost, and
    the targets before and after.

    `fault` is the reason why it does not count; then there is no cost.
    """

    part: str
    step: int
    warmup: bool
    workload: Workload
    graph: str
    stored: int | None
    before: Pair
    after: Pair
    cost: int | None = None
    solution: str = ""
    fault: str = ""

    def gap(self, target: int | None) -> float | None:
        """Return the gap to a target."""
        return (
            None
            if self.cost is None or target is None
            else CostGap(self.cost, target).gap
        )

    @property
    def beats(self) -> bool:
        """Whether it is better than the best known one, or the first of its
        workload."""
        return self.cost is not None and (
            self.after.best_known is None or self.cost < self.after.best_known
        )

    def json(self) -> dict[str, Any]:
        """Return its line of rescored.json."""
        before = self.before
        after = self.after
        printed = (
            None
            if self.cost is None or after.official is None
            else CostGap(self.cost, after.official).printed
        )
        return {
            "part": self.part,
            "step": self.step,
            "warmup": self.warmup,
            "workload": [
                self.workload.nodes,
                self.workload.density,
                self.workload.seed,
            ],
            "cost": self.cost,
            "stored_cost": self.stored,
            "official_before": before.official,
            "official": after.official,
            "gap_before": self.gap(before.official),
            "gap": self.gap(after.official),
            "gap_printed": printed,
            "best_known_before": before.best_known,
            "best_known": after.best_known,
            "gap_best_known_before": self.gap(before.best_known),
            "gap_best_known": self.gap(after.best_known),
            "beats_best_known": self.beats,
            "fault": self.fault,
        }


def rescored(session: Path, table: Targets, officials: Officials) -> Iterator[Vector]:
    """Yield every vector of a session, of all its trials and segments, evaluated on its
    regenerated graph.

    Raises DataError where the session is none of QUBO, or a graph is not the one that
    was searched.
    """
    about = _workloads(session)
    parts = sorted((path.parent for path in session.rglob(COMPLETIONS)), key=str)
    by_workload: dict[int, list[tuple[str, StepRecord]]] = {}
    for part in parts:
        name = str(part.relative_to(session))
        for done in completion_lines.read(part):
            if isinstance(done.step, Solve):
                by_workload.setdefault(done.step.index, []).append((name, done))
    for index, searches in sorted(by_workload.items()):
        if index not in about:
            raise DataError(
                f"a search of workload {index}, of which"
                f" {session / session_folder.PROVENANCE} says nothing"
            )
        graph = _graph(about[index])
        workload = about[index].workload
        best = table.rows.get(workload) or table.of(graph)
        own = officials.of(workload, best)
        after = Pair(
            None if own is None else own[0], None if best is None else best.cost
        )
        for name, done in searches:
            yield _vector(name, done, about[index], graph, after)


def kept(vectors: Iterable[Vector], method: str) -> list[Target]:
    """Return what beats the present targets as rows of a table, the best of each
    workload; the vector is the proof.
    """
    best: dict[Workload, Vector] = {}
    for vector in vectors:
        before = best.get(vector.workload)
        is_less = before is None or (vector.cost or 0) < (before.cost or 0)
        if vector.beats and is_less:
            best[vector.workload] = vector
    return [_row(workload, vector, method) for workload, vector in best.items()]


def _row(workload: Workload, vector: Vector, method: str) -> Target:
    return Target(
        nodes=workload.nodes,
        density=workload.density,
        seed=workload.seed,
        graph=vector.graph,
        cost=vector.cost or 0,
        proven=False,
        method=method,
        date=datetime.now(UTC).date().isoformat(),
        published=None,
        solution=vector.solution,
    )


def content(
    vectors: Sequence[Vector], table: Targets, path: Path, officials: Officials
) -> dict[str, Any]:
    """Return the content of rescored.json."""
    return {
        "schema": SCHEMA,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "targets": path.name,
        "targets_version": table.version,
        "official_targets": officials.source,
        "official_targets_sha256": officials.sha256,
        "vectors": [vector.json() for vector in vectors],
    }


def again(session: Path, stored: Any) -> dict[str, Any]:
    """Return rescored.json made once more; raise NotInSession where it was made with
    other targets than the shipped ones of this version.
    """
    stored_costs = stored if isinstance(stored, dict) else {}
    table = targets.read()
    officials = official.shipped(table)
    due = {
        "targets": targets.SHIPPED.name,
        "targets_version": table.version,
        "official_targets": officials.source,
    }
    if other := [
        name for name, value in due.items() if stored_costs.get(name) != value
    ]:
        raise NotInSession(
            f"it was made with {', '.join(other)} of another version than this rig"
            f" has ({table.version})"
        )
    vectors = list(rescored(session, table, officials))
    made = content(vectors, table, targets.SHIPPED, officials)
    return made | {"date_utc": str(stored_costs.get("date_utc"))}


def _workloads(session: Path) -> Mapping[int, WorkloadFacts]:
    task = SessionFolder(session).provenance().get("task", {})
    if not isinstance(task, dict) or task.get("name") != "qubo":
        raise DataError(
            f"{session} is no session of QUBO",
            try_next="rig list shows the sessions here",
        )
    if "problems" in task:
        raise DataError(
            f"{session} searched problems from files, whose targets its bench names",
            try_next="rig check SESSION evaluates its vectors again",
        )
    return dict(enumerate(of_session(task).workloads))


def _graph(about: WorkloadFacts) -> Graph:
    graph = generate(about.workload)
    if graph.sha256 != about.graph_sha256:
        raise DataError(
            f"the graph of {about.name} is not the one that the session searched",
            evidence=(
                f"its hash is {graph.sha256[:16]}, the session says"
                f" {about.graph_sha256[:16]}"
            ),
            try_next="rig check SESSION",
        )
    return graph


def _vector(
    part: str, done: StepRecord, about: WorkloadFacts, graph: Graph, after: Pair
) -> Vector:
    assert isinstance(done.step, Solve)
    stored = (
        done.score.costs.cost
        if done.score is not None and done.score.costs is not None
        else None
    )
    before = Pair(about.official, about.best)
    facts = (
        part,
        done.number,
        done.step.warmup,
        about.workload,
        graph.sha256,
        stored,
        before,
        after,
    )
    try:
        decoded = answer.decode(done.completion.output, graph.nodes)
    except DataError as error:
        return Vector(*facts, fault=error.cause)
    return Vector(
        *facts, cost=cost(graph, decoded.vector), solution=packed(decoded.vector)
    )
