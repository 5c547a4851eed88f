# SPDX-License-Identifier: Apache-2.0
"""One model on several backends, as plain data: for each its session, how its answers
agree with the reference, and its main numbers with interval and origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.api.backends.agreement import Agreed, Agreement
from rig.api.sessions.session import Session
from rig.errors import RigError
from rig.network.complexity_text import Complexity
from rig.results.verdict import Outcome

#: A simulated time counts one of these; else it is that of a simulator here.
INSTRUCTIONS = "instructions"
BLOCKS = "basic blocks"
SETTING = "a setting"
#: What stands beside a reference, as tables call it.
AS_INTEGERS = "as integers"
AS_FILE = "as the file"


@dataclass(frozen=True, slots=True)
class Figure:
    """A headline metric of a backend, with the 95 % intervals of its session: for the
    same samples measured again, and for other samples; an end is None where there is
    none. `origin` is one of the four labels, empty for neither a time nor an
    energy. `shown` names the interval that stands in tables: of a share that for other
    samples, as all backends had the same ones; `reason` says why that one is not known.
    """

    metric: str
    value: float | None
    unit: str
    higher_is_better: bool | None
    same_samples: tuple[float | None, float | None]
    other_samples: tuple[float | None, float | None]
    shown: str
    origin: str
    reason: str = ""

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The interval that tables show."""
        return (
            self.other_samples if self.shown == "other samples" else self.same_samples
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a backend or a cell gave no result, as RigError has it."""

    cause: str
    evidence: str = ""
    try_next: str = ""
    see: str = ""

    @classmethod
    def of(cls, error: RigError) -> Failure:
        """Return what an error says."""
        return cls(error.cause, error.evidence, error.try_next, error.see)


@dataclass(frozen=True, slots=True)
class BackendRow:
    """A backend: its name in the comparison, its session, and its results.

    `beside`: on how many samples it agrees with the second reference of the comparison.
    `rule` is the backend's statement of how it runs the network, where it makes one:
    conventions that differ explain answers that do. `counts` names the unit of its
    simulated times; `instructions` are those that an emulator counted in an inference,
    without the phases before, None where none counts them. `failure` is set where it
    has no result; then the rest is empty. `valid`: the session ended, and every trial
    is valid; `verdict` is whether the trials replicate, `reason` why they do not.
    """

    name: str
    session: Path | None = None
    sut: str = ""
    kind: str = ""
    monitor: str = ""
    trials: int = 0
    valid: bool = False
    verdict: Outcome | None = None
    reason: str = ""
    labels: tuple[str, ...] = ()
    rule: str = ""
    counts: str = ""
    instructions: float | None = None
    agreement: Agreement | None = None
    beside: Agreed | None = None
    figures: tuple[Figure, ...] = ()
    failure: Failure | None = None

    @property
    def doubt(self) -> str:
        """The word beside its figures where they are not a result that repeats."""
        if self.failure is not None or self.verdict is None:
            return ""
        if not self.valid:
            return Outcome.INVALID.upper()
        return "" if self.verdict is Outcome.PASS else self.verdict.upper()

    def figure(self, metric: str) -> Figure | None:
        """Return one of its figures."""
        return next((one for one in self.figures if one.metric == metric), None)


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """One model and one set of samples on several backends.

    `reference` says whose answers the others are compared with. `beside` names what
    they are compared with as well: the network in whole numbers, where the file in
    floating point is the reference, or the other way round; `quantisation` is how both
    agree. `complexity` is the network's, counted without any device, where the sessions
    tell it. `notes` are for the reader.
    """

    model: str
    task: str
    scenario: str
    samples: int
    data: str
    reference: str
    rows: tuple[BackendRow, ...]
    beside: str = ""
    quantisation: Agreement | None = None
    complexity: Complexity | None = None
    notes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @property
    def counts_instructions(self) -> bool:
        """Whether a backend counts instructions, and the network's operations are
        known."""
        counted = any(row.instructions is not None for row in self.rows)
        return counted and self.complexity is not None

    def per_operation(self, row: BackendRow) -> float | None:
        """Return the instructions of a backend for each effective synaptic operation
        of the network; None where one of the two is not known.
        """
        if row.instructions is None or self.complexity is None:
            return None
        effective = self.complexity.effective
        return row.instructions / effective if effective else None

    @property
    def main_metrics(self) -> tuple[str, ...]:
        """The first metric of each unit, for a narrow table."""
        first: dict[str, str] = {}
        for name in self.metrics:
            figures = [
                one for row in self.rows if (one := row.figure(name)) is not None
            ]
            first.setdefault(figures[0].unit, name)
        return tuple(name for unit, name in first.items() if unit in ("1", "s", "J"))


@dataclass(frozen=True, slots=True)
class ComparedBackend:
    """A backend to compare: its name, and its session or why there is none."""

    name: str
    session: Session | None
    failure: Failure | None = None
