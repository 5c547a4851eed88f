# SPDX-License-Identifier: Apache-2.0
"""The ADC on a Xylo board as a monitor: energies against the truth, on a simulated
board in virtual time, and through the worker's part and its file in real time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.worker_lines import EventsFile
from drivers.xylo_board.clock_tie import ClockTie
from drivers.xylo_board.driver import XyloBoard
from drivers.xylo_board.events import ChannelEvents
from drivers.xylo_board.sim.board import BoardSimulator
from rig.errors import BenchError, ConfigError, DeviceLost
from rig.host.stop import pause
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin
from rig.trace.trace import Trace
from rig.uncertainty.window_effects import of_energy, ranges_a
from sut_backends.xylo.power_events import PowerEvents
from sut_backends.xylo.sim.board import build
from sut_backends.xylo.sim.nodes import Bag, Truth
from tests.drivers.test_contract import known_load, stated

NS = 1_000_000_000
SETTINGS = XyloBoard.Settings(channel="digital", events="simulator", gain_limit=0.001)


def board(**simulated: Any) -> tuple[XyloBoard, BenchContext]:
    context = BenchContext()
    settings = replace(SETTINGS, simulator=BoardSimulator.Settings(**simulated))
    return XyloBoard.open(settings, context), context


@pytest.mark.parametrize(
    "simulated",
    [
        {"clock_ppm": 80.0, "delay_s": 0.008},
        {"clock_ppm": -80.0, "start_s": 0.012},
        {"stamps": False, "delay_s": 0.004},
    ],
)
def test_energies_of_known_windows_are_within_their_uncertainty_however_the_clocks_lie(
    tmp_path: Path, simulated: dict[str, Any]
) -> None:
    monitor, context = board(**simulated)
    trace, load = known_load(monitor, context, tmp_path)
    for (found_j, u_j), true_j in zip(
        stated(monitor, context, trace, load), load.energies_j, strict=True
    ):
        assert abs(found_j - true_j) < 2 * u_j < 0.05 * true_j
    assert trace.gaps == () and trace.sync == "clock"
    details = monitor.info.details
    if simulated.get("stamps", True):
        # The middle between start and delivery: half of the time between them.
        between_s = simulated.get("delay_s", 0.001) + simulated.get("start_s", 0.001)
        assert details["tied_within_s"] == pytest.approx(between_s / 2, abs=1e-4)
    else:
        assert details["tied_within_s"] is None and "is assumed" in details["times"]


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("stop", DeviceLost, "have stopped"),
        ("jump", BenchError, "stamps .* cannot be true"),
        ("unplugged", DeviceLost, "have ended"),
        ("missing", DeviceLost, "have stopped"),
    ],
)
def test_what_goes_wrong_while_it_records_is_named(
    tmp_path: Path, fault: str, kind: type[BenchError], says: str
) -> None:
    monitor, context = board()
    assert monitor.simulator is not None
    with (
        pytest.raises(kind, match=says) as result,
        monitor.record(tmp_path) as recording,
    ):
        context.world.advance(NS // 2)
        monitor.simulator.fault = fault
        for _ in range(30):
            context.world.advance(NS // 10)
            recording.check()
    assert result.value.try_next


def test_a_channel_that_never_speaks_is_distinguished_from_a_worker_that_does_not(
    tmp_path: Path,
) -> None:
    monitor, context = board()
    assert monitor.simulator is not None
    monitor.simulator.fault = "missing"
    with (
        pytest.raises(BenchError, match="nothing of this channel"),
        monitor.record(tmp_path) as on,
    ):
        for _ in range(30):
            context.world.advance(NS // 10)
            on.check()
    silent = ChannelEvents(
        EventsFile(tmp_path / "none.jsonl", "a and b"), "io", 100, 100.0, "here"
    )
    assert silent.new() == [] and silent.header is None


def test_clocks_that_cannot_be_tied_well_enough_end_the_recording(
    tmp_path: Path,
) -> None:
    monitor, context = board(start_s=0.06)
    with (
        pytest.raises(BenchError, match="tied well enough") as result,
        monitor.record(tmp_path),
    ):
        context.world.advance(NS)
    assert "30.5 ms" in result.value.evidence and "20 ms" in result.value.evidence


def test_a_gap_is_where_events_are_missing(tmp_path: Path) -> None:
    monitor, context = board()
    assert monitor.simulator is not None
    with monitor.record(tmp_path):
        context.world.advance(NS)
        monitor.simulator.fault = "stop"
        context.world.advance(NS // 4)
        monitor.simulator.fault = ""
        context.world.advance(NS)
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.gaps) == 1
    assert trace.gaps[0].stop - trace.gaps[0].start == pytest.approx(26, abs=2)


def tied(
    ppm: float, delays_s: Any, hours: float = 0.1, started_s: float = 0.002
) -> tuple[ClockTie, Any]:
    """Hear events of a clock at 10 Hz; return the tie, and how far it was off at
    each."""
    tie = ClockTie(1000 * NS, 100.0)
    offs = []
    times_s = np.arange(0.1, 3600 * hours, 0.1)
    for number, time_s in enumerate(times_s):
        true_ns = 1000 * NS + round((started_s + time_s) * NS)
        stamp_ns = round(time_s * (1 + ppm * 1e-6) * NS)
        tie.hear(stamp_ns, true_ns + round(delays_s(number) * NS))
        offs.append(tie.host_ns(stamp_ns, 0) - true_ns)
    return tie, np.array(offs[15:]) / NS


@pytest.mark.parametrize("ppm", [-70.0, 0.0, 70.0])
def test_a_clock_that_drifts_is_followed_within_the_bound(ppm: float) -> None:
    random = np.random.default_rng(3)
    tie, offs_s = tied(ppm, lambda number: 0.004 + random.exponential(0.002))
    # 25 ms of drift over six minutes, little of it remains.
    assert np.abs(offs_s).max() < tie.half_width_ns / NS + 0.002


def test_a_busy_host_moves_the_clocks_by_no_more_than_they_can_drift() -> None:
    tie, offs_s = tied(
        0.0, lambda number: 0.5 if 600 < number < 700 else 0.004, hours=0.05
    )
    assert np.abs(offs_s).max() < tie.half_width_ns / NS + 0.0012


def test_stamps_of_another_unit_or_that_go_back_are_refused() -> None:
    tie = ClockTie(0, 100.0)
    with pytest.raises(BenchError, match="cannot be true"):
        tie.hear(5 * NS, NS)  # read before it was measured
    tie = ClockTie(0, 100.0)
    tie.hear(NS, 2 * NS)
    with pytest.raises(BenchError, match="cannot be true"):
        tie.hear(NS // 2, 2 * NS)


HEADER = {
    "xylo_power": 1,
    "channels": {"io": 0},
    "hz": 100,
    "started_ns": 0,
    "chip": "audio3",
}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("who is this\n", "holds no lines of a worker"),
        ("[1, 2]\n", "holds no lines of a worker"),
        (json.dumps(HEADER | {"xylo_power": 2}) + "\n", "of another form"),
        (json.dumps(HEADER | {"channels": {"digital": 2}}) + "\n", "no channel io"),
        (json.dumps(HEADER | {"hz": 5}) + "\n", "measures 5 times a second"),
    ],
)
def test_a_file_that_is_not_this_worker_s_is_refused(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(text)
    with pytest.raises(BenchError, match=says) as result:
        ChannelEvents(EventsFile(path, "a and b"), "io", 100, 100.0, str(path)).new()
    assert result.value.try_next


def test_its_energies_are_the_board_s_own_sensor_s() -> None:
    for simulated, wanted in ((True, Origin.SIMULATED), (False, Origin.OWN_SENSOR)):
        settings = replace(
            SETTINGS, events="/nowhere/events.jsonl", simulated=simulated
        )
        monitor = XyloBoard.open(settings, BenchContext())
        assert XyloBoard.origin(settings) is monitor.info.origin is wanted
        assert monitor.info.simulated == simulated


def test_a_calibration_of_the_adc_leaves_the_ends_of_windows_uncertain(
    tmp_path: Path,
) -> None:
    path = tmp_path / "adc.toml"
    path.write_text(
        """source = "a comparison"
