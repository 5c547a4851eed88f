# SPDX-License-Identifier: Apache-2.0
"""Programs of others run against the simulated N6705 over TCP, each in a process of its
own: `make peers`.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from rig.simulation.world import World
from tests.programs import captured
from tests.stand_ins.n6705 import MeteredSimulator

PYTHON = os.environ.get("PEERS_PYTHON", "")
if not PYTHON:
    pytest.skip(
        "programs of others are not installed: make peers", allow_module_level=True
    )


def said(program: str, home: Path) -> dict[str, Any]:
    """Return a program's output about an N6705 whose DUT draws 36 mW."""
    world = World()
    began_ns = time.monotonic_ns()
    world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    world.put(0, True, 0.036)
    settings = N6705SimulatorSettings(clock_ppm=0.0, noise_a=0.0)
    simulator = MeteredSimulator(settings, world, 1, 2, 0)
    try:
        done = captured(
            [PYTHON, str(Path(__file__).with_name(program)), simulator.resource],
            timeout=120,
            env={**os.environ, "HOME": str(home)},
        )
    finally:
        simulator.close()
    assert done.returncode == 0, done.stderr
    assert not world.supply_on
    reported: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return reported


def test_qcodes_switches_and_reads_a_supply(tmp_path: Path) -> None:
    reported = said("n6705_qcodes.py", tmp_path)
    assert reported["idn"]["model"].startswith("N6705")
    assert reported["set"] == pytest.approx([1.8, 0.2])
    assert reported["on"][0] == "on" and reported["on"][1:] == pytest.approx(
        [1.8, 0.02]
    )
    assert reported["off"] == ["off", 0.0, 0.0]
    assert reported["errors"] == '+0,"No error"'


def test_easy_scpi_logs_current_before_voltage_as_text(tmp_path: Path) -> None:
    reported = said("n6705_easy_scpi.py", tmp_path)
    assert "N6705" in reported["idn"] and reported["errors"] == '+0,"No error"'
    assert float(reported["power"]) == pytest.approx(0.036)
    assert float(reported["period"]) == pytest.approx(0.002, abs=20.48e-6)
    values = [float(each) for each in reported["log"].split(",")]
    assert len(values) == 200
    assert values[0::2] == pytest.approx([0.02] * 100) and values[
        1::2
    ] == pytest.approx([1.8] * 100)
