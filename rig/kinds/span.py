# SPDX-License-Identifier: Apache-2.0
"""Spans of device ticks, and the time base that makes windows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rig.model.effects import Effects, of_rail
from rig.model.step_record import StepRecord
from rig.model.trial import Window
from rig.timebase.timebase import Timebase
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.window_effects import of_latency

Ticks = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """A span of device ticks that becomes one window: a phase of a step, its first and
    last tick, and the number of its window of a stream.

    It is not `whole` where it is the beginning of another span of its step: then it is
    not judged by itself.
    """

    item: StepRecord
    phase: str
    ticks: Ticks
    repeat: int
    hop: int | None = None
    whole: bool = True

    def seconds(self, timebase: Timebase) -> tuple[float, float]:
        """Convert start and stop to a monitor's time."""
        return timebase.seconds(self.ticks[0]), timebase.seconds(self.ticks[1])


#: The spans of a step, or of a trial, each with the window that it became.
Windows = Sequence[tuple[Span, Window]]


@dataclass(frozen=True, slots=True)
class Timed:
    """The first rail's time base and its accuracy, which is None where no edges confirm
    the ticks.

    A window shorter than `shortest_s` is not resolved; a mark less than `wait_s` after
    another may have waited for its pulse.
    """

    timebase: Timebase
    tick_hz: float
    accuracy: Accuracy | None
    rail: str
    shortest_s: float = 0.0
    wait_s: float = 0.0

    def effects(self, ticks: Ticks) -> Effects:
        """Compute the uncertainties of the time between two ticks."""
        return of_rail(
            of_latency(ticks, self.timebase, self.tick_hz, self.accuracy), self.rail
        )

    def window(self, name: str, ticks: Ticks) -> Window:
        """Make a window without energy of the time between two ticks."""
        start_s, stop_s = map(self.timebase.seconds, ticks)
        latency_s = self.timebase.interval_s(*ticks)
        effects = self.effects(ticks)
        return Window(
            phase=name,
            start_s=start_s,
            stop_s=stop_s,
            latency_s=latency_s,
            energy_j=None,
            effects=effects,
        )
