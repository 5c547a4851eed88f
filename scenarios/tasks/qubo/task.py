# SPDX-License-Identifier: Apache-2.0
"""The task: workloads by (nodes, density, seed), each a graph to search for a vector of low cost (NeuroBench system track)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rig.catalogue import Entry
from rig.config import PathText
from rig.errors import ConfigError, DataError
from rig.plan import Costs, Score
from rig.table import Searcher, Table
from scenarios.tasks.qubo import answer, edges, targets, tuning
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.programs import KNOWN, PARAMETERS, programs
from scenarios.tasks.qubo.reference import Steps
from scenarios.tasks.qubo.targets import Target, Targets

#: "Seeds 0-4 are for tuning; five announced seeds are for official results": the rule of QUBO.md in short.
TUNING_SEEDS = (0, 1, 2, 3, 4)
#: How many edges the graphs that are kept may have together; one takes 24 bytes.
KEPT_EDGES = 8_000_000


class QuboTask:
    """Graphs of every size, density and seed named; a payload is a graph on the wire, an answer a vector and its claimed cost."""

    name = "qubo"
    phases: tuple[str, ...] = ("solve",)

    @dataclass(frozen=True, slots=True)
    class Settings:
        """What a bench file may set.

        The workloads are all of `nodes` x `densities` x `seeds`. `targets` is a table of targets, default the shipped one.
        `parameters` are those of the programs of [sut.cpu]: tables with limits (nodes_from, nodes_to, density_from, density_to) and
        values, which by the rules may depend on nothing else.
        """

        nodes: tuple[int, ...] = (10, 25, 50)
        densities: tuple[float, ...] = (0.01, 0.05, 0.1, 0.25)
        seeds: tuple[int, ...] = TUNING_SEEDS
        targets: PathText = ""
        parameters: tuple[dict[str, Any], ...] = ()

    @classmethod
    def open(cls, settings: Settings, table: Table) -> QuboTask:
        """Read the table and make every graph once, to compare it with its target's; raises ConfigError or DataError."""
        path = table.folder / Path(settings.targets).expanduser() if settings.targets else targets.SHIPPED
        return cls(settings, targets.read(path), path, table)

    def __init__(self, settings: Settings, known: Targets, path: Path, table: Table) -> None:
        self._settings, self._version, self._table = settings, known.version, table
        self._workloads = workloads(settings)
        self._rules = tuning.rules(settings.parameters, KNOWN)
        self.programs = programs(settings.parameters)
        self._graphs = _Graphs()
        self._targets = [_target(workload, known, path) for workload in self._workloads]
        self._edges = [self._checked(index) for index in range(len(self))]

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self._workloads)

    def payload(self, index: int) -> bytes:
        """Return the graph of workload `index` on the wire (docs/QUBO.md)."""
        return edges.encode(self._graphs.of(self._workloads[index]))

    def catalogue(self) -> list[Entry]:
        """Return the name of every workload: each is drawn by itself."""
        return [Entry(self.workload(index)) for index in range(len(self))]

    def score(self, index: int, output: bytes) -> Score:
        """Evaluate the device's vector in 64-bit integers; what the device claims is carried along, and never believed."""
        target, name, cell = self._targets[index].cost, self.workload(index), self.cell(index)
        graph = self._graphs.of(self._workloads[index])
        try:
            found = answer.decode(output, graph.nodes)
        except DataError as error:
            return Score(False, name, "", case=cell, fault=error.cause)
        costs = Costs(cost(graph, found.vector), target, found.claimed)
        return Score(costs.cost <= target, name, str(costs.cost), case=cell, costs=costs)

    def target(self, index: int) -> int:
        """Return the target cost of workload `index`."""
        return self._targets[index].cost

    def cell(self, index: int) -> str:
        """Return the name of the cell that workload `index` is one seed of, such as "250n_5pct"."""
        return cell(self._workloads[index])

    def workload(self, index: int) -> str:
        """Return the name of workload `index`, such as "250n_5pct_s0"."""
        return f"{self.cell(index)}_s{self._workloads[index].seed}"

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return the reference search of the graph `payload` from `seed` on, for a virtual device."""
        return Steps(payload, seed)

    def provenance(self) -> dict[str, Any]:
        """Return the workloads with hash and target of each, the version of the targets, the parameters that the program of this
        table gets, and what the seeds are; raises ConfigError where parameters are given, and nothing on it gets any."""
        if self._settings.parameters and not self._table.program:
            raise ConfigError(
                "parameters are those of the programs of [sut.cpu], and this device gets none",
                path=tuning.PATH,
                try_next="leave them out: a device of its own is tuned in its firmware",
            )
        return {
            "source": "generated: networkx.gnm_random_graph(nodes, int(0.5 * density * nodes**2), seed)",
            "targets": self._settings.targets or "shipped",
            "targets_version": self._version,
            "official": False,
            "statement": statement(self._settings.seeds),
            "gap": "(cost - target) / |target|; the rules print (cost - target) / target, whose sign is the other one",
            "tuning_rule": tuning.RULE,
            "program_parameters": [dict(table) for table in self._settings.parameters],
            "workloads": [self._about(index) for index in range(len(self))],
        }

    def _about(self, index: int) -> dict[str, Any]:
        workload, target = self._workloads[index], self._targets[index]
        count = self._edges[index]
        return {
            "name": self.workload(index),
            "nodes": workload.nodes,
            "density": workload.density,
            "seed": workload.seed,
            "edges": count,
            "graph_sha256": target.graph,
            "target": target.cost,
            "proven": target.proven,
            "target_method": target.method,
            "target_date": target.date,
            "parameters": {**PARAMETERS.get(self._table.program, {}), **tuning.values(self._rules, workload.nodes, count)},
        }

    def _checked(self, index: int) -> int:
        """Return the edges of a workload's graph; raise DataError where the graph is not the one that its target is of."""
        graph, target = self._graphs.of(self._workloads[index]), self._targets[index]
        if graph.sha256 != target.graph:
            raise DataError(
                f"the target of {target.workload} is one of another graph",
                evidence=f"the graph's hash is {graph.sha256[:16]}, the table says {target.graph[:16]}",
                try_next="rig qubo targets --verify --table FILE; then make the row again",
            )
        if cost(graph, target.vector) != target.cost:
            raise DataError(
                f"the vector of the target of {target.workload} does not cost {target.cost}, as the table says",
                try_next="rig qubo targets --verify --table FILE; then make the row again",
            )
        return graph.edges


