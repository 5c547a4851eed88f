# SPDX-License-Identifier: Apache-2.0
"""Scores of a session against another version of the targets: every stored vector is evaluated again; raw files stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rig import store
from rig.done import Done
from rig.errors import DataError
from rig.plan import Solve
from rig.store import COMPLETIONS, SessionFolder
from scenarios.tasks.qubo import answer
from scenarios.tasks.qubo.cost import Gap, cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.targets import Target, Targets, packed

SCHEMA, RESCORED = "neurorig-rescored-1", "rescored.json"


@dataclass(frozen=True, slots=True)
class Vector:
    """A stored vector: of which trial (or sitting) and step, its cost, what was stored of it, and the targets then and now.

    `fault` says why it counts for nothing; then there is no cost.
    """

    part: str
    step: int
    warmup: bool
    workload: Workload
    graph: str
    stored: int | None
    before: int
    after: int | None
    cost: int | None = None
    solution: str = ""
    fault: str = ""

    @property
    def gaps(self) -> tuple[float | None, float | None]:
        """Return the gaps to the target then and to the target now."""
        if self.cost is None:
            return None, None
        return Gap(self.cost, self.before).gap, None if self.after is None else Gap(self.cost, self.after).gap

    @property
    def beats(self) -> bool:
        """Tell whether it is better than the present target, or the first of its workload."""
        return self.cost is not None and (self.after is None or self.cost < self.after)

    def json(self) -> dict[str, Any]:
        """Return its line of rescored.json."""
        old, new = self.gaps
        return {
            "part": self.part,
            "step": self.step,
            "warmup": self.warmup,
            "workload": [self.workload.nodes, self.workload.density, self.workload.seed],
            "cost": self.cost,
            "stored_cost": self.stored,
            "target_before": self.before,
            "target": self.after,
            "gap_before": old,
            "gap": new,
            "gap_printed": None if self.cost is None or self.after is None else Gap(self.cost, self.after).printed,
            "beats_target": self.beats,
            "fault": self.fault,
        }


def rescored(session: Path, table: Targets) -> Iterator[Vector]:
    """Yield every vector of a session, of all its trials and sittings, evaluated on its regenerated graph.

    Raises DataError where the session is none of QUBO, or a graph is not the one that was searched.
    """
    about = _workloads(session)
    parts = sorted((path.parent for path in session.rglob(COMPLETIONS)), key=str)
    told = [(str(part.relative_to(session)), done) for part in parts for done in store.read_completions(part)]
    by_workload: dict[int, list[tuple[str, Done]]] = {}
    for part, done in told:
        if isinstance(done.step, Solve):
            by_workload.setdefault(done.step.index, []).append((part, done))
    for index, searches in sorted(by_workload.items()):
        if index not in about:
            raise DataError(f"a search of workload {index}, of which {session / store.PROVENANCE} says nothing")
        graph = _graph(about[index])
        target = table.rows.get(_workload(about[index])) or table.of(graph)
        for part, done in searches:
            yield _vector(part, done, about[index], graph, target)


def kept(vectors: Iterable[Vector], method: str) -> list[Target]:
    """Return what beats the present targets as rows of a table, the best of each workload; the vector is the proof."""
    best: dict[Workload, Vector] = {}
    for vector in vectors:
        if vector.beats and (vector.workload not in best or (vector.cost or 0) < (best[vector.workload].cost or 0)):
            best[vector.workload] = vector
    today = datetime.now(UTC).date().isoformat()
    return [
        Target(w.nodes, w.density, w.seed, one.graph, one.cost or 0, False, method, today, None, one.solution)
        for w, one in best.items()
    ]


def content(vectors: Sequence[Vector], table: Targets, path: Path) -> dict[str, Any]:
    """Return the content of rescored.json."""
    return {
        "schema": SCHEMA,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "targets": path.name,
        "targets_version": table.version,
        "vectors": [vector.json() for vector in vectors],
    }


def _workloads(session: Path) -> Mapping[int, Mapping[str, Any]]:
    task = SessionFolder(session).provenance().get("task", {})
    if not isinstance(task, dict) or task.get("name") != "qubo":
        raise DataError(f"{session} is no session of QUBO", try_next="rig list shows the sessions here")
    return dict(enumerate(task["workloads"]))


def _workload(about: Mapping[str, Any]) -> Workload:
    return Workload(about["nodes"], about["density"], about["seed"])


def _graph(about: Mapping[str, Any]) -> Graph:
    graph = generate(_workload(about))
    if graph.sha256 != about["graph_sha256"]:
        raise DataError(
            f"the graph of {about['name']} is not the one that the session searched",
            evidence=f"its hash is {graph.sha256[:16]}, the session says {about['graph_sha256'][:16]}",
            try_next="rig check SESSION",
        )
    return graph


def _vector(part: str, done: Done, about: Mapping[str, Any], graph: Graph, target: Target | None) -> Vector:
    assert isinstance(done.step, Solve)
    stored = done.score.costs.cost if done.score is not None and done.score.costs is not None else None
    after = None if target is None else target.cost
    told = (part, done.number, done.step.warmup, _workload(about), graph.sha256, stored, about["target"], after)
    try:
        found = answer.decode(done.completion.output, graph.nodes)
    except DataError as error:
        return Vector(*told, fault=error.cause)
    return Vector(*told, cost=cost(graph, found.vector), solution=packed(found.vector))
