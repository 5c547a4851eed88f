# SPDX-License-Identifier: Apache-2.0
"""The maker's own client of Otii servers on the simulated one, and our driver after it:
`make peers`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.otii.driver import Otii
from drivers.otii.settings import OtiiSettings, OtiiSimulatorSettings
from drivers.otii.sim.simulator import OtiiSimulator
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from rig.trace.trace import Trace
from tests.programs import captured

PYTHON = os.environ.get("OTII_CLIENT_PYTHON", "")
if not PYTHON:
    pytest.skip(
        "the client of Otii is not installed: make peers", allow_module_level=True
    )

S = 1_000_000_000
SUPPLY_V = 3.3
#: Power, 0.25 s each, over and over; SYNC falls where each second begins, for 50 ms.
POWERS_W = (0.010, 0.033, 0.100, 0.250)


def world() -> World:
    made = World()
    began_ns = time.monotonic_ns()
    made.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    for quarter in range(400):
        at_ns = quarter * S // 4
        power_w = POWERS_W[quarter % 4]
        made.put(at_ns, quarter % 4 != 0, power_w)
        if quarter % 4 == 0:
            made.put(at_ns + S // 20, True, power_w)
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[OtiiSimulator]:
    settings = OtiiSimulatorSettings(clock_ppm=0.0)
    simulator = OtiiSimulator(settings, BenchContext(world=world()))
    yield simulator
    simulator.close()


@pytest.fixture(scope="module")
def reported(server: OtiiSimulator) -> dict[str, Any]:
    program = Path(__file__).with_name("otii_client_reads.py")
    done = captured([PYTHON, str(program), server.server], timeout=60)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_the_makers_client_gets_the_rates_and_forms_that_it_documents(
    reported: dict[str, Any],
) -> None:
    assert reported["kinds"] == ["Arc"] and reported["main"] is False
    assert reported["rates"] == {"mc": 4000, "mv": 1000}
    assert reported["mc"]["interval"] == 0.00025 and reported["mc"]["timestamp"] == 0.0
    assert reported["i1"]["data_type"] == "digital"
    seconds = reported["info"]["to"]
    assert 1.2 <= seconds < 3.0
    assert len(reported["mc"]["values"]) == round(seconds * 4000)
    assert set(reported["mv"]["values"]) == {SUPPLY_V}


def test_the_makers_client_finds_the_currents_that_flow_and_their_mean(
    reported: dict[str, Any],
) -> None:
    current_a = np.array(reported["mc"]["values"])
    for power_w in POWERS_W:
        assert np.isclose(current_a, power_w / SUPPLY_V, rtol=1e-9).sum() > 900
    statistics = reported["statistics"]
    assert statistics["average"] == pytest.approx(current_a.mean())
    energy_j = float(current_a.sum()) * SUPPLY_V / 4000
    assert statistics["energy"] == pytest.approx(energy_j)


def test_the_makers_client_sees_sync_where_the_current_steps(
    reported: dict[str, Any],
) -> None:
    falls_s = [row["timestamp"] for row in reported["i1"]["values"] if not row["value"]]
    current_a = np.array(reported["mc"]["values"])
    # A sample in which the current steps is a mean of both levels.
    is_high = current_a > POWERS_W[-1] / 2 / SUPPLY_V
    steps_s = np.flatnonzero(is_high[:-1] & ~is_high[1:]) / 4000
    inner = [fall_s for fall_s in falls_s if fall_s > 0]
    assert inner == pytest.approx(steps_s.tolist(), abs=1.3e-3)


def test_what_it_reserved_it_gave_back_and_our_driver_measures_after_it(
    reported: dict[str, Any], server: OtiiSimulator, tmp_path: Path
) -> None:
    assert server.reserved == []
    monitor = Otii.open(OtiiSettings(server=server.server), BenchContext())
    monitor.power(True)
    with monitor.record(tmp_path):
        time.sleep(1.2)  # the length of the recording
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert 1 <= len(trace.falls_s) <= 3 and not trace.gaps
    quarter_s = float(trace.falls_s[0]) + 0.01
    if quarter_s + 0.23 < trace.duration_s:
        assert trace.mean_w(quarter_s, quarter_s + 0.23) == pytest.approx(
            POWERS_W[0], rel=1e-6
        )
    assert server.reserved == []
