# SPDX-License-Identifier: Apache-2.0
"""An INA219, INA226 or INA228 beside an AVR board: readings are true within a step of
the chip, and samples that are lost or damaged are a gap of their length.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.ina_monitor.chips import CHIPS
from drivers.ina_monitor.driver import InaMonitor
from drivers.ina_monitor.link import content
from drivers.ina_monitor.settings import (
    InaMonitorFaults,
    InaMonitorSimulatorSettings,
)
from drivers.ina_monitor.sim.simulator import InaMonitorSimulator
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    RemoteProtocolError,
)
from rig.host.serial_port import SerialPort
from rig.interfaces.context import BenchContext
from rig.trace.trace import SAID, Trace, reading
from tests.waiting import eventually

MS = 1_000_000
SUPPLY_V = 3.3
SHUNT_OHM = 0.1
#: One step of the shunt voltage and of the bus voltage, of TI's data sheets.
STEPS_V = {
    "ina219": (10e-6, 4e-3),
    "ina226": (2.5e-6, 1.25e-3),
    "ina228": (312.5e-9, 195.3125e-6),
}


def monitor(
    context: BenchContext, faults: dict[str, Any] | None = None, **chosen: Any
) -> InaMonitor:
    simulator = InaMonitorSimulatorSettings(
        clock_ppm=0.0, faults=InaMonitorFaults(**(faults or {}))
    )
    settings = {"port": "simulator", "chip": "ina226", "simulator": simulator, **chosen}
    return InaMonitor.open(InaMonitor.Settings(**settings), context)


def recorded(opened: InaMonitor, folder: Path, *powers_w: float) -> Trace:
    """Record 100 ms of each power, one after the other, with an edge at each."""
    world = opened._context.world
    with opened.record(folder):
        for power_w in powers_w:
            world.put(world.now_ns(), False, power_w)
            world.advance(MS)
            world.put(world.now_ns(), True, power_w)
            world.advance(99 * MS)
    opened.close()
    return Trace.open(folder / "trace.jls")


@pytest.mark.parametrize("current_a", [0.0, 7e-3, 0.3])
@pytest.mark.parametrize("chip", CHIPS)
def test_a_current_is_shown_within_half_a_step_and_so_is_the_voltage(
    tmp_path: Path, chip: str, current_a: float
) -> None:
    trace = recorded(monitor(BenchContext(), chip=chip), tmp_path, current_a * SUPPLY_V)
    with reading(trace.path) as reader:
        shown_a, shown_v = trace.samples(reader, 10, 30)
    step_v, bus_step_v = STEPS_V[chip]
    assert shown_a == pytest.approx(current_a, abs=0.51 * step_v / SHUNT_OHM)
    assert shown_v == pytest.approx(SUPPLY_V, abs=0.51 * bus_step_v)
    assert not trace.gaps


def test_a_smaller_current_takes_the_better_range_of_an_ina228(tmp_path: Path) -> None:
    opened = monitor(BenchContext(), chip="ina228", most_a=0.3)
    assert opened.info.accuracy.current[0].up_to == pytest.approx(0.4096)
    trace = recorded(opened, tmp_path, 0.1 * SUPPLY_V, 0.5 * SUPPLY_V)
    with reading(trace.path) as reader:
        shown_a, _ = trace.samples(reader, 10, 30)
    assert shown_a == pytest.approx(0.1, abs=0.51 * 78.125e-9 / SHUNT_OHM)
    [gap] = trace.gaps
    assert gap.cause == "beyond the measuring range"
    assert gap.stop - gap.start == pytest.approx(50, abs=1)


def test_the_limits_of_error_are_those_of_the_data_sheet_and_the_shunt() -> None:
    opened = monitor(BenchContext(), shunt_tolerance=0.005)
    limits = opened.info.accuracy
    opened.close()
    [row] = limits.current
    # Gain 0.1 %, 50 ppm/K; offset 10 uV, 0.1 uV/K; 126 dB from 12 V: at 20 K.
    assert row.gain == pytest.approx(0.001 + 0.001 + 0.005)
    assert row.offset == pytest.approx((10e-6 + 2e-6 + 6e-6) / SHUNT_OHM)
    assert row.up_to == pytest.approx(0.819175) and not limits.verified
    assert limits.voltage[0].offset == pytest.approx(8.3e-3)


def test_what_a_chip_sees_of_a_period_is_told(tmp_path: Path) -> None:
    context = BenchContext()
    opened = monitor(context, sample_hz=500)
    share = opened.info.details["observed_share"]
    assert share == pytest.approx(0.55)
    with opened.record(tmp_path):
        for _ in range(50):  # a load that the chip's time does not meet
            context.world.put(context.world.now_ns(), True, 0.0)
            context.world.advance(round(2 * share * MS) + 100_000)
            context.world.put(context.world.now_ns(), True, 1.0)
            context.world.advance(2 * MS - round(2 * share * MS) - 100_000)
    opened.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.03, 0.1) < 0.4 < 1.0 - share


# --- Samples that do not come


@pytest.mark.parametrize("samples", [1, 2, 17])
def test_lost_lines_are_a_gap_of_their_number_and_move_none(
    tmp_path: Path, samples: int
) -> None:
    opened = monitor(BenchContext(), {"lose_at": 40, "lose_samples": samples})
    trace = recorded(opened, tmp_path, 0.1, 0.1)
    [gap] = trace.gaps
    assert (gap.start, gap.stop) == (40, 40 + samples)
    assert gap.cause == f"{samples} samples by the board's counter"
    assert np.diff(trace.falls_s) == pytest.approx([0.1], abs=1e-6)
    assert trace.duration_s == pytest.approx(0.21, abs=2.1e-3)


def test_a_damaged_line_is_a_gap_and_is_counted(tmp_path: Path) -> None:
    trace = recorded(monitor(BenchContext(), {"damage_at": 40}), tmp_path, 0.1, 0.1)
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(40, 41)]
    about = json.loads((tmp_path / SAID).read_text())
    assert about["damaged_lines"] == 1 and about["end_told"]


def test_a_chip_that_does_not_acknowledge_is_a_gap(tmp_path: Path) -> None:
    trace = recorded(monitor(BenchContext(), {"unread_at": 40}), tmp_path, 0.1)
    [gap] = trace.gaps
    assert (gap.start, gap.stop) == (40, 41) and "acknowledge" in gap.cause


@pytest.mark.parametrize(
    "line", [b"d0000000100001*00", b"x*7", b"", b"*2A", b"\xff*FF"]
)
def test_a_line_whose_sum_is_wrong_is_damaged(line: bytes) -> None:
    assert content(line) is None


def test_a_line_is_what_stands_before_its_sum() -> None:
    assert content(b"m*6D") == "m"


# --- The board


def test_a_port_without_an_answer_is_refused() -> None:
    context = BenchContext()
    simulator = InaMonitorSimulator(
        InaMonitorSimulatorSettings(), "ina226", SHUNT_OHM, context
    )
    simulator._mute = True
    with pytest.raises(RemoteProtocolError, match="no ina_monitor answers"):
        InaMonitor.open(
            InaMonitor.Settings(port=simulator.port, chip="ina226"), BenchContext()
        )
    SerialPort.open(simulator.port, 115_200).close()
    simulator.close()


def test_a_cable_that_is_out_ends_the_recording_and_is_named(tmp_path: Path) -> None:
    opened = monitor(BenchContext(), {"unplugged_at_s": 0.07})
    with pytest.raises(DeviceLost, match="is gone"):
        recorded(opened, tmp_path, 0.1, 0.1)
    opened.close()
    assert Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(
        0.07, abs=5e-3
    )


@pytest.mark.parametrize(
    ("chip", "there"), [("ina226", "none"), ("ina226", "ina219"), ("ina219", "ina228")]
)
def test_another_chip_than_the_bench_has_is_named(chip: str, there: str) -> None:
    with pytest.raises(BenchError, match=r"no INA2\d\d answers at I2C address 0x40"):
        monitor(BenchContext(), {"chip": there}, chip=chip)


def test_a_measurement_that_goes_on_is_ended_first(tmp_path: Path) -> None:
    trace = recorded(monitor(BenchContext(), {"streaming": True}), tmp_path, 0.1)
    assert not trace.gaps and trace.duration_s == pytest.approx(0.11, abs=2.1e-3)


@pytest.mark.parametrize(
    ("chip", "key", "value"),
    [
        ("ina219", "sample_hz", 1000),
        ("ina226", "most_a", 0.9),
        ("ina228", "most_a", 1.7),
    ],
)
def test_what_a_chip_cannot_do_is_refused_with_what_it_can(
    chip: str, key: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        monitor(BenchContext(), chip=chip, **{key: value})
    assert any(word in caught.value.try_next for word in (" Hz", " mV"))


def test_a_board_that_falls_silent_is_an_error_within_seconds(tmp_path: Path) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    faults = InaMonitorFaults(mute_at_s=0.3)
    simulator = InaMonitorSimulator(
        InaMonitorSimulatorSettings(faults=faults), "ina226", SHUNT_OHM, context
    )
    opened = InaMonitor.open(
        InaMonitor.Settings(port=simulator.port, chip="ina226"), BenchContext()
    )
    with (
        pytest.raises(DeadlineError, match="samples of the board"),
        opened.record(tmp_path) as recording,
    ):
        eventually(lambda: recording._failure is not None, 20)
    opened.close()
    simulator.close()
    assert Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(0.3, abs=0.05)
