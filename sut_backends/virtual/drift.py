# SPDX-License-Identifier: Apache-2.0
"""A virtual device that draws more power, or takes longer, for a while, as a warm
device or a worn supply does in one trial of five."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Unit, doc

from rig.settings.declare import Ratio
from rig.simulation.world import NS_PER_S


@dataclass(frozen=True, slots=True)
class DriftModel:
    """A change of power and of duration that grows linearly from one virtual time to
    another, and is over then; without a length there is none.
    """

    begins_s: Annotated[
        float, Ge(0), Unit("s"), doc("Virtual time of the bench at which it begins.")
    ] = 0.0
    lasts_s: Annotated[
        float, Ge(0), Unit("s"), doc("How long it lasts; 0 is none.")
    ] = 0.0
    power: Annotated[
        Ratio, Gt(-1), doc("Relative change of all power at its end, idle included.")
    ] = 0.0
    duration: Annotated[
        Ratio, Gt(-1), doc("Relative change of the phases' duration at its end.")
    ] = 0.0

    def power_at(self, time_ns: int) -> float:
        """Return the factor on power at a time of the bench."""
        return 1.0 + self.power * self._share(time_ns)

    def duration_at(self, time_ns: int) -> float:
        """Return the factor on durations at a time of the bench."""
        return 1.0 + self.duration * self._share(time_ns)

    def _share(self, time_ns: int) -> float:
        """Return how much of the change is there: from 0 to 1, 0 before and after."""
        if not self.lasts_s:
            return 0.0
        share = (time_ns / NS_PER_S - self.begins_s) / self.lasts_s
        return share if 0.0 <= share < 1.0 else 0.0
