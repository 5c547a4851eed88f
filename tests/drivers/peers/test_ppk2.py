# SPDX-License-Identifier: Apache-2.0
"""ppk2-api, a client that was written for real instruments, on the simulated PPK2, and
our driver on the bytes that it got: `make peers`.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.nordic_ppk2.driver import NordicPpk2
from drivers.nordic_ppk2.sim.converter import CONSTANTS
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from drivers.nordic_ppk2.sim.simulator import Ppk2Simulator
from drivers.nordic_ppk2.stream import SampleStream, SampleWords
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from tests.programs import captured

PYTHON = os.environ.get("PPK2_API_PYTHON", "")
if not PYTHON:
    pytest.skip("ppk2-api is not installed: make peers", allow_module_level=True)

S = 1_000_000_000
SUPPLY_V = 3.3
#: One current in each range.
CURRENTS_A = (20e-6, 200e-6, 2e-3, 20e-3, 0.3)
#: ppk2-api shows a mean of those before in place of so many samples after a switch.
FILTERED = 3


def world() -> World:
    """Return a world of real time with a current in each range, 0.2 s each, over and
    over."""
    made = World()
    began_ns = time.monotonic_ns()
    made.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    for number in range(200):
        at_ns = number * S // 5
        current_a = CURRENTS_A[number % len(CURRENTS_A)]
        made.put(at_ns, number % 2 == 0, current_a * SUPPLY_V)
    return made


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, Any], NordicPpk2, bool]:
    """Return what ppk2-api reports, our driver on the same instrument after it, and
    whether ppk2-api left the supply on."""
    context = BenchContext(world=world())
    simulator = Ppk2Simulator(Ppk2SimulatorSettings(), context)
    try:
        program = Path(__file__).with_name("ppk2_api_reads.py")
        done = captured([PYTHON, str(program), simulator.port], timeout=120)
        assert done.returncode == 0, done.stderr
        left_on = context.world.supply_on
        ours = NordicPpk2.open(NordicPpk2.Settings(port=simulator.port), BenchContext())
        ours.close()
    finally:
        simulator.close()
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported, ours, left_on


def test_ppk2_api_reads_the_constants_that_our_driver_reads(both: Any) -> None:
    reported, ours, _ = both
    for number, constants in enumerate(ours.info.details["constants"]):
        for family, value in constants.items():
            assert reported["modifiers"][family.upper()][str(number)] == value


def test_both_convert_the_same_bytes_to_the_same_currents_and_lines(both: Any) -> None:
    reported, ours, _ = both
    raw = bytes.fromhex(reported["raw"])
    stream = SampleStream()
    [taken] = [*stream.feed(raw[: len(raw) // 4 * 4]), *stream.finish()][:1]
    assert isinstance(taken, SampleWords) and len(taken.words) > 100_000
    count = len(taken.words)
    ours_a = ours._metadata.currents_a(SUPPLY_V)[taken.words & 0x1FFFF]
    theirs_a = np.array(reported["currents_ua"][:count]) / 1e6
    ranges = taken.words >> 14 & 7
    switched = np.flatnonzero(np.diff(ranges))
    compared = np.ones(count, dtype=bool)
    for after in range(1, FILTERED + 2):
        compared[np.minimum(switched + after, count - 1)] = False
    steps_a = np.array([4 * 1.8 / 163_840 / ohm for ohm in CONSTANTS["R"]])[ranges]
    apart = np.abs(ours_a - theirs_a)[compared] / steps_a[compared]
    assert apart.max() < 1e-6 and compared.mean() > 0.99
    assert set(ranges.tolist()) == {0, 1, 2, 3, 4}
    assert (taken.words >> 24).tolist() == reported["lines"][:count]


def test_ppk2_api_finds_the_currents_that_flow_within_half_a_step(both: Any) -> None:
    reported, _, left_on = both
    theirs_a = np.array(reported["currents_ua"]) / 1e6
    for number, current_a in enumerate(CURRENTS_A):
        near = theirs_a[np.abs(theirs_a / current_a - 1) < 0.2]
        step_a = 4 * 1.8 / 163_840 / CONSTANTS["R"][number]
        assert len(near) > 5_000
        assert np.median(near) == pytest.approx(current_a, abs=0.5 * step_a)
    assert not left_on
