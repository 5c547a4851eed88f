# SPDX-License-Identifier: Apache-2.0
"""Interface of a kind of step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Step
from rig.model.trial import Measured
from rig.problems import Problem
from rig.units import plural

StepT = TypeVar("StepT", bound=Step)


class StepKind(Generic[StepT]):
    """Base class of kinds of step: a subclass for each, registered under the name that
    its step has in the session's files.

    The defaults are those of a step that needs no ability of the device, brings it no
    payload, makes no marks and has no result.
    """

    step: type[StepT]
    #: It has a result: such steps are counted while a trial runs.
    measured = False
    #: It leaves a sample in the device: it is done again where a session is resumed,
    #: and recorded only where the device refused it.
    loads = False
    #: A scenario's plan has it; the others are the rig's own.
    planned = True
    #: The dataclass whose fields are its keys in a line of completions.jsonl, beside
    #: those that every line has (rig/files/typed.py). None: the step itself, which says
    #: all.
    form: type[Any] | None = None

    # ---- its plan ----

    def describe(self, step: StepT) -> str:
        """Describe the step for `rig plan`."""
        return step.kind

    def total(self, steps: Sequence[StepT]) -> str:
        """Count these steps of a trial in words; empty where the count is of no
        interest.
        """
        return f"{plural(len(steps), 'step')} of kind {self.step.kind}" if steps else ""

    def refuse_unsuited(self, step: StepT, scenario: str, task: Task) -> None:
        """Raise ConfigError where the task does not offer the step's needs."""

    def own_phases(self, step: StepT) -> tuple[str, ...]:
        """Name the windows where they are not the task's phases."""
        return ()

    def takes_s(self, step: StepT, rates_s: Mapping[str, float]) -> float | None:
        """Return its time where that is stated: by itself, or by `rates_s`, which has
        the seconds of steps by their kind.
        """
        return rates_s.get(step.kind)

    # ---- doing it ----

    def lacks(self, info: SutInfo) -> str:
        """Name an ability that the step needs and the device lacks; empty where there
        is none.
        """
        return ""

    def payloads(self, task: Task, step: StepT) -> Sequence[bytes]:
        """Return the payloads that the step brings to the device."""
        return ()

    def may_be_refused(self, step: StepT) -> bool:
        """Check whether a refusal of the device is an answer, and no error."""
        return False

    def scored(
        self, task: Task, number: int, step: StepT, completion: Completion
    ) -> StepRecord:
        """Score the device's answer in a step record."""
        return StepRecord(number, step, completion)

    # ---- its marks ----

    def due(
        self, item: StepRecord, step: StepT, phases: Sequence[str]
    ) -> list[int] | None:
        """Return the phase codes that its marks must have (docs/reference/PROTOCOL.md
        section 4); None where any are valid.
        """
        return []

    def mark_fault(self, item: StepRecord, step: StepT, phases: Sequence[str]) -> str:
        """Describe a fault of its marks; empty where there is none."""
        marks = item.completion.marks
        due = self.due(item, step, phases)
        if due is not None and len(marks) != len(due):
            return f"has {len(marks)} marks where {len(due)} were due"
        if due is not None and [mark.phase for mark in marks] != due:
            return (
                f"marks the phases {[mark.phase for mark in marks]} where {due}"
                " were due"
            )
        return ""

    def late_mark(
        self, item: StepRecord, step: StepT, hold_ticks: float, slack_ticks: float
    ) -> str:
        """Describe a mark that came later than the device's own times explain; empty
        where there is none.
        """
        return ""

    def spans(
        self, item: StepRecord, step: StepT, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield the spans that become windows; its marks are valid."""
        yield from ()

    # ---- what can be wrong with it ----

    def iterations_due(self, step: StepT) -> int | None:
        """Return the number of runs that the device must count; None where it is not
        compared.
        """
        return None

    def link_is_silent(self, step: StepT) -> bool:
        """Check whether bytes that reach the device inside its windows are a
        problem.
        """
        return True

    def problems(self, item: StepRecord, step: StepT) -> list[Problem]:
        """List further problems of the device's answer."""
        return []

    # ---- its windows ----

    def must_be_resolved(self, span: Span, step: StepT) -> bool:
        """Check whether a window that is too short for the monitor is a problem."""
        return True

    def stated_s(self, step: StepT) -> float | None:
        """Return the length of its window, where the step itself states it and that
        must be resolved.
        """
        return None

    def lengthened_by(self, span: Span, step: StepT) -> str:
        """Name the scenario's setting that makes its windows longer; empty where there
        is none.
        """
        return ""

    def measure(
        self, item: StepRecord, step: StepT, windows: Windows, timed: Timed
    ) -> Measured:
        """Make samples, idle windows and streams of its windows."""
        return Measured((), ())

    # ---- its line in completions.jsonl ----

    def to_form(self, step: StepT) -> Any:
        """Convert the step to the form of its line."""
        return step

    def from_form(self, form: Any) -> StepT:
        """Convert the form of a line to the step."""
        step: StepT = form
        return step
