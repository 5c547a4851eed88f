# SPDX-License-Identifier: Apache-2.0
"""Idle times: the device is configured and ready; their power is the idle power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rig.kinds.kind import StepKind
from rig.kinds.span import Span, Timed, Windows
from rig.model.completion import END, IDLE
from rig.model.step_record import StepRecord
from rig.model.steps import Idle
from rig.model.trial import Measured


class IdleKind(StepKind[Idle]):
    """Two marks, and the window between them."""

    step = Idle

    def describe(self, step: Idle) -> str:
        """Name its length."""
        return f"idle  {step.duration_s:g} s"

    def takes_s(self, step: Idle, rates_s: Mapping[str, float]) -> float:
        """Return its length, which the device keeps by its timer."""
        return step.duration_s

    def total(self, steps: Sequence[Idle]) -> str:
        """Count them, with their length."""
        return f"{len(steps)} idle times ({sum(step.duration_s for step in steps):g} s)"

    def due(
        self, item: StepRecord, step: Idle, phases: Sequence[str]
    ) -> list[int] | None:
        """Require the marks of begin and end."""
        return [IDLE, END]

    def spans(
        self, item: StepRecord, step: Idle, phases: Sequence[str]
    ) -> Iterator[Span]:
        """Yield the one window."""
        begin, end = item.completion.marks
        yield Span(item, "idle", (begin.tick, end.tick), 1)

    def lengthened_by(self, span: Span, step: Idle) -> str:
        """Name the scenario's idle time."""
        return "idle_s"

    def measure(
        self, item: StepRecord, step: Idle, windows: Windows, timed: Timed
    ) -> Measured:
        """Return the idle window."""
        return Measured((), tuple(window for _, window in windows))
