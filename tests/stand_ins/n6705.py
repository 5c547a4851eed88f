# SPDX-License-Identifier: Apache-2.0
"""A simulated N6705 with a meter: one reading of each channel at a time, as programs
take them that use it as a plain supply.
"""

from __future__ import annotations

import numpy as np

from drivers.keysight_n6705.sim.acts import Act, numbers_of
from drivers.keysight_n6705.sim.module import Channel
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.simulation.world import World


class SimulatedMeter:
    """Readings of the present, without the log's noise."""

    def __init__(self, errors: N6705SimulatorSettings, world: World) -> None:
        self._errors = errors
        self._world = world

    def queries(self) -> dict[str, Act]:
        """Return what each query does."""
        return {
            "MEAS:VOLT?": numbers_of(self._v),
            "MEAS:CURR?": numbers_of(self._a),
            "MEAS:POW?": numbers_of(lambda one: self._v(one) * self._a(one)),
        }

    def _supply(self, channel: Channel) -> tuple[float, float]:
        now_ns = self._world.now_ns()
        state = next(
            item for item in self._world.states()[::-1] if item.time_ns <= now_ns
        )
        share = 0.0 if self._errors.fed_v else self._errors.share
        volt, current = channel.supply(np.array([state.power_w * share]))
        return float(volt[0]), float(current[0])

    def _v(self, channel: Channel) -> float:
        fed_v = self._errors.fed_v if channel.dut and not channel.live else 0.0
        return (self._supply(channel)[0] + fed_v) * (1 + self._errors.voltage_gain)

    def _a(self, channel: Channel) -> float:
        return (
            self._supply(channel)[1] * (1 + self._errors.gain) + self._errors.offset_a
        )


class MeteredSimulator(Simulator):
    """A simulator that also answers the queries of its meter."""

    def _table(self) -> dict[str, Act]:
        meter = SimulatedMeter(self._settings, self._world)
        return super()._table() | meter.queries()
