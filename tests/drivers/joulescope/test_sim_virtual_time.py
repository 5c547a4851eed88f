# SPDX-License-Identifier: Apache-2.0
"""A simulated Joulescope in virtual time: the data of a step of time arrive before it
ends.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from drivers.front_end import AnalogBlock, FrontEnd
from drivers.joulescope.sim.settings import JoulescopeSimulatorSettings
from drivers.joulescope.sim.simulator import SimulatedDriver, SimulatedInstrument
from rig.simulation.world import NS_PER_S, World

#: Of current and voltage, in samples of half a microsecond.
BLOCK_TICKS = 2 * 50_022


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the instrument's thread be interrupted after each look at the world."""
    take = FrontEnd.take

    def slowly(self: FrontEnd, count: int) -> AnalogBlock:
        block = take(self, count)
        threading.Event().wait(0.05)
        return block

    monkeypatch.setattr(FrontEnd, "take", slowly)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("step_ms", [20, 300])
def test_what_was_sampled_in_a_step_of_time_has_come_when_it_ends(step_ms: int) -> None:
    world = World()
    world.put(0, True, 0.033)
    instrument = SimulatedInstrument(JoulescopeSimulatorSettings(clock_ppm=0.0), world)
    driver = SimulatedDriver()
    blocks: list[dict[str, Any]] = []

    def take(topic: str, block: dict[str, Any]) -> None:
        blocks.append(block)

    try:
        with driver.attached(instrument) as [path]:
            driver.open(path)
            driver.subscribe(f"{path}/s/i/!data", "pub", take)
            driver.publish(f"{path}/s/i/ctrl", 1)
            for step in range(1, 600 // step_ms + 1):
                world.advance(step_ms * NS_PER_S // 1000)
                passed_ticks = step * step_ms * 2000
                assert len(blocks) == passed_ticks // BLOCK_TICKS
            driver.close(path)
    finally:
        driver.finalize()