clock_ppm = 10.0
[[current]]
up_to = 5.0
gain = 0.01
offset = 1e-6
[[voltage]]
up_to = 1.0
gain = 0.0
offset = 0.0
"""
    )
    settings = replace(SETTINGS, calibration=str(path), gain_limit=0.0, power_hz=50)
    limits = XyloBoard.open(settings, BenchContext()).info.accuracy
    assert limits.current[0].gain == 0.01 and limits.edge_s == pytest.approx(
        0.02 + 0.02
    )


def test_without_a_worker_a_recording_says_so(tmp_path: Path) -> None:
    settings = replace(SETTINGS, events=str(tmp_path / "none.jsonl"))
    with (
        pytest.raises(BenchError, match="no worker writes power events") as result,
        XyloBoard.open(settings, BenchContext()).record(tmp_path),
    ):
        pause(0.1)
    assert "[sut.xylo]" in result.value.try_next


def test_limits_and_the_channel_have_to_be_stated() -> None:
    for changed, says in (
        ({"channel": ""}, "which supply"),
        ({"gain_limit": 0.0}, "ADC may be"),
    ):
        settings = replace(SETTINGS, events="/nowhere/events.jsonl", **changed)
        with pytest.raises(ConfigError, match=says):
            XyloBoard.open(settings, BenchContext())


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[tuple[Path, Truth, Any]]:
    """A worker's part over a simulated board, in real time."""
    truth = Truth("audio2", delay_s=2e-3, ppm=40.0)
    samna = Bag()
    build(samna, truth)
    opened = samna.device.open_device(samna.device.get_all_devices()[0])
    path = tmp_path / f"events-{os.getpid()}.jsonl"
    reading = PowerEvents(samna, opened, "audio2", 100.0, str(path))
    yield path, truth, reading
    reading.close()


