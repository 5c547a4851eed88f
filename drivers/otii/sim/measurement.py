# SPDX-License-Identifier: Apache-2.0
"""One recording of a simulated Otii: the world's log becomes samples of its channels
when it ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.otii.settings import OtiiSimulatorSettings
from rig.simulation.world import World

_BLOCK = 100_000
Floats = NDArray[np.float64]


class OtiiMeasurement:
    """Channels mc and mv at their rates, and the changes of i1 and i2."""

    def __init__(
        self,
        settings: OtiiSimulatorSettings,
        world: World,
        seed: list[int],
        *,
        rates: dict[str, int],
        channels: frozenset[str],
        supply_v: float,
        on: bool,
        sees_inputs: bool,
        faulty: bool,
    ) -> None:
        self._settings = settings
        self._world = world
        self._random = np.random.default_rng(seed)
        self._rates = rates
        self._channels = channels
        self._supply_v = supply_v * (1 + settings.supply_v_error)
        self._sees_inputs = sees_inputs
        self._faulty = faulty
        self.began_ns = world.now_ns()
        self._switches: list[tuple[int, bool]] = [(self.began_ns, on)]
        self._values: dict[str, Floats] = {}
        self._changes: list[dict[str, Any]] = []
        self._front_ends = {}
        for name, hz in (("mc", rates["mc"]), ("input", settings.input_hz)):
            front_end = FrontEnd(
                world,
                hz,
                clock_ppm=settings.clock_ppm,
                edge_delay_s=settings.edge_delay_s,
                share=settings.share,
            )
            self._front_ends[name] = front_end
        self.running = True

    def switched(self, on: bool) -> None:
        """Note that the supply is on or off from now on."""
        self._switches.append((self._world.now_ns(), on))

    def end(self, stop_ns: int) -> None:
        """Sample all up to a time."""
        if not self.running:
            return
        self.running = False
        current_a = self._currents(stop_ns)
        seconds = len(current_a) / self._rates["mc"]
        self._values["mc"] = current_a
        voltage_v = np.full(int(seconds * self._rates["mv"]), self._supply_v)
        voltage_v *= self._ons(len(voltage_v), self._rates["mv"])
        self._values["mv"] = voltage_v
        self._changes = self._input_changes(stop_ns)

    def count(self, channel: str) -> int:
        """Return how many values a channel has; none while it runs or is disabled."""
        if channel not in self._channels or self.running:
            return 0
        if channel in ("i1", "i2"):
            return len(self._changes_of(channel))
        return len(self._kept(channel))

    def part(self, channel: str, index: int, count: int) -> dict[str, Any]:
        """Return values of a channel."""
        if channel in ("i1", "i2"):
            rows = self._changes_of(channel)[index : index + count]
            return {"data_type": "digital", "values": rows}
        values = self._kept(channel)[index : index + count]
        faults = self._settings.faults
        late = 0
        if channel == "mc" and self._loses and not faults.unnumbered:
            late = faults.lose_samples if index >= faults.lose_at else 0
        timestamp = (index + late) / self._rates[channel]
        return {
            "data_type": "analog",
            "timestamp": timestamp,
            "interval": 1 / self._rates[channel],
            "values": values.tolist(),
        }

    def info(self, channel: str) -> dict[str, Any]:
        """Return begin, end and rate of a channel."""
        hz = self._rates[channel]
        end_s = self.count(channel) / hz
        return {"offset": 0.0, "from": 0.0, "to": end_s, "sample_rate": hz}

    def statistics(self, channel: str, from_s: float, to_s: float) -> dict[str, Any]:
        """Return least, greatest and mean value of a channel between two times, and the
        energy."""
        hz = self._rates[channel]
        part = self._kept(channel)[round(from_s * hz) : round(to_s * hz)]
        average = float(part.mean())
        found = {
            "min": float(part.min()),
            "max": float(part.max()),
            "average": average,
        }
        if channel == "mc":
            found["energy"] = float(part.sum()) * self._supply_v / hz
        return found

    @property
    def _loses(self) -> bool:
        return self._faulty and self._settings.faults.lose_at >= 0

    def _kept(self, channel: str) -> Floats:
        values = self._values[channel]
        if channel != "mc" or not self._loses:
            return values
        first = self._settings.faults.lose_at
        return np.delete(
            values, slice(first, first + self._settings.faults.lose_samples)
        )

    def _currents(self, stop_ns: int) -> Floats:
        settings = self._settings
        front_end = self._front_ends["mc"]
        pieces = []
        while count := min(front_end.due(stop_ns), _BLOCK):
            pieces.append(front_end.take(count).power_w.copy())
        power_w = np.concatenate([np.zeros(0), *pieces])
        current_a = (
            power_w / self._supply_v * self._ons(len(power_w), self._rates["mc"])
        )
        current_a = current_a * (1 + settings.gain) + settings.offset_a
        if settings.noise_a:
            current_a += settings.noise_a * self._random.standard_normal(len(current_a))
        return current_a

    def _ons(self, count: int, hz: float) -> Floats:
        """Return which of so many samples have the supply on."""
        times_ns = self.began_ns + np.arange(count) / hz * 1e9
        at = np.searchsorted([each for each, _ in self._switches], times_ns, "right")
        states = np.array([float(on) for _, on in self._switches])
        return states[np.maximum(at - 1, 0)]

    def _input_changes(self, stop_ns: int) -> list[dict[str, Any]]:
        """Return the level at the beginning and each change, with the time of the first
        look that has it."""
        front_end = self._front_ends["input"]
        pieces = []
        while count := min(front_end.due(stop_ns), _BLOCK):
            pieces.append(front_end.take(count).levels.copy())
        levels = np.concatenate([np.zeros(0, dtype=np.uint8), *pieces])
        changes = np.flatnonzero(np.diff(levels, prepend=2)).tolist()
        stated = []
        for at in changes:
            at_s = float(at) / self._settings.input_hz
            stated.append({"timestamp": at_s, "value": bool(levels[at])})
        return stated

    def _changes_of(self, channel: str) -> list[dict[str, Any]]:
        wired = channel == f"i{self._settings.sync}"
        return self._changes if wired and self._sees_inputs else []
