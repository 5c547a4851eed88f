# SPDX-License-Identifier: Apache-2.0
"""The task on problems from files: each is a workload of its own, with the target that
the bench file names, or none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Unit, doc

from rig.errors import ConfigError, DataError, NotInSession
from rig.files import typed
from rig.files.user_folders import expanded
from rig.interfaces.context import BenchContext, Searcher
from rig.interfaces.task import OptimizationTask
from rig.model.catalogue import Entry
from rig.model.scores import Costs, Score
from rig.results import labels
from rig.settings.declare import PathText
from rig.store.session_folder import PROVENANCE
from scenarios.tasks.qubo import (
    answer,
    problem_file,
    problem_wire,
    reference,
    tuning,
)
from scenarios.tasks.qubo.problem import Kind, QuadraticProblem, Sense
from scenarios.tasks.qubo.problem_file import ProblemFile, ReadingOptions
from scenarios.tasks.qubo.programs import KNOWN, PARAMETERS, programs
from scenarios.tasks.qubo.reference import Steps

PATH = "task.qubo.problems"
SOURCE = "problems of the bench's owner, from files"
UNOFFICIAL = "NOT THE OFFICIAL WORKLOADS"
STATEMENT = "problems of the bench's owner: no result of NeuroBench"
#: A grid of 10 x 10 nodes whose ends meet, with edges of weight 1 and -1, generated.
EXAMPLE = Path(__file__).with_name("example.txt")
#: A session keeps the problems it searched, so that its vectors are evaluated again.
KEPT_B = 8 << 20


@dataclass(frozen=True, slots=True)
class ProblemSettings:
    """A problem in a file, how it is read, and its target."""

    file: Annotated[
        PathText,
        doc("DIMACS, Gset, Biq Mac, Matrix Market, or dimod; empty: an example."),
    ] = ""
    kind: Annotated[
        Literal["", "independent-set", "max-cut", "qubo"],
        doc("Kind of problem; empty: by the format."),
    ] = ""
    format: Annotated[
        Literal[
            "",
            "dimacs",
            "gset",
            "mc",
            "bq",
            "mtx",
            "dimod-json",
            "dimod-coo",
            "dimod-bqm",
        ],
        doc("Format of the file; empty: by its name and beginning."),
    ] = ""
    sense: Annotated[
        Literal["", "min", "max"],
        doc("Whether the least or the most is wanted of a qubo; empty: the least."),
    ] = ""
    complement: Annotated[
        bool, doc("Search the pairs that are no edges, as for a clique of the file.")
    ] = False
    target: Annotated[
        float | None,
        Unit("1"),
        doc("Best known value, as the file counts; left out: none is known."),
    ] = None
    target_source: Annotated[str, doc("Where the target is from.")] = ""

    @property
    def reading(self) -> ReadingOptions:
        """How the file is read."""
        return ReadingOptions(
            kind=self.kind,
            format=self.format,
            sense=self.sense,
            complement=self.complement,
        )

    @property
    def name(self) -> str:
        """The name of the workload, and of its cell: the file's, in letters, digits
        and underscores; without any, the numbers of its characters in Unicode."""
        stem = Path(self.file or EXAMPLE).stem
        name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")
        return name or "_".join(f"u{ord(character):04x}" for character in stem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFacts:
    """A problem as a session keeps it: `wire` is all of it, in base 64."""

    name: str
    file_sha256: str
    format: str
    notes: tuple[str, ...]
    kind: Kind
    sense: Sense
    offset: int
    scale: int
    nodes: int
    edges: int
    problem_sha256: str
    wire: str
    target: float | None
    target_cost: int | None
    target_source: str
    parameters: dict[str, Any]

    @property
    def problem(self) -> QuadraticProblem:
        """The problem; raises DataError where it is not the one of the hash."""
        try:
            wire = base64.b64decode(self.wire, validate=True)
        except ValueError as error:
            raise DataError(f"the problem {self.name} is not base 64") from error
        problem = problem_wire.decode(wire, self.kind).counted(
            self.offset, self.scale, self.sense
        )
        stated = (self.kind, self.nodes, self.edges, self.problem_sha256)
        sha256 = problem_wire.sha256(problem)
        if (problem.kind, problem.nodes, problem.edges, sha256) != stated:
            raise DataError(
                f"{PROVENANCE} has another problem {self.name} than it says"
            )
        return problem


@dataclass(frozen=True, slots=True)
class ProblemsFacts:
    """The part of provenance.json that has the problems."""

    problems: tuple[ProblemFacts, ...]
    more: dict[str, Any] = typed.rest()


class ProblemTask(OptimizationTask):
    """Problems from files; a payload is a problem on the wire, an answer a vector and
    its claimed cost.
    """

    name = "qubo"
    phases: tuple[str, ...] = ("solve",)

    def __init__(
        self,
        settings: Sequence[ProblemSettings],
        parameters: Sequence[Mapping[str, Any]],
        context: BenchContext,
    ) -> None:
        refuse_names(settings)
        self._settings = settings
        self._context = context
        self._parameters = parameters
        self._rules = tuning.rules(parameters, KNOWN)
        self.programs = programs(parameters)
        self._files = [_read(each, context.folder) for each in settings]
        self._problems = [file.problem for file in self._files]
        self._wires = [problem_wire.encode(each) for each in self._problems]
        self._targets = list(map(target_cost, settings, self._problems))
        kept_b = sum(map(len, self._wires))
        if kept_b > KEPT_B:
            raise ConfigError(
                f"the problems take {kept_b} bytes, and a session keeps {KEPT_B}",
                path=PATH,
                try_next="fewer problems in a bench",
            )

    def __len__(self) -> int:
        """Return the number of problems."""
        return len(self._problems)

    def payload(self, index: int) -> bytes:
        """Return a problem on the wire (docs/reference/QUBO.md)."""
        return self._wires[index]

    def memory_b(self, index: int) -> int | None:
        """Return the memory that the search needs; None without a C compiler."""
        return reference.memory_b_if_known(self.payload(index))

    def catalogue(self) -> list[Entry]:
        """Return the name of every problem."""
        return [Entry(each.name) for each in self._settings]

    def score(self, index: int, output: bytes) -> Score:
        """Evaluate the device's vector in 64-bit integers; the cost that the device
        claims is kept, and never used."""
        name = self._settings[index].name
        return scored(name, self._problems[index], self._targets[index], output)

    def target(self, index: int) -> int | None:
        """Return the cost of the bench file's target, None where it names none."""
        return self._targets[index]

    def best_known(self, index: int) -> int | None:
        """Return the cost of the bench file's target, None where it names none."""
        return self._targets[index]

    def measure(self, index: int) -> str:
        """Return the word for the results of a problem."""
        return self._problems[index].measure

    def cell(self, index: int) -> str:
        """Return the name of a problem, which is a cell of its own."""
        return self._settings[index].name

    def workload(self, index: int) -> str:
        """Return the name of a problem."""
        return self._settings[index].name

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return the reference search of the problem `payload` from `seed` on, for a
        virtual device.
        """
        return Steps(payload, seed)

    def provenance(self) -> dict[str, Any]:
        """Return the problems themselves, with their files' hashes and targets; raises
        ConfigError where parameters are set that the device does not get."""
        tuning.refuse_unused(self._parameters, self._context)
        problems = [typed.to_json(self._about(index)) for index in range(len(self))]
        return common_facts(self._parameters) | {
            "gap": "(cost - target) / |target|, of costs without the file's offset",
            "tuning_rule": tuning.RULE,
            "problems": problems,
        }

    def _about(self, index: int) -> ProblemFacts:
        settings = self._settings[index]
        file = self._files[index]
        problem = file.problem
        return ProblemFacts(
            name=settings.name,
            file_sha256=file.sha256,
            format=file.format,
            notes=file.notes,
            kind=problem.kind,
            sense=problem.sense,
            offset=problem.offset,
            scale=problem.scale,
            nodes=problem.nodes,
            edges=problem.edges,
            problem_sha256=problem_wire.sha256(problem),
            wire=base64.b64encode(self._wires[index]).decode(),
            target=settings.target,
            target_cost=self._targets[index],
            target_source=settings.target_source,
            parameters={
                **PARAMETERS.get(self._context.state.program or "", {}),
                **tuning.values(self._rules, problem.nodes, problem.edges),
            },
        )


@dataclass(frozen=True, slots=True)
class ProblemReplica(OptimizationTask):
    """The problems of a session, as it keeps them."""

    name: str
    phases: tuple[str, ...]
    stated: tuple[ProblemFacts, ...]
    problems: tuple[QuadraticProblem, ...]
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        settings: Sequence[ProblemSettings],
        parameters: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
    ) -> ProblemReplica:
        """Check the session's problems and their targets against its bench file; raises
        DataError."""
        labels.refuse_other(facts, **common_facts(parameters))
        stated = typed.from_json(ProblemsFacts, dict(facts), f"{PROVENANCE}, task")
        names = [each.name for each in settings]
        labels_listed = [entry.label for entry in entries]
        names_stated = [each.name for each in stated.problems]
        for where, found in (
            ("catalogue.csv", labels_listed),
            (PROVENANCE, names_stated),
        ):
            if found != names:
                raise DataError(
                    f"{where} has the problems {str(found)[:80]}, bench.toml"
                    f" {str(names)[:80]}"
                )
        problems = tuple(each.problem for each in stated.problems)
        for own, problem, about in zip(
            settings, problems, stated.problems, strict=True
        ):
            due = (own.target, target_cost(own, problem), own.target_source)
            if (about.target, about.target_cost, about.target_source) != due:
                raise DataError(
                    f"{PROVENANCE} has another target for {own.name} than bench.toml"
                )
            read_as = (
                own.kind or about.kind,
                own.format or about.format,
                own.sense or about.sense,
            )
            if (about.kind, about.format, about.sense) != read_as:
                raise DataError(
                    f"{PROVENANCE} has another kind, format or sense of {own.name} than"
                    " bench.toml"
                )
        return cls(
            ProblemTask.name, ProblemTask.phases, stated.problems, problems, facts
        )

    def __len__(self) -> int:
        """Return the number of problems."""
        return len(self.stated)

    def payload(self, index: int) -> bytes:
        """Raise NotInSession: no plan of searches asks for the content of a
        workload."""
        raise NotInSession(f"the problem {index} is not asked for")

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does, on the problem that the session keeps."""
        about = self.stated[index]
        return scored(about.name, self.problems[index], about.target_cost, output)

    def target(self, index: int) -> int | None:
        """Return the target that the session was measured against."""
        return self.stated[index].target_cost

    def best_known(self, index: int) -> int | None:
        """Return the target that the session was measured against."""
        return self.stated[index].target_cost

    def measure(self, index: int) -> str:
        """Return the word for the results of a problem."""
        return self.problems[index].measure

    def cell(self, index: int) -> str:
        """Return the name of a problem, as the task does."""
        return self.stated[index].name

    def workload(self, index: int) -> str:
        """Return the name of a problem, as the task does."""
        return self.stated[index].name

    def provenance(self) -> dict[str, Any]:
        """Return the session's own facts."""
        return dict(self.facts)


