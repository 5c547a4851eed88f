# SPDX-License-Identifier: Apache-2.0
"""The task: workloads by (nodes, density, seed), each a graph to search for a vector of
low cost (NeuroBench system track).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Interval, doc

from rig.errors import ConfigError, DataError
from rig.files import typed
from rig.files.user_folders import expanded
from rig.interfaces.context import BenchContext, Searcher
from rig.interfaces.task import OptimizationTask, Regeneration
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.results import labels
from rig.settings.declare import Count, PathText, Ratio, Seed
from scenarios.tasks.qubo import edges, official, reference, rescore, targets, tuning
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.facts import WorkloadFacts
from scenarios.tasks.qubo.graph import NODES_MAX, Workload
from scenarios.tasks.qubo.official import Officials
from scenarios.tasks.qubo.problem_task import (
    ProblemReplica,
    ProblemSettings,
    ProblemTask,
    read_from_files,
)
from scenarios.tasks.qubo.programs import KNOWN, PARAMETERS, programs
from scenarios.tasks.qubo.reference import Steps
from scenarios.tasks.qubo.replica import Graphs, QuboReplica, cell, name_of, scored
from scenarios.tasks.qubo.targets import Targets
from scenarios.tasks.user_files import outside_session

#: "Seeds 0-4 are for tuning; five announced seeds are for official results": the rule
#: of QUBO.md in short.
TUNING_SEEDS = (0, 1, 2, 3, 4)
#: The name of the evidence of the largest workload in a submission.
LARGEST = "largest.json"
SOURCE = (
    "workloads of QUBO.md: networkx.gnm_random_graph(nodes, int(0.5 * density *"
    " nodes**2), seed)"
)


class QuboTask(OptimizationTask):
    """Graphs of every size, density and seed named; a payload is a graph on the wire,
    an answer a vector and its claimed cost.
    """

    name = "qubo"
    phases: tuple[str, ...] = ("solve",)

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The workloads, all of `nodes` x `densities` x `seeds`; their targets;
        parameters."""

        nodes: Annotated[
            tuple[Annotated[Count, Interval(ge=0, le=NODES_MAX)], ...],
            doc("Sizes of the graphs, in nodes."),
        ] = (10, 25, 50)
        densities: Annotated[
            tuple[Annotated[Ratio, Ge(0)], ...],
            doc("Densities of the graphs, as the published generator takes them."),
        ] = (0.01, 0.05, 0.1, 0.25)
        seeds: Annotated[tuple[Seed, ...], doc("Seeds of the graphs.")] = TUNING_SEEDS
        targets: Annotated[
            PathText, doc("Table of best known vectors; empty: the shipped one.")
        ] = ""
        official: Annotated[
            PathText,
            doc(
                "File of official target costs, in NeuroBench's form; empty: the"
                " published ones."
            ),
        ] = ""
        parameters: Annotated[
            tuple[dict[str, Any], ...],
            doc(
                "Tables of limits (nodes_from ...) and values for the programs of"
                " [sut.cpu]."
            ),
        ] = ()
        problems: Annotated[
            tuple[ProblemSettings, ...],
            doc("Problems from files; the keys of published workloads are left out."),
        ] = ()

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> QuboReplica | ProblemReplica:
        """Return a stand-in that makes its graphs again when a vector of theirs is to
        be scored."""
        if settings.problems:
            return ProblemReplica.of(
                settings.problems, settings.parameters, facts, entries
            )
        labels.refuse_other(
            facts,
            source=SOURCE,
            targets=settings.targets or "shipped",
            official_targets=settings.official or "shipped",
            official=False,
            unofficial=unofficial(settings.seeds),
            subset=subset(settings.seeds),
            program_parameters=[dict(table) for table in settings.parameters],
        )
        return QuboReplica.of(cls.name, cls.phases, workloads(settings), facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the facts that the shipped tables and the seeds determine; the graphs
        are made again where vectors are scored."""
        if settings.problems:
            return Regeneration({}, unknown=read_from_files(settings.problems))
        if settings.targets or settings.official:
            tables = outside_session(settings.targets, settings.official)
            return Regeneration({}, unknown=tables)
        known = targets.read()
        officials = official.shipped(known)
        facts = {
            "targets_version": known.version,
            "official_targets_source": officials.source,
            "official_targets_sha256": officials.sha256,
            "tuning_rule": tuning.RULE,
        }
        return Regeneration(
            facts, [Entry(name_of(each)) for each in workloads(settings)]
        )

    @classmethod
    def derived(cls, session: Path, name: str, stored: Any) -> Any:
        """Return rescored.json made once more, or the tries of the largest workload
        evaluated from their vectors once more."""
        if name == LARGEST:
            # Here, because it brings the session, which a task of one does without.
            from scenarios.tasks.qubo import largest

            return largest.again(stored)
        return rescore.again(session, stored) if name == rescore.RESCORED else None

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> QuboTask | ProblemTask:
        """Read the table and make every graph once, to compare it with its target's; or
        read the files of problems. Raises ConfigError or DataError.
        """
        if settings.problems:
            _refuse_both(settings)
            return ProblemTask(settings.problems, settings.parameters, context)
        path = (
            context.folder / expanded(settings.targets)
            if settings.targets
            else targets.SHIPPED
        )
        officials = (
            official.read(context.folder / expanded(settings.official))
            if settings.official
            else None
        )
        return cls(settings, targets.read(path), path, officials, context)

    def __init__(
        self,
        settings: Settings,
        known: Targets,
        path: Path,
        officials: Officials | None = None,
        context: BenchContext | None = None,
    ) -> None:
        self._settings, self._version, self._context = (
            settings,
            known.version,
            context or BenchContext(),
        )
        self._officials = officials or official.shipped(targets.read())
        self._workloads = workloads(settings)
        self._rules = tuning.rules(settings.parameters, KNOWN)
        self.programs = programs(settings.parameters)
        self._graphs = Graphs()
        self._best = [known.rows.get(workload) for workload in self._workloads]
        pairs = zip(self._workloads, self._best, strict=True)
        self._official = [self._officials.of(*pair) for pair in pairs]
        for workload, own, best in zip(
            self._workloads, self._official, self._best, strict=True
        ):
            if own is None and best is None:
                raise _without_target(workload, path, self._officials)
        self._edges = [self._checked(index) for index in range(len(self))]

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self._workloads)

    def payload(self, index: int) -> bytes:
        """Return the graph of workload `index` on the wire (docs/reference/QUBO.md)."""
        return edges.encode(self._graphs.of(self._workloads[index]))

    def memory_b(self, index: int) -> int | None:
        """Return the memory that the search needs; None without a C compiler."""
        return reference.memory_b_if_known(self.payload(index))

    def catalogue(self) -> list[Entry]:
        """Return the name of every workload: each is drawn by itself."""
        return [Entry(self.workload(index)) for index in range(len(self))]

    def score(self, index: int, output: bytes) -> Score:
        """Evaluate the device's vector in 64-bit integers; the cost that the device
        claims is kept, and never used."""
        workload = self._workloads[index]
        pair = (self.official(index), self.best_known(index))
        return scored(workload, self._graphs.of(workload), pair, output)

    def target(self, index: int) -> int:
        """Return the target cost of workload `index`: the official one, where there is
        none the best known one.
        """
        known = [
            target
            for target in (self.official(index), self.best_known(index))
            if target is not None
        ]
        return known[0]

    def official(self, index: int) -> int | None:
        """Return the official target cost of workload `index`."""
        target = self._official[index]
        return None if target is None else target[0]

    def best_known(self, index: int) -> int | None:
        """Return the cost of the best vector that is known of workload `index`."""
        best = self._best[index]
        return None if best is None else best.cost

    def cell(self, index: int) -> str:
        """Return the name of the cell that workload `index` is one seed of, such as
        "250n_5pct"."""
        return cell(self._workloads[index])

    def workload(self, index: int) -> str:
        """Return the name of workload `index`, such as "250n_5pct_s0"."""
        return name_of(self._workloads[index])

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return the reference search of the graph `payload` from `seed` on, for a
        virtual device.
        """
        return Steps(payload, seed)

    def provenance(self) -> dict[str, Any]:
        """Return the workloads with hash and target of each, the version of the
        targets, the parameters of the program of this bench, and the status of the
        seeds; raises ConfigError where parameters are set that the system under test
        does not get."""
        tuning.refuse_unused(self._settings.parameters, self._context)
        return {
            "source": SOURCE,
            "targets": self._settings.targets or "shipped",
            "targets_version": self._version,
            "official_targets": self._settings.official or "shipped",
            "official_targets_source": self._officials.source,
            "official_targets_sha256": self._officials.sha256,
            "official": False,
            "unofficial": ", ".join(
                [unofficial(self._settings.seeds), *self._odd_targets()]
            ),
            "subset": subset(self._settings.seeds),
            "statement": statement(self._settings.seeds) + self._missing(),
            "targets_meaning": self._meaning(),
            "gap": (
                "(cost - target) / |target|; the rules print (cost - target) / target,"
                " whose sign is the other one"
            ),
            "tuning_rule": tuning.RULE,
            "program_parameters": [dict(table) for table in self._settings.parameters],
            "workloads": [
                typed.to_json(self._about(index)) for index in range(len(self))
            ],
        }

    def _about(self, index: int) -> WorkloadFacts:
        workload = self._workloads[index]
        target = self._official[index]
        best = self._best[index]
        count = self._edges[index]
        return WorkloadFacts(
            name=self.workload(index),
            nodes=workload.nodes,
            density=workload.density,
            seed=workload.seed,
            edges=count,
            graph_sha256=(
                self._graphs.of(workload).sha256 if best is None else best.graph
            ),
            official=None if target is None else target[0],
            official_source="" if target is None else target[1],
            best_known=self.best_known(index),
            proven=best is not None and best.proven,
            best_known_method="" if best is None else best.method,
            best_known_date="" if best is None else best.date,
            parameters={
                **PARAMETERS.get(self._context.state.program or "", {}),
                **tuning.values(self._rules, workload.nodes, count),
            },
        )

    def _meaning(self) -> str:
        table = self._settings.targets or "the shipped table"
        meaning = (
            f"Official: {self._officials.source}. Best known: {table}, version "
            f"{self._version}, with vectors"
        )
        return (
            f"{meaning}. Results are to the official targets, those named best_known to"
            " the others."
        )

    def _odd_targets(self) -> list[str]:
        """Return labels where official targets are missing, or made in another way than
        the rules say.
        """
        rows = [self._officials.rows.get(workload) for workload in self._workloads]
        odd = any(
            row.made is not None and not row.made.by_the_rules
            for row in rows
            if row is not None
        )
        missing = any(own is None for own in self._official)
        return ["TARGETS NOT MADE BY THE RULES"] * odd + [
            "OFFICIAL TARGETS MISSING"
        ] * missing

    def _missing(self) -> str:
        """Return for how many workloads there is but one of the two targets."""
        text = ""
        for what, known in (("official", self._official), ("best known", self._best)):
            if count := sum(target is None for target in known):
                text += f"; {count} of {len(self)} workloads have no {what} target"
        return text

    def _checked(self, index: int) -> int:
        """Return the edges of a workload's graph; raise DataError where the graph is
        not the one that its target is of.
        """
        graph = self._graphs.of(self._workloads[index])
        target = self._best[index]
        if target is None:
            return graph.edges
        if graph.sha256 != target.graph:
            raise DataError(
                f"the target of {target.workload} is one of another graph",
                evidence=(
                    f"the graph's hash is {graph.sha256[:16]}, the table says "
                    f"{target.graph[:16]}"
                ),
                try_next=(
                    "rig qubo targets --verify --table FILE; then make the row again"
                ),
            )
        if cost(graph, target.vector) != target.cost:
            raise DataError(
                f"the vector of the target of {target.workload} does not cost"
                f" {target.cost}, as the table says",
                try_next=(
                    "rig qubo targets --verify --table FILE; then make the row again"
                ),
            )
        return graph.edges


def _refuse_both(settings: QuboTask.Settings) -> None:
    """Raise ConfigError where a bench names problems and published workloads."""
    plain = QuboTask.Settings(
        problems=settings.problems, parameters=settings.parameters
    )
    if settings != plain:
        raise ConfigError(
            "a bench has problems from files or published workloads, not both",
            path="task.qubo.problems",
            try_next="leave out nodes, densities, seeds, targets and official",
        )


def workloads(settings: QuboTask.Settings) -> list[Workload]:
    """Return all of nodes x densities x seeds; raise ConfigError where there is none,
    or one twice.
    """
    for name in ("nodes", "densities", "seeds"):
        values = getattr(settings, name)
        if not values:
            raise ConfigError(
                "is empty", path=f"task.qubo.{name}", try_next="one or more values"
            )
        if len(set(values)) < len(values):
            raise ConfigError(
                f"{list(values)} names one twice", path=f"task.qubo.{name}"
            )
    if min(settings.nodes) < 1:
        raise ConfigError(
            f"{min(settings.nodes)} nodes", path="task.qubo.nodes", try_next="1 or more"
        )
    return [
        Workload(*cell)
        for cell in product(settings.nodes, settings.densities, settings.seeds)
    ]


def unofficial(seeds: Sequence[int]) -> str:
    """Return what results on these problem seeds are called: which five are announced,
    is not known to the rig.
    """
    return (
        "TUNING SEEDS"
        if set(seeds) <= set(TUNING_SEEDS)
        else "SEEDS NOT KNOWN AS OFFICIAL"
    )


def subset(seeds: Sequence[int]) -> str:
    """Return which part of a workload's seeds these are: results are averages over
    five."""
    missing = len(seeds) < len(TUNING_SEEDS)
    return (
        f"{len(seeds)} of the {len(TUNING_SEEDS)} seeds over which the rules average"
        " each workload"
        if missing
        else "all"
    )


def statement(seeds: Sequence[int]) -> str:
    """Return what results on these problem seeds are."""
    if set(seeds) <= set(TUNING_SEEDS):
        return (
            "tuning seeds (0 to 4): not an official result, for which five seeds are"
            " announced"
        )
    mixed = (
        "; tuning seeds (0 to 4) are among them"
        if set(seeds) & set(TUNING_SEEDS)
        else ""
    )
    return (
        f"official only where the seeds {', '.join(map(str, seeds))} are the five"
        f" announced ones{mixed}"
    )


def _without_target(
    workload: Workload, path: Path, officials: Officials
) -> ConfigError:
    options = (
        f"--nodes {workload.nodes} --density {workload.density:g} --problem-seed"
        f" {workload.seed}"
    )
    table = f"--table {path}" if path != targets.SHIPPED else "--table my-targets.csv"
    return ConfigError(
        f"{path.name} has no target for {workload}, and neither have the official"
        " costs, so no gap could be told",
        path="task.qubo.targets",
        evidence=officials.source,
        try_next=(
            f"rig qubo targets {table} {options} makes one; then targets = that file;"
            " or official = a published file"
        ),
    )