def test_a_worker_s_file_is_followed_in_real_time(
    worker: tuple[Path, Truth, Any], tmp_path: Path
) -> None:
    path, truth, reading = worker
    undeclared = XyloBoard.Settings(
        channel="snn_core", events=str(path), gain_limit=0.001, shift_limit_s=0.05
    )
    settings = replace(undeclared, simulated=True)
    monitor = XyloBoard.open(settings, BenchContext())
    with monitor.record(tmp_path) as recording:
        pause(0.3)
        began_ns = time.monotonic_ns()
        truth.busy_ns.append((began_ns, began_ns + 400_000_000))
        pause(0.6)
        recording.check()
    reading.close()
    trace = Trace.open(tmp_path / "trace.jls")
    start_s = (began_ns - trace.start_monotonic_ns) / NS
    for from_s, to_s in ((-0.2, 0.5), (0.0, 0.4), (0.1, 0.3)):
        result = trace.integrals(
            [(start_s + from_s, start_s + to_s)], ranges_a(monitor.info.accuracy)
        )
        true_j = truth.energy_j(
            "Logic", began_ns + round(from_s * NS), began_ns + round(to_s * NS)
        )
        u_j = of_energy(result[0], monitor.info.accuracy, 100.0, (0.0, 0.0)).energy_u_j
        assert abs(result[0].energy_j - true_j) < 2 * u_j, (from_s, to_s)
    assert "samna" in monitor.info.details
    with (
        pytest.raises(BenchError, match="does not say so"),
        XyloBoard.open(undeclared, BenchContext()).record(tmp_path / "second"),
    ):
        pause(0.2)
