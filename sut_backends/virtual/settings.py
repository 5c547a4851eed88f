# SPDX-License-Identifier: Apache-2.0
"""Settings of the virtual device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge, Gt, Interval, Unit, doc

from rig.settings.declare import Count, Or, Ratio
from rig.simulation.world import NS_PER_S
from sut_backends.virtual.search import SearchModel


@dataclass(frozen=True, slots=True)
class PhaseModel:
    """One phase of the virtual device."""

    duration_s: Annotated[float, Ge(0), Unit("s"), doc("Mean duration.")]
    power_w: Annotated[float, Ge(0), Unit("W"), doc("Mean power.")]
    variation: Annotated[Ratio, Ge(0), doc("Relative standard deviation of both.")] = (
        0.005
    )


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


@dataclass(frozen=True, slots=True)
class VirtualSutSettings:
    """The device's clock, phases, memory, searches and faults."""

    tick_hz: Annotated[
        int, Ge(1), Unit("Hz"), doc("Rate of the device's clock, as it states it.")
    ] = 1_000_000
    clock_offset_ticks: Annotated[
        int, Unit("ticks"), doc("Ticks of the clock when the bench is opened.")
    ] = 123_456_789
    clock_ppm: Annotated[
        float,
        Gt(-1e6),
        Unit("ppm"),
        doc("How fast the clock is against its stated rate."),
    ] = 40.0
    idle_w: Annotated[
        float, Ge(0), Unit("W"), doc("Power of the device while it idles.")
    ] = 0.012
    preprocess: Annotated[PhaseModel, doc("The preprocessing phase.")] = field(
        default_factory=lambda: PhaseModel(0.018, 0.035)
    )
    infer: Annotated[PhaseModel, doc("The inference phase.")] = field(
        default_factory=lambda: PhaseModel(0.042, 0.045)
    )
    error_rate: Annotated[
        Ratio, Interval(ge=0, le=1), doc("Share of wrong answers.")
    ] = 0.0
    sync_hold_us: Annotated[
        int, Interval(ge=0, le=65_535), Unit("us"), doc("Length of a SYNC pulse.")
    ] = 50
    sync_count: Annotated[
        Count, Interval(ge=2, le=255), doc("Pulses in a SYNC burst.")
    ] = 8
    # no multiple of a sampling period: the pulses of a burst fall on different parts of
    # one
    sync_period_us: Annotated[
        int,
        Interval(ge=1, le=10_000_000),
        Unit("us"),
        doc("Period of the pulses in a SYNC burst."),
    ] = 2_003
    load_s: Annotated[
        float, Ge(0), Unit("s"), doc("Time that it takes to load a sample.")
    ] = 0.002
    slots: Annotated[Count, Ge(1), doc("Samples that the device holds.")] = 1
    slot_b: Annotated[
        int,
        Or(0, "of any size"),
        Ge(1),
        Unit("B"),
        doc("Bytes of a sample that the device holds."),
    ] = 0
    solve: Annotated[SearchModel, doc("How it searches.")] = field(
        default_factory=SearchModel
    )
    drift: Annotated[DriftModel, doc("How its power and pace change for a while.")] = (
        field(default_factory=DriftModel)
    )