def common_facts(parameters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts that bench files determine."""
    program_parameters = [dict(table) for table in parameters]
    return {
        "source": SOURCE,
        "official": False,
        "unofficial": UNOFFICIAL,
        "subset": "all",
        "statement": STATEMENT,
        "program_parameters": program_parameters,
    }


def scored(
    name: str, problem: QuadraticProblem, target: int | None, output: bytes
) -> Score:
    """Evaluate a device's vector in 64-bit integers, beside the target of the bench."""
    try:
        decoded = answer.decode(output, problem.nodes)
    except DataError as error:
        return Score(False, name, "", case=name, fault=error.cause)
    cost = problem.cost(decoded.vector)
    costs = Costs(
        cost=cost,
        official=None,
        claimed=decoded.claimed,
        best_known=target,
        measure=problem.measure,
        value=problem.value(cost),
    )
    return Score(costs.met, name, f"{costs.value:g}", case=name, costs=costs)


def target_cost(settings: ProblemSettings, problem: QuadraticProblem) -> int | None:
    """Return the cost that a bench file's target stands for; raise ConfigError where
    its source is not named."""
    if settings.target is None:
        return None
    if not settings.target_source:
        raise ConfigError(
            f"the target of {settings.name} has no source",
            path=f"{PATH}.target_source",
            try_next='the publication, or "a search of 60 s by ..."',
        )
    return problem.cost_of(settings.target, f"{PATH}.target")


def refuse_names(settings: Sequence[ProblemSettings]) -> None:
    """Raise ConfigError where two files give the same name."""
    files: dict[str, str] = {}
    for each in settings:
        file = each.file or EXAMPLE.name
        if each.name in files:
            raise ConfigError(
                f"{file!r} gives the name {each.name!r}, which is taken",
                path=f"{PATH}.file",
                evidence=f"{files[each.name]!r} gives the same",
                try_next="another name of one of the files, in letters and digits",
            )
        files[each.name] = file


def read_from_files(settings: Sequence[ProblemSettings]) -> str:
    """Return why a check does not read the files of problems again, and what a person
    can do.
    """
    named = ", ".join(each.file or EXAMPLE.name for each in settings)
    return (
        f"{named} (bench.toml): {PROVENANCE} keeps what was read, on which the vectors"
        " are evaluated, and not the files; compare your copies with file_sha256 there"
    )


def _read(settings: ProblemSettings, folder: Path) -> ProblemFile:
    path = folder / expanded(settings.file) if settings.file else EXAMPLE
    return problem_file.read(path, settings.reading)
