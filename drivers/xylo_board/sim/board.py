# SPDX-License-Identifier: Apache-2.0
"""A simulated board's power events as a worker writes them, of the power that the world
has; with a stopwatch, delays, and faults of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Interval, Unit, doc

from drivers.front_end import FrontEnd
from drivers.host_counters.settings import SimulatedCounterSettings
from drivers.host_counters.sim.simulator import SimulatedCounter
from rig.settings.declare import Ratio
from rig.simulation.world import NS_PER_S, World

#: Faults that a test may set as `fault`, one at a time; a fault acts on later events.
FAULTS = ("stop", "jump", "missing", "unplugged", "late")
_LATE_S = 0.3


class BoardSimulator:
    """One channel of a board, and another channel without power. Time is the
    world's."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Power of the simulated channel apart from the DUT, and errors of its clock
        and its line."""

        base_w: Annotated[
            float, Ge(0), Unit("W"), doc("Power of the channel apart from the DUT.")
        ] = 0.0
        gain: Annotated[Ratio, doc("Gain error of the ADC.")] = 0.0
        clock_ppm: Annotated[
            float, Gt(-1e6), Unit("ppm"), doc("How fast the stopwatch is.")
        ] = 0.0
        delay_s: Annotated[
            float,
            Ge(0),
            Unit("s"),
            doc("Time from a measurement to its reading, at least."),
        ] = 0.001
        start_s: Annotated[
            float,
            Ge(0),
            Unit("s"),
            doc("Time from the command to the stopwatch's start."),
        ] = 0.001
        stamps: Annotated[bool, doc("The events have stamps.")] = True
        share: Annotated[
            Ratio,
            Interval(ge=0, le=1),
            doc("Part of the DUT's power that the channel carries."),
        ] = 1.0

    def __init__(self, settings: Settings, channel: str, hz: int, world: World) -> None:
        self._settings, self._world = settings, world
        self._hz = hz
        self.fault = ""
        self.counter = _EventCounter(world, settings, hz)
        self._header = {
            "xylo_power": 1,
            "chip": "simulated",
            "channels": {channel: 1, "other": 0},
            "hz": hz,
            "samna": "simulated",
            "simulated": True,
            "stopwatch": settings.stamps,
        }
        self._begun = False

    def new(self) -> list[dict[str, Any]]:
        """Return the lines that a worker would have written since."""
        counter = self.counter
        lines: list[dict[str, Any]] = []
        if not self._begun:
            self._begun = True
            lines.append(self._header | {"started_ns": counter.first_ns})
        now_ns = counter.read_ns()
        late_ns = round((_LATE_S if self.fault == "late" else 0.0) * NS_PER_S)
        ready = [one for one in counter.measured if one[0] + late_ns <= now_ns]
        counter.measured = counter.measured[len(ready) :]
        for read_ns, stamp_us, watts in ready:
            events: list[list[Any]] = [[stamp_us, 0, 0.0]]
            if self.fault == "jump":
                events[0][0] = stamp_us = stamp_us + 5_000_000
            if self.fault != "missing":
                events.append([stamp_us, 1, watts])
            if self.fault != "stop":
                lines.append({"read_ns": read_ns + late_ns, "events": events})
        if self.fault == "unplugged":
            lines.append({"ended_ns": now_ns, "why": "RuntimeError: device is gone"})
        return lines


class _EventCounter(SimulatedCounter):
    """Clock of the simulated host that also keeps its counts as measurements: time of
    reading, stamp, power."""

    def __init__(
        self, world: World, settings: BoardSimulator.Settings, hz: int
    ) -> None:
        super().__init__(world, SimulatedCounterSettings(base_w=0.0, update_s=1 / hz))
        start_ns = round(settings.start_s * NS_PER_S)
        began_ns = world.now_ns() + start_ns
        self._adc = FrontEnd(world, hz, start_ns=began_ns, share=settings.share)
        self._given, self._zero_ns = settings, start_ns
        self.measured: list[tuple[int, int, float]] = []

    @property
    def first_ns(self) -> int:
        """The host's time at which the stopwatch was started."""
        return self._first_ns

    def _count_to(self, time_ns: int) -> None:
        super()._count_to(time_ns)
        given = self._given
        while count := min(self._adc.due(self._world.horizon_ns()), 10_000):
            first = self._adc.at
            for number, watts in enumerate(
                self._adc.take(count).power_w, start=first + 1
            ):
                after_ns = round(number * self._adc.period_s * NS_PER_S)
                stamp_us = round(after_ns * (1 + given.clock_ppm * 1e-6) / 1000)
                read_ns = self._first_ns + self._zero_ns + after_ns
                read_ns += round((given.delay_s * (1 + 0.5 * (number % 7))) * NS_PER_S)
                power_w = (float(watts) + given.base_w) * (1 + given.gain)
                self.measured.append((read_ns, stamp_us, power_w))
