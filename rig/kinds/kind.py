# SPDX-License-Identifier: Apache-2.0
"""Interface of a kind of step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import Completion
from rig.model.pace import Duration, Pace
from rig.model.step_record import StepRecord
from rig.model.steps import Step
from rig.model.trial import Measured
from rig.problems import Problem

#: Ticks in a second of a device that nobody has asked yet.
FORESEEN_HZ = 1_000_000

StepT = TypeVar("StepT", bound=Step)


class StepKind(Generic[StepT]):
    """Answer all questions about one kind of step: a subclass for each, registered
    under the name that its step has in the session's files.

    The defaults are those of a step that needs nothing of the device, brings it
    nothing, makes no marks and gives no result.
    """

    step: type[StepT]
    #: It gives a result: such steps are counted while a trial runs.
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
        """Return the step as `rig plan` lists it."""
        return step.kind

    def total(self, steps: Sequence[StepT]) -> str:
        """Return how many of these steps a trial has; empty where that is not worth a
        word."""
        return f"{len(steps)} steps of kind {self.step.kind}" if steps else ""

    def refuse_unsuited(self, step: StepT, scenario: str, task: Task) -> None:
        """Raise ConfigError where the step asks of a task what it has not."""

    def own_phases(self, step: StepT) -> tuple[str, ...]:
        """Return the names of the windows where they are not the task's phases; else
        nothing."""
        return ()

    def group(self, step: StepT) -> str:
        """Return what steps of about the same duration have in common, in a few
        words."""
        return step.kind

    def duration(self, step: StepT, pace: Pace, payload_b: float) -> Duration:
        """Return its time on a device of this pace; `payload_b` is the length of a
        sample.
        """
        return Duration(0.0, 0.0, expected=False)

    def foreseen(self, step: StepT, pace: Pace) -> Completion:
        """Return marks as a device of this pace would give, whose phases are known;
        without marks where no plan goes by them.
        """
        return Completion(())

    def answers(self, step: StepT) -> int:
        """Return how many answers a device gives."""
        return 1

    # ---- doing it ----

    def lacks(self, info: SutInfo) -> str:
        """Return what a device cannot do that this step needs; empty where it can."""
        return ""

    def payloads(self, task: Task, step: StepT) -> Sequence[bytes]:
        """Return what the step brings to the device."""
        return ()

    def may_be_refused(self, step: StepT) -> bool:
        """Return whether a refusal of the device is an answer, and no error."""
        return False

    def scored(
        self, task: Task, number: int, step: StepT, completion: Completion
    ) -> StepRecord:
        """Return the step record, with what the device's answer is worth."""
        return StepRecord(number, step, completion)

    # ---- its marks ----

    def due(
        self, item: StepRecord, step: StepT, phases: Sequence[str]
    ) -> list[int] | None:
        """Return the phase codes that its marks must have (docs/PROTOCOL.md section 4);
        None where any will do.
        """
        return []

    def mark_fault(self, item: StepRecord, step: StepT, phases: Sequence[str]) -> str:
        """Return what is wrong with its marks; empty where nothing is."""
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
        """Return which mark came later than the device's own times explain; empty where
        none did.
        """
        return ""

    def spans(
        self, item: StepRecord, step: StepT, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield what becomes windows; its marks are those that are due."""
        yield from ()

    # ---- what can be wrong with it ----

    def iterations_due(self, step: StepT) -> int | None:
        """Return how many runs the device must count; None where that is not
        compared."""
        return None

    def link_is_silent(self, step: StepT) -> bool:
        """Return whether bytes that reach the device inside its windows are a
        problem."""
        return True

    def problems(self, item: StepRecord, step: StepT) -> list[Problem]:
        """Return what else is wrong with the device's answer."""
        return []

    # ---- its windows ----

    def must_be_resolved(self, span: Span, step: StepT) -> bool:
        """Return whether a window that is too short for the monitor is a problem."""
        return True

    def lengthened_by(self, span: Span, step: StepT) -> str:
        """Name the scenario's setting that makes its windows longer; empty where there
        is none."""
        return ""

    def measure(
        self, item: StepRecord, step: StepT, windows: Windows, timed: Timed
    ) -> Measured:
        """Return the samples, idle windows and streams that come of its windows."""
        return Measured((), ())

    # ---- its line in completions.jsonl ----

    def to_form(self, step: StepT) -> Any:
        """Return what the line of a step says of it."""
        return step

    def from_form(self, form: Any) -> StepT:
        """Return the step of which a line says this."""
        step: StepT = form
        return step
