# SPDX-License-Identifier: Apache-2.0
"""Replica of the task from a session folder alone: graphs follow from (nodes, density,
seed), targets stand in the provenance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig.errors import DataError, NotInSession
from rig.interfaces.task import OptimizationTask
from rig.model.catalogue import Entry
from rig.model.scores import Costs, Score
from rig.store.session_folder import BENCH, CATALOGUE
from scenarios.tasks.qubo import answer, official, targets
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.facts import QuboFacts, WorkloadFacts
from scenarios.tasks.qubo.facts import of as of_session
from scenarios.tasks.qubo.graph import Graph, Workload, generate

#: How many edges the graphs that are kept may have together; one takes 24 bytes.
KEPT_EDGES = 8_000_000
#: More than this is not made again to check an untrusted session.
EDGES_MAX = 50_000_000


def cell(workload: Workload) -> str:
    """Return the name of a workload's size and density, such as "250n_5pct"; 12.5 % is
    "12p5pct".
    """
    return f"{workload.nodes}n_{100 * workload.density:g}pct".replace(".", "p")


def name_of(workload: Workload) -> str:
    """Return the name of a workload, such as "250n_5pct_s0"."""
    return f"{cell(workload)}_s{workload.seed}"


def scored(
    workload: Workload, graph: Graph, pair: tuple[int | None, int | None], output: bytes
) -> Score:
    """Evaluate a device's vector in 64-bit integers; the cost that the device claims is
    kept, and never used.

    `pair` are the official and the best known target.
    """
    try:
        decoded = answer.decode(output, graph.nodes)
    except DataError as error:
        return Score(
            False, name_of(workload), "", case=cell(workload), fault=error.cause
        )
    costs = Costs(cost(graph, decoded.vector), pair[0], decoded.claimed, pair[1])
    return Score(
        costs.met, name_of(workload), str(costs.cost), case=cell(workload), costs=costs
    )


class Graphs:
    """Graphs made on request; the last ones are kept, the very last one of any size."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Workload, Graph] = OrderedDict()

    def of(self, workload: Workload) -> Graph:
        """Return the graph of a workload."""
        graph = self._kept.pop(workload, None) or generate(workload)
        self._kept[workload] = graph
        while len(self._kept) > 1 and self._edges_kept() > KEPT_EDGES:
            self._kept.popitem(last=False)
        return graph

    def _edges_kept(self) -> int:
        return sum(kept.edges for kept in self._kept.values())


@dataclass(frozen=True, slots=True)
class QuboReplica(OptimizationTask):
    """The workloads of a session, each with the target and the graph's hash that the
    session names.
    """

    name: str
    phases: tuple[str, ...]
    workloads: tuple[Workload, ...]
    told: tuple[WorkloadFacts, ...]
    facts: Mapping[str, Any]
    graphs: Graphs = field(default_factory=Graphs)

    @classmethod
    def of(
        cls,
        task: str,
        phases: tuple[str, ...],
        due: Sequence[Workload],
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
    ) -> QuboReplica:
        """Check the session's facts of its workloads and their targets; raises
        DataError."""
        stored = of_session(facts)
        if not len(due) == len(stored.workloads) == len(entries):
            raise DataError(
                f"bench.toml has {len(due)} workloads, provenance.json"
                f" {len(stored.workloads)}, catalogue.csv {len(entries)}",
                file=BENCH,
            )
        for index, (workload, about, entry) in enumerate(
            zip(due, stored.workloads, entries, strict=True)
        ):
            if entry != Entry(name_of(workload)):
                raise DataError(
                    f"catalogue.csv, line {index + 2}: {entry.label[:40]!r}, bench.toml"
                    f" has {name_of(workload)!r}",
                    file=CATALOGUE,
                )
            has_target = about.official is not None or about.best_known is not None
            if (about.name, about.workload) != (
                name_of(workload),
                workload,
            ) or not has_target:
                raise DataError(
                    f"provenance.json says other things of workload {index} than"
                    f" bench.toml: {str(about)[:80]}"
                )
        _refuse_other_targets(due, stored)
        return cls(task, phases, tuple(due), stored.workloads, facts)

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self.workloads)

    def payload(self, index: int) -> bytes:
        """Raise NotInSession: no plan of searches asks for the content of a
        workload."""
        raise NotInSession(f"the graph of workload {index} is not in the session")

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does, on the graph made again; raises DataError
        where that is not the session's.
        """
        workload = self.workloads[index]
        about = self.told[index]
        if workload.edges > EDGES_MAX:
            raise DataError(
                f"{workload} has {workload.edges} edges, more than are made again for a"
                " check"
            )
        graph = self.graphs.of(workload)
        if (graph.sha256, graph.edges) != (about.graph_sha256, about.edges):
            raise DataError(
                f"the graph of {name_of(workload)} is not the one that provenance.json"
                " names"
            )
        return scored(workload, graph, (about.official, about.best_known), output)

    def target(self, index: int) -> int:
        """Return the target cost that the session was measured against."""
        about = self.told[index]
        target = about.best_known if about.official is None else about.official
        assert target is not None  # `of` refuses a workload without one
        return target

    def best_known(self, index: int) -> int | None:
        """Return the best known cost that the session names."""
        return self.told[index].best_known

    def cell(self, index: int) -> str:
        """Return the cell of a workload, as the task does."""
        return cell(self.workloads[index])

    def workload(self, index: int) -> str:
        """Return the name of a workload, as the task does."""
        return name_of(self.workloads[index])

    def provenance(self) -> dict[str, Any]:
        """Return the session's own facts."""
        return dict(self.facts)


def _refuse_other_targets(due: Sequence[Workload], facts: QuboFacts) -> None:
    """Raise DataError where a session names the shipped costs, or the shipped table in
    this version, and has other targets.
    """
    shipped = targets.read()
    published = (
        official.shipped(shipped).rows if facts.official_targets == "shipped" else {}
    )
    is_shipped = facts.targets == "shipped" and facts.targets_version == shipped.version
    for workload, about in zip(due, facts.workloads, strict=True):
        row = shipped.rows.get(workload)
        stated = (about.best_known, about.graph_sha256, about.proven)
        if (
            is_shipped
            and row is not None
            and (row.cost, row.graph, row.proven) != stated
        ):
            raise DataError(
                f"provenance.json has another target for {name_of(workload)} than the"
                " shipped table that it names"
            )
        if is_shipped and row is None and about.best_known is not None:
            raise DataError(
                f"provenance.json has a target for {name_of(workload)}, the shipped"
                " table that it names has none"
            )
        if workload in published and published[workload].cost != about.official:
            raise DataError(
                f"provenance.json has another official target for {name_of(workload)}"
                " than the published one"
            )