class _Graphs:
    """Graphs made when asked for; the last ones are kept, the very last one whatever its size."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Workload, Graph] = OrderedDict()

    def of(self, workload: Workload) -> Graph:
        """Return the graph of a workload."""
        graph = self._kept.pop(workload, None) or generate(workload)
        self._kept[workload] = graph
        while len(self._kept) > 1 and sum(kept.edges for kept in self._kept.values()) > KEPT_EDGES:
            self._kept.popitem(last=False)
        return graph


def workloads(settings: QuboTask.Settings) -> list[Workload]:
    """Return all of nodes x densities x seeds; raise ConfigError where there is none, or one twice."""
    for name in ("nodes", "densities", "seeds"):
        values = getattr(settings, name)
        if not values:
            raise ConfigError("is empty", path=f"task.qubo.{name}", try_next="one or more values")
        if len(set(values)) < len(values):
            raise ConfigError(f"{list(values)} names one twice", path=f"task.qubo.{name}")
    if min(settings.nodes) < 1:
        raise ConfigError(f"{min(settings.nodes)} nodes", path="task.qubo.nodes", try_next="1 or more")
    return [Workload(*cell) for cell in product(settings.nodes, settings.densities, settings.seeds)]


def cell(workload: Workload) -> str:
    """Return the name of a workload's size and density, such as "250n_5pct"; 12.5 % is "12p5pct"."""
    return f"{workload.nodes}n_{100 * workload.density:g}pct".replace(".", "p")


def statement(seeds: Sequence[int]) -> str:
    """Say what results on these problem seeds are."""
    if set(seeds) <= set(TUNING_SEEDS):
        return "tuning seeds (0 to 4): not an official result, for which five seeds are announced"
    mixed = "; tuning seeds (0 to 4) are among them" if set(seeds) & set(TUNING_SEEDS) else ""
    return f"official only where the seeds {', '.join(map(str, seeds))} are the five announced ones{mixed}"


def _target(workload: Workload, known: Targets, path: Path) -> Target:
    target = known.rows.get(workload)
    if target is None:
        options = f"--nodes {workload.nodes} --density {workload.density:g} --problem-seed {workload.seed}"
        table = f"--table {path}" if path != targets.SHIPPED else "--table my-targets.csv"
        raise ConfigError(
            f"{path.name} has no target for {workload}, so no gap could be told",
            path="task.qubo.targets",
            try_next=f"rig qubo targets {table} {options} makes one; then targets = that file",
        )
    return target
