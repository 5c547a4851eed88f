# SPDX-License-Identifier: Apache-2.0
"""A supply that is off: almost no current flows, and the device is silent; else it is
fed through its pins, and this is reported.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator, Lpm01aSimulatorSettings
from drivers.virtual import VirtualMonitor
from rig.bench.probe import probe
from rig.bench.supply import Reading, off
from rig.interfaces.context import BenchContext
from tests.sut_backends.uart.test_wiring import Board


@pytest.mark.parametrize(
    ("current_a", "words"),
    [
        (0.0, ""),
        (5e-5, ""),
        (-5e-5, ""),
        (2e-3, "out of a supply that is off"),
        (-2e-3, "into the instrument"),
    ],
)
@pytest.mark.parametrize("reads_voltage", [True, False])
def test_current_of_a_supply_that_is_off_is_named(
    current_a: float, words: str, reads_voltage: bool
) -> None:
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(), BenchContext())
    info = dataclasses.replace(monitor.info, reads_voltage=reads_voltage)
    monitor.close()
    result = off(
        "supply off",
        Reading(0.0, current_a, 0.0, 1e-3, powerless=True, still_a=1e-6),
        info,
    )
    assert result.ok == (not words) and words in result.detail
    assert result.ok or ("SYNC" in result.try_next and "MONITORS.md" in result.try_next)


@pytest.mark.parametrize("fed", [True, False])
def test_a_device_that_answers_without_its_supply_is_named(
    tmp_path: Path, fed: bool
) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    instrument = Lpm01aSimulator(Lpm01aSimulatorSettings(), context)
    device = Board(tx=True, rx=True)
    if fed:
        device.power_on()
    bench = tmp_path / "bench.toml"
    bench.write_text(
        f'[bench]\nname = "fed"\n[sut.uart]\nport = "{device.port}"\ntimeout_s = 0.3\n'
        f'[monitor.st_lpm01a]\nport = "{instrument.port}"\n'
        "[scenario.single_stream]\n[task.null]\n"
    )
    rows = probe(bench)
    result = {}
    try:
        for row in rows:
            result[row.name] = row
            if row.name == "supply off, UART":
                break
    finally:
        rows.close()
        device.close()
        instrument.close()
    assert result["supply off"].ok
    assert result["supply off, UART"].ok == (not fed)
    if fed:
        assert result["supply off, UART"].detail.startswith(
            "board answers without its supply"
        )
        assert "through its pins" in result["supply off, UART"].try_next
    assert not context.world.supply_on
