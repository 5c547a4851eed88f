# SPDX-License-Identifier: Apache-2.0
"""Device ticks -> windows in the first monitor's time, with what makes their lengths uncertain."""

from __future__ import annotations

from dataclasses import dataclass

from rig.model.effects import Effects, named
from rig.model.trial import Window
from rig.timebase.timebase import Timebase
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.window_effects import of_latency

Ticks = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Timed:
    """The first rail's time base, and what it promises; its accuracy is None where no edges confirm
    the ticks.
    """

    timebase: Timebase
    tick_hz: float
    accuracy: Accuracy | None
    rail: str

    def effects(self, ticks: Ticks) -> Effects:
        """Return what makes the time between two ticks uncertain."""
        return named(of_latency(ticks, self.timebase, self.tick_hz, self.accuracy), self.rail)

    def window(self, name: str, ticks: Ticks) -> Window:
        """Return the time between two ticks as a window whose energy is not asked for."""
        start_s, stop_s = map(self.timebase.seconds, ticks)
        return Window(
            name, start_s, stop_s, self.timebase.interval_s(*ticks), None, self.effects(ticks)
        )
