# SPDX-License-Identifier: Apache-2.0
"""The X-NUCLEO-LPM01A: its measurements are true within its stated limits, and every
fault is a gap or an error, never a shift.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from drivers.st_lpm01a.binary import BinaryParser
from drivers.st_lpm01a.driver import StLpm01a
from drivers.st_lpm01a.sim.shell import decimal
from drivers.st_lpm01a.sim.simulator import (
    Lpm01aFaults,
    Lpm01aSimulator,
    Lpm01aSimulatorSettings,
)
from drivers.st_lpm01a.sim.stream import hexadecimal
from drivers.st_lpm01a.stream import AsciiParser
from drivers.st_lpm01a.stream_items import (
    AcquisitionEnd,
    Completed,
    Item,
    Lost,
    SampleBlock,
    StreamEdge,
    StreamNote,
    Suspect,
    Tail,
    TimeStamp,
    Trouble,
)
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.trace.trace import SAID, Trace
from rig.uncertainty.accuracy import Accuracy
from tests.length import length
from tests.uncounted import uncounted
from tests.waiting import eventually

MS = 1_000_000
# of a time stamp with the empty line before it; 1000 lines and a NUL follow
STAMP_B = 35
BINARY: dict[str, Any] = {"format": "bin_hexa", "sample_hz": 10_000}
FASTEST: dict[str, Any] = {"format": "bin_hexa", "sample_hz": 100_000}
ENERGY: dict[str, Any] = {"output": "energy", "sample_hz": 1000}
QUIET: dict[str, Any] = {"noise_a": 0.0, "clock_ppm": 0.0}


def board(
    context: BenchContext,
    faults: dict[str, Any] | None = None,
    true: dict[str, Any] | None = None,
    **more: Any,
) -> StLpm01a:
    """Open a simulated board; its true errors are those in `true`."""
    simulator = Lpm01aSimulatorSettings(
        faults=Lpm01aFaults(**(faults or {})), **(QUIET | (true or {}))
    )
    return StLpm01a.open(
        StLpm01a.Settings(port="simulator", simulator=simulator, **more), context
    )


def draw(
    context: BenchContext, power_w: float, duration_ms: float, level: bool = True
) -> None:
    context.world.put(context.world.now_ns(), level, power_w)
    context.world.advance(round(duration_ms * MS))


@contextmanager
def recorded(
    folder: Path,
    faults: dict[str, Any] | None = None,
    true: dict[str, Any] | None = None,
    **more: Any,
) -> Iterator[Any]:
    """Record with the supply on; yields the context and the recording."""
    context = BenchContext()
    monitor = board(context, faults, true, **more)
    try:
        monitor.power(True)
        with monitor.record(folder) as recording:
            yield context, recording
    finally:
        monitor.close()
    assert not context.world.supply_on


def steady(
    folder: Path, seconds: float = 1.0, power_w: float = 0.033, **more: Any
) -> Trace:
    with recorded(folder, **more) as (context, _):
        draw(context, power_w, seconds * 1000)
    return Trace.open(folder / "trace.jls")


def failure_of(folder: Path, seconds: float = 1.0, **more: Any) -> RigError:
    """Return what check raises once that time has passed."""
    with (
        pytest.raises(RigError) as caught,
        recorded(folder, **more) as (context, recording),
    ):
        for _ in range(round(seconds * 10)):
            draw(context, 0.033, 100)
        eventually(recording.check, limit_s=20.0)
    return caught.value


# Measurements


@pytest.mark.parametrize(
    "kind", [{}, BINARY, FASTEST, ENERGY], ids=["ascii", "binary", "fastest", "energy"]
)
def test_the_energy_of_a_known_load_is_within_the_stated_uncertainty(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    true = {
        "gain": 0.015,
        "offset_a": 50e-9,
        "noise_a": 2e-6,
        "clock_ppm": 80.0,
        "supply_v_error": -0.008,
    }
    context = BenchContext()
    monitor = board(context, true=true, **kind)
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.01, 100)
        start_ns = context.world.now_ns()
        for power_w in (0.08, 0.002, 0.05) * 10:
            draw(context, power_w, 33.4)
        stop_ns = context.world.now_ns()
        draw(context, 0.01, 100)
    monitor.close()
    started_ns = 10 * MS
    start_s = (start_ns - started_ns) / 1e9 + 0.01
    stop_s = (stop_ns - started_ns) / 1e9 + 0.01
    trace = Trace.open(tmp_path / "trace.jls")
    limits = monitor.info.accuracy
    off = (
        trace.energy_j(start_s, stop_s) / context.world.true_energy_j(start_ns, stop_ns)
        - 1
    )
    assert 0 < abs(off) <= relative_limit(limits)
    assert not trace.gaps


def relative_limit(limits: Accuracy) -> float:
    return limits.current[0].gain + limits.voltage[0].gain + limits.clock_ppm * 1e-6


@pytest.mark.parametrize(
    "kind", [{}, BINARY, FASTEST, ENERGY], ids=["ascii", "binary", "fastest", "energy"]
)
def test_without_errors_it_measures_the_truth_to_the_steps_of_its_format(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    trace = steady(tmp_path, power_w=0.0543, **kind)
    assert trace.mean_w(0.1, 0.9) == pytest.approx(
        0.0543, rel=2e-3 if kind in (BINARY, FASTEST) else 5e-4
    )


@pytest.mark.parametrize(
    ("error", "share"),
    [
        ({"gain": 0.02}, 1.02),
        ({"supply_v_error": 0.01}, 1 / 1.01),
        ({"share": 0.5}, 0.5),
    ],
)
def test_a_true_error_of_the_board_is_seen(
    tmp_path: Path, error: dict[str, float], share: float
) -> None:
    assert steady(tmp_path, true=error).mean_w(0.1, 0.9) == pytest.approx(
        0.033 * share, rel=5e-4
    )


def test_a_fast_clock_takes_more_samples(tmp_path: Path) -> None:
    with recorded(tmp_path, true={"clock_ppm": 10_000.0}) as (context, _):
        draw(context, 0.03, 1000)
        draw(context, 0.06, 100)
    assert np.argmax(
        Trace.open(tmp_path / "trace.jls").power_w(0.0, 1.1)[1] > 0.045
    ) == pytest.approx(1.01 * 5000 * 1.01, abs=2)


def test_every_event_is_an_edge_within_one_sample_also_several_between_two_samples(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = board(context)
    monitor.power(True)
    true_s = []
    with monitor.record(tmp_path):
        began_ns = context.world.now_ns() - 10 * MS
        for pause_ms in (3.33, 0.05, 0.05, 7.7, 190.2, 0.01, 21.03, 1500.0):
            draw(context, 0.03, pause_ms)
            true_s.append((context.world.now_ns() - began_ns) / 1e9)
            draw(context, 0.03, 0.001, level=False)
        draw(context, 0.03, 20)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == len(true_s) and not len(trace.rises_s)
    assert np.abs(trace.falls_s - np.array(true_s)).max() <= 1 / trace.sample_hz
    assert monitor.info.sync == "stamps" and monitor.info.edge_hz == 2500


def test_without_events_and_in_binary_it_says_that_it_sees_no_edges(
    tmp_path: Path,
) -> None:
    for number, kind in enumerate(({"events": False}, BINARY)):
        (tmp_path / str(number)).mkdir()
        context = BenchContext()
        monitor = board(context, **kind)
        with monitor.record(tmp_path / str(number)):
            draw(context, 0.03, 5, level=False)
        monitor.close()
        assert monitor.info.sync == "none" and not len(
            Trace.open(tmp_path / str(number) / "trace.jls").falls_s
        )


def test_more_than_a_hundred_events_are_counted_through(tmp_path: Path) -> None:
    with recorded(tmp_path, true={"clock_ppm": 20.0}) as (context, _):
        for _ in range(210):
            draw(context, 0.03, 1, level=False)
            draw(context, 0.03, 1)
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == 210 and not trace.gaps


def test_the_voltage_is_what_was_set_and_nothing_while_the_supply_is_off(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = board(context, supply_v=1.8)
    for number, on in enumerate((False, True)):
        (tmp_path / str(number)).mkdir()
        monitor.power(on)
        with (
            monitor.record(tmp_path / str(number)),
            pytest.raises(BenchError, match="between recordings"),
        ):
            draw(context, 0.018, 100)
            monitor.power(not on)
        trace = Trace.open(tmp_path / str(number) / "trace.jls")
        assert trace.mean_w(0.02, 0.1) == pytest.approx(0.018 if on else 0.0, rel=1e-3)
    monitor.close()


def test_closing_ends_a_recording_that_is_still_open_and_switches_off(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = board(context)
    monitor.power(True)
    monitor.record(tmp_path).__enter__()
    draw(context, 0.03, 100)
    monitor.close()
    assert (
        Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(0.11, abs=0.001)
        and not context.world.supply_on
    )


def test_in_a_world_of_real_time_everything_up_to_the_end_is_in_the_trace(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns,
        lambda: time.monotonic_ns() - began_ns - 100 * MS,
    )
    monitor = board(context)
    monitor.power(True)
    with monitor.record(tmp_path):
        started_s = time.monotonic()
        time.sleep(0.5)  # the length of the recording
        ended_s = time.monotonic()
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.duration_s >= ended_s - started_s and not trace.gaps


# The line, while it records


@pytest.mark.parametrize(
    "fault",
    [{"lose_byte_at": 5000}, {"flip_byte_at": 5000}, {"insert_byte_at": 5000}],
    ids=["lost", "flipped", "inserted"],
)
def test_a_damaged_ascii_line_is_a_gap_of_one_sample_and_no_sample_moves(
    tmp_path: Path, fault: dict[str, int]
) -> None:
    with recorded(tmp_path, fault) as (context, _):
        draw(context, 0.03, 500)
        draw(context, 0.06, 500, level=False)
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.stop - gap.start, "damaged" in gap.cause) for gap in trace.gaps] == [
        (1, True)
    ]
    assert trace.length == 6000 and trace.falls_s.tolist() == pytest.approx(
        [0.51], abs=2e-4
    )
    power_w = trace.power_w(0.5, 0.52)[1]
    assert np.argmax(power_w > 0.045) == 50


@pytest.mark.parametrize("kind", [BINARY, FASTEST], ids=["10 kHz", "100 kHz"])
@pytest.mark.parametrize(
    "fault",
    [
        {"lose_byte_at": 5003},
        {"flip_byte_at": 5003, "flip_mask": 0xB0},
        {"insert_byte_at": 5003},
    ],
)
def test_a_damaged_binary_stream_is_a_gap_between_two_time_stamps_and_no_sample_moves(
    tmp_path: Path, fault: dict[str, int], kind: dict[str, Any]
) -> None:
    with recorded(tmp_path, fault, **kind) as (context, _):
        draw(context, 0.03, 500)
        draw(context, 0.06, 500)
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(2000, 3000)]
    assert trace.length == {10_000: 11_000, 100_000: 102_000}[kind["sample_hz"]], (
        "up to a time stamp behind 1.01 s"
    )
    power_w = trace.power_w(0.5, 0.52)[1]
    assert np.argmax(power_w > 0.045) == 0.01 * kind["sample_hz"]


def test_a_damaged_ascii_time_stamp_costs_two_samples_and_a_damaged_binary_one_the_samples_about_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    # The second time stamp: after the first, 1000 samples and a NUL, and after 9 bytes
    # and 1000 samples.
    gaps = steady(tmp_path / "a", faults={"lose_byte_at": STAMP_B + 9001 + 5}).gaps
    assert [
        (gap.start, gap.stop, "may have told of an edge" in gap.cause) for gap in gaps
    ] == [(999, 1001, True)]
    gaps = steady(tmp_path / "b", faults={"lose_byte_at": 9 + 2000 + 4}, **BINARY).gaps
    assert [(gap.start, gap.stop) for gap in gaps] == [(0, 2000)]


def test_lines_lost_whole_are_a_gap_of_the_samples_between_two_time_stamps(
    tmp_path: Path,
) -> None:
    trace = steady(
        tmp_path, faults={"lose_byte_at": STAMP_B + 1 + 9 * 100, "lose_bytes": 9 * 30}
    )
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(0, 1000)]


def test_whole_spans_lost_with_their_time_stamps_are_a_gap_as_long_as_they(
    tmp_path: Path,
) -> None:
    # Which of the samples between the time stamps are there is unknown: the gap ends
    # with the next span that is confirmed.
    trace = steady(
        tmp_path,
        3.0,
        faults={"lose_byte_at": STAMP_B + 9001, "lose_bytes": 5 * (STAMP_B + 9001)},
    )
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [
        (0, 7000)
    ] and trace.length == 16_000


def test_a_skipped_event_number_is_a_gap_between_the_events_about_it(
    tmp_path: Path,
) -> None:
    with recorded(tmp_path, {"event_skipped": 2}) as (context, _):
        for _ in range(5):
            draw(context, 0.03, 10, level=False)
            draw(context, 0.03, 10)
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == 4
    assert ["events 1 and 3" in gap.cause for gap in trace.gaps] == [True]
    assert (
        trace.gap_between(0.035, 0.065) is not None
        and trace.gap_between(0.08, 0.1) is None
    )


@pytest.mark.parametrize("kind", [{}, BINARY], ids=["ascii", "binary"])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"overcurrent_at_s": 0.5}, "overcurrent"),
        ({"voltage_drop_at_s": 0.5}, "voltage drop"),
        ({"power_down_at_s": 0.5}, "target power-down"),
        ({"power_off_at_s": 0.5}, "the target's supply is off"),
        ({"ends_at_s": 0.5}, "ended the acquisition by itself"),
        ({"load_rises_at_s": 0.2}, "buffer is full"),
    ],
    ids=["overcurrent", "error", "power-down", "power-off", "end", "load"],
)
def test_what_the_board_reports_against_itself_is_an_error_of_check(
    tmp_path: Path, fault: dict[str, float], words: str, kind: dict[str, Any]
) -> None:
    error = failure_of(tmp_path, faults=fault, **kind)
    assert type(error) is BenchError and words in str(error)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.length > 0.4 * trace.sample_hz
    assert [
        gap.stop for gap in trace.gaps if gap.start < 0.4 * trace.sample_hz
    ] == [], "what came before is kept"
    assert all(
        (gap.stop, gap.cause) == (trace.length, "no time stamp follows")
        for gap in trace.gaps
    )


@pytest.mark.parametrize("kind", [{}, BINARY], ids=["ascii", "binary"])
def test_an_end_whose_last_words_are_lost_is_an_end(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    context = BenchContext()
    monitor = board(context, {"no_completion": True}, **kind)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(context, 0.033, 300)
        trace = Trace.open(tmp_path / name / "trace.jls")
        [gap] = trace.gaps
        assert (
            gap.start >= 0.31 * trace.sample_hz
            and gap.stop == trace.length
            and "did not say" in gap.cause
        )
    monitor.close()


def test_a_board_without_the_command_acqmode_is_dynamic_anyhow() -> None:
    monitor = board(
        BenchContext(), {"error_to": "acqmode", "error_detail": "unknown command"}
    )
    assert "unknown command" in monitor.info.details["acqmode"]
    monitor.close()


def test_a_port_that_disappears_is_a_lost_device_and_closing_does_not_raise(
    tmp_path: Path,
) -> None:
    error = failure_of(tmp_path, faults={"unplugged_at_s": 0.5})
    assert isinstance(error, DeviceLost)
    trace = Trace.open(tmp_path / "trace.jls")
    # Data on the line are lost with it.
    assert trace.length <= 2500 and all(gap.stop == trace.length for gap in trace.gaps)


def test_a_board_that_falls_silent_is_an_error_within_seconds(tmp_path: Path) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    simulator = Lpm01aSimulator(
        Lpm01aSimulatorSettings(faults=Lpm01aFaults(mute_at_s=0.3)), context
    )
    # By its port it is a board like any other: the driver does not know of a
    # simulation.
    monitor = StLpm01a.open(StLpm01a.Settings(port=simulator.port), context)
    assert not monitor.info.simulated
    with (
        pytest.raises(DeadlineError, match="data of the PowerShield"),
        monitor.record(tmp_path) as recording,
    ):
        eventually(recording.check, limit_s=20.0)
    with pytest.raises(BenchError, match="does not switch the DUT's supply off"):
        monitor.close()
    simulator.close()


# The dialogue at the beginning


@pytest.mark.parametrize(
    "stale", ["streaming", "streaming binary", "half line", "summary"]
)
def test_what_an_earlier_run_has_left_is_passed_over(
    tmp_path: Path, stale: str
) -> None:
    trace = steady(tmp_path, faults={"stale": stale})
    assert trace.length == 6000 and not trace.gaps


def test_another_device_is_refused_by_what_it_says() -> None:
    with pytest.raises(RemoteProtocolError, match="JoyShield"):
        board(BenchContext(), {"prompt": "JoyShield > "})


def test_a_port_without_an_answer_is_refused() -> None:
    master, slave = os.openpty()
    try:
        with pytest.raises(
            RemoteProtocolError, match="no PowerShield answers"
        ) as caught:
            StLpm01a.open(StLpm01a.Settings(port=os.ttyname(slave)), BenchContext())
        assert "no PowerShield answers at /dev/pts" in str(caught.value)
    finally:
        os.close(master)
        os.close(slave)


def test_a_refused_command_is_reported_with_the_detail_the_board_gives() -> None:
    with pytest.raises(BenchError, match="refuses 'freq 5k'") as caught:
        board(BenchContext(), {"error_to": "freq", "error_detail": "no crystal"})
    assert "Error detail: no crystal" in str(caught.value)


def test_a_command_without_an_answer_is_an_error_that_names_it() -> None:
    with pytest.raises(DeadlineError, match="'trigsrc sw'"):
        board(BenchContext(), {"no_answer_to": "trigsrc"})


@pytest.mark.parametrize(
    ("firmware", "kind", "words"),
    [("1.0.5", {}, "eventsrc"), ("1.0.1", {"events": False}, "pwr")],
)
def test_firmware_that_is_too_old_is_refused(
    firmware: str, kind: dict[str, Any], words: str
) -> None:
    with pytest.raises(BenchError, match="too old") as caught:
        board(BenchContext(), true={"firmware": firmware}, **kind)
    assert words in str(caught.value) and firmware in str(caught.value)


def test_old_firmware_will_do_without_events() -> None:
    monitor = board(BenchContext(), true={"firmware": "1.0.2"}, events=False)
    assert monitor.info.details["firmware"] == "1.0.2"
    monitor.close()


def test_a_supply_that_is_not_what_was_set_is_refused() -> None:
    with pytest.raises(BenchError, match=r"not the 3\.3 V"):
        board(BenchContext(), true={"supply_v_error": 0.05})


def test_a_port_that_another_rig_holds_is_busy_and_one_that_is_not_there_not_found():
    context = BenchContext()
    simulator = Lpm01aSimulator(Lpm01aSimulatorSettings(), context)
    monitor = StLpm01a.open(StLpm01a.Settings(port=simulator.port), context)
    with pytest.raises(DeviceBusy):
        StLpm01a.open(StLpm01a.Settings(port=simulator.port), context)
    monitor.close()
    simulator.close()
    with pytest.raises(DeviceNotFound):
        StLpm01a.open(StLpm01a.Settings(port="/dev/ttyACM99"), context)
    with pytest.raises(ConfigError, match=r"monitor\.st_lpm01a\.port"):
        StLpm01a.open(StLpm01a.Settings(port="nothing://here"), context)


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"sample_hz": 3000}, "sample_hz"),
        ({"sample_hz": 10_000}, "sample_hz"),
        ({"output": "energy", "sample_hz": 2000}, "output"),
        ({"output": "energy", "format": "bin_hexa", "sample_hz": 100}, "output"),
        ({"supply_v": 1.7}, "supply_v"),
        ({"supply_v": 3.4}, "supply_v"),
        ({"start_s": 0.0}, "start_s"),
        ({"port": ""}, "port"),
    ],
)
def test_what_the_board_cannot_do_is_refused_before_anything_is_opened(
    wrong: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError, match=rf"monitor\.st_lpm01a\.{key}"):
        settings = StLpm01a.Settings(**({"port": "/dev/null"} | wrong))
        StLpm01a.open(checked(settings, "monitor.st_lpm01a"), BenchContext())


def test_a_scan_names_ports_of_its_kind_and_says_which_may_not_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ports = []
    for device, product in (
        (str(tmp_path), 0x5740),
        ("/dev/ttyACM98", 0x5740),
        ("/dev/ttyACM97", 0x374B),
    ):
        port = ListPortInfo(device)
        port.vid = 0x0483
        port.pid = product
        port.serial_number = "0123"
        ports.append(port)
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    result = StLpm01a.scan()
    assert [(item.setting, item.serial, bool(item.problem)) for item in result] == [
        (f'port = "{tmp_path}"', "0123", False),
        ('port = "/dev/ttyACM98"', "0123", True),
    ]
    assert all("not checked" in item.name for item in result)


def test_a_board_in_a_process_of_its_own_tells_when_its_supply_goes_on_and_off(
    tmp_path: Path,
) -> None:
    code = (
        "import sys; from benchmarks.simulated_lpm01a import serve; serve(sys.stdout)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=uncounted(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().split()[1]
        monitor = StLpm01a.open(
            StLpm01a.Settings(port=port, baud=921_600), BenchContext()
        )
        monitor.power(True)
        with monitor.record(tmp_path):
            time.sleep(0.3)  # the length of the recording
        monitor.close()
        assert [process.stdout.readline() for _ in range(2)] == [
            "supply on\n",
            "supply off\n",
        ]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.05, 0.25) == pytest.approx(0.033, rel=1e-3)


# The simulated board's shell


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("htc", "\r\nPowerShield > ack htc\r\n\r\n"),
        ("echo ABC", "\r\nPowerShield > echo ABC\r\n"),
        ("volt 2-3", "Error detail: value out of range"),
        ("volt 2500m", "\r\nPowerShield > ack volt 2500m\r\n\r\n"),
        ("volt 25+2", "Error detail: value out of range"),
        ("volt 2.5", "Error detail: wrong numerical value"),
        ("freq 10k", "\r\nPowerShield > ack freq 10k\r\n\r\n"),
        ("freq 1+3", "\r\nPowerShield > ack freq 1+3\r\n\r\n"),
        ("freq 3k", "PowerShield > error freq 3k\r\nError detail: value not among"),
        ("acqtime 5s", "Error detail: wrong numerical value"),
        ("acqtime inf", "\r\nPowerShield > ack acqtime inf\r\n\r\n"),
        ("status", "\r\nPowerShield > ack status ok\r\n\r\n"),
        ("nonsense", "Error detail: unknown command"),
    ],
)
def test_the_simulated_shell_frames_its_answers_as_boards_do(
    line: str, answer: str
) -> None:
    import serial

    simulator = Lpm01aSimulator(Lpm01aSimulatorSettings(), BenchContext())
    with serial.Serial(simulator.port, 3_686_400, timeout=0.2) as port:
        port.write(b"freq 1k\r\n")
        assert b"error freq 1k\r\nError detail: command available only" in port.read(
            400
        ), "not before htc"
        port.write(b"htc\r\n")
        port.read(400)
        port.write(line.encode() + b"\r\n")
        assert answer in port.read(400).decode()
    simulator.close()


# The parsers, alone

HZ = 5000
COUNT = 2350
CONFIRMED = 2000
EVENTS = (3, 3, 700, 999, 1000, 1500, 1999, 2349)
TRUTH = {
    AsciiParser: (1000 + np.arange(COUNT)) * 1e-7,
    BinaryParser: 0.02 + np.arange(COUNT) / 16**4,
}
SUMMARY = (
    b"\r\nsummary beg\r\n1000-07\r\n3000-07\r\nsummary end\r\n\r\nPowerShield > "
    b"Acquisition completed\r\n"
)


def ascii_stream(spelling: bytes = b"TimeStamp: ") -> bytes:
    rows = decimal(TRUTH[AsciiParser])
    parts = []
    for at in range(COUNT):
        if at % 1000 == 0:
            parts.append(
                b"\r\n%s%03ds %03dms, buff 00%%\r\n"
                % (spelling, *divmod(at * 1000 // HZ, 1000))
            )
        parts += [
            b"event %02d ris\r\n" % number
            for number, position in enumerate(EVENTS)
            if position == at
        ]
        parts.append((b"\0" if at % 1000 == 0 else b"") + rows[at].tobytes())
    return b"".join(parts) + b"\r\nend\r\n" + SUMMARY


def binary_stream() -> bytes:
    words = hexadecimal(TRUTH[BinaryParser])
    parts = []
    for at in range(0, COUNT, 1000):
        parts += [
            b"\xf0\xf3" + (at * 1000 // HZ).to_bytes(4) + b"\0\xff\xff",
            words[2 * at : 2 * at + 2000],
        ]
    return b"\r\n" + b"".join(parts) + b"\xf0\xf4\xff\xff" + SUMMARY


STREAMS = {AsciiParser: ascii_stream(), BinaryParser: binary_stream()}
KINDS = st.sampled_from([AsciiParser, BinaryParser])


def parsed(
    kind: type[AsciiParser | BinaryParser], blocks: Sequence[bytes]
) -> list[Item]:
    parser = kind(HZ, 1.0)
    return list(chain.from_iterable(map(parser.feed, blocks)))


def numbered(items: Sequence[Item]) -> dict[int, float]:
    """Return each sample by its number; lost samples have none."""
    at = 0
    result = {}
    for item in items:
        if isinstance(item, SampleBlock):
            result |= {
                at + position: float(value)
                for position, value in enumerate(item.values)
            }
            at += len(item.values)
        elif isinstance(item, Lost):
            at += item.samples
    return result


@pytest.mark.parametrize("kind", [AsciiParser, BinaryParser])
def test_a_whole_stream_gives_every_sample_every_edge_and_its_end(
    kind: type[AsciiParser | BinaryParser],
) -> None:
    items = parsed(kind, [STREAMS[kind]])
    result = numbered(items)
    assert list(result) == list(range(CONFIRMED)), "the summary holds no samples"
    assert np.array(list(result.values())) == pytest.approx(
        TRUTH[kind][:CONFIRMED], rel=2e-3
    )
    assert [item.at for item in items if isinstance(item, StreamEdge)] == list(
        EVENTS[:-1] if kind is AsciiParser else ()
    )
    assert [item.time_ms for item in items if isinstance(item, TimeStamp)] == [
        0,
        200,
        400,
    ]
    assert items[-2:] == [AcquisitionEnd(), Completed()]


@pytest.mark.parametrize(
    "spelling", [b"Timestamp: ", b"TimeStamp:<", b"TimeStamp:>", b"Timestamp "]
)
def test_every_spelling_of_a_time_stamp_is_known(spelling: bytes) -> None:
    assert len(numbered(parsed(AsciiParser, [ascii_stream(spelling)]))) == CONFIRMED


@settings(max_examples=60, deadline=None)
@given(KINDS, st.lists(st.integers(1, 25_000), max_size=20))
def test_how_a_stream_is_cut_into_blocks_has_no_effect(
    kind: type[AsciiParser | BinaryParser], cuts: list[int]
) -> None:
    stream = STREAMS[kind]
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    whole = parsed(kind, [stream])
    cut = parsed(kind, [stream[start:stop] for start, stop in pairwise(places)])
    assert numbered(cut) == numbered(whole)
    assert [item for item in cut if not isinstance(item, SampleBlock)] == [
        item for item in whole if not isinstance(item, SampleBlock)
    ]


@cache
def undamaged(kind: type[AsciiParser | BinaryParser]) -> dict[int, float]:
    return numbered(parsed(kind, [STREAMS[kind]]))


@settings(max_examples=length(300, 60), deadline=None)
@given(
    KINDS,
    st.floats(0, 1, exclude_max=True),
    st.sampled_from(["lost", "flipped", "inserted"]),
    st.integers(0, 255),
)
def test_one_damaged_byte_never_moves_a_sample_or_an_edge(
    kind: type[AsciiParser | BinaryParser], place: float, damage: str, byte: int
) -> None:
    at = int(place * len(STREAMS[kind]))
    stream = bytearray(STREAMS[kind])
    if damage == "lost":
        del stream[at]
    elif damage == "flipped":
        stream[at] ^= 1 << byte % 8
    else:
        stream.insert(at, byte)
    parser = kind(HZ, 1.0)
    items = []
    try:
        items = [*parser.feed(bytes(stream)), *parser.finish()]
        failed = False
    except RigError:
        failed = True
    result = numbered(items)
    clean = undamaged(kind)
    wrong = [number for number, value in result.items() if clean.get(number) != value]
    # There is no checksum: a changed digit is another number, at its own place.
    assert len(wrong) <= (1 if damage == "flipped" else 0)
    missing = set(clean) - set(result)
    reported = failed or any(
        isinstance(item, Lost)
        or (isinstance(item, Tail) and item.samples > COUNT - CONFIRMED)
        for item in items
    )
    assert not missing or reported
    edges = [item.at for item in items if isinstance(item, StreamEdge)]
    assert set(edges) <= set(EVENTS)
    lost_edge = kind is AsciiParser and len(edges) < len(EVENTS) - 1
    assert not lost_edge or reported or any(isinstance(item, Suspect) for item in items)


def test_binary_metadata_are_taken_by_length_and_at_even_places_only() -> None:
    stamp = b"\xf0\xf3" + (0).to_bytes(4) + b"\x05\xff\xff"
    every = (
        b"\xf0\xf1voltage"
        b" drop\r\n\xff\xff\xf0\xf2hello\r\n\xff\xff\xf0\xf5\xff\xff\xf0\xf6\xff\xff"
        b"\xf0\xf7\x0c\xe4\xff\xff\xf0\xf8\xff\xfd\xff\xff\xf0\xf9\x01\xff\xff\xf0\xf9\x00\xff\xff"
    )
    # 0x52F0 before F0 F9 holds "F0 F0", and a temperature of -3 "FF FD FF FF".
    rest = b"\x31\x45" * 998 + b"\xf0\xf3" + (200).to_bytes(4) + b"\x05\xff\xff"
    items = parsed(
        BinaryParser,
        [stamp + b"\x52\xa0\x52\xf0" + every + rest + b"\xf0\xf4\xff\xff" + SUMMARY],
    )
    troubles = [
        "voltage drop",
        "overcurrent",
        "target power-down",
        "the target's supply is off",
    ]
    assert [item.text for item in items if isinstance(item, Trouble)] == troubles
    assert next(item for item in items if isinstance(item, StreamNote)) == StreamNote(
        "hello"
    )
    assert list(numbered(items).values()) == pytest.approx(
        [640.87e-6, 0x2F0 / 16**5, *[79.35e-3] * 998], rel=1e-4
    )


def test_a_time_stamp_that_holds_its_own_end_is_whole() -> None:
    # 65 535 ms is 00 00 FF FF; at 1000 samples in 21 845 ms the third time stamp shows
    # it.
    parser = BinaryParser(1, 1.0)
    parser._clock.sample_hz = 1000 * 1000 / 21_845  # type: ignore[assignment]
    stream = b"".join(
        b"\xf0\xf3" + (k * 21_845).to_bytes(4) + b"\0\xff\xff" + b"\x52\xa0" * 1000
        for k in range(4)
    )
    items = parser.feed(stream + b"\xf0\xf4\xff\xff")
    assert (
        len(numbered(items)) == 3000
        and [item.time_ms for item in items if isinstance(item, TimeStamp)][3] == 65_535
    )


def test_seconds_beyond_three_digits_are_followed_however_the_board_writes_them():
    rows = decimal(np.full(1000, 1e-3)).tobytes()
    for seconds in ((0, 500, 1000, 1500, 2000), (0, 500, 0, 500, 0)):
        parts = [
            b"\r\nTimeStamp: %03ds 000ms, buff 00%%\r\n" % second + rows
            for second in seconds
        ]
        parser = AsciiParser(2, 1.0)
        result = numbered(list(chain.from_iterable(map(parser.feed, parts))))
        assert len(result) == 4000


def test_messages_in_an_ascii_stream_are_distinguished_from_samples() -> None:
    parser = AsciiParser(HZ, 1.0)
    items = parser.feed(
        b"\r\nTimeStamp: 000s 000ms, buff 00%\r\n\0\x36409-07\r\n\r\npwr"
        b" on\r\nPowerShield > ack targrst 100m\r\n\r\n6410-07\r\n\r\nerror"
        b" overcurrent\r\nPowerShield > error targrst\r\nError detail: no\r\n\r\npwr"
        b" off\r\n"
        + b"6411-07\r\n" * 998
        + b"\r\nTimeStamp: 000s 200ms, buff 00%\r\n\r\nend\r\n"
    )
    assert list(numbered(items).values()) == pytest.approx(
        [640.9e-6, 641.0e-6, *[641.1e-6] * 998]
    )
    assert [item.text for item in items if isinstance(item, Trouble)] == [
        "overcurrent",
        "error targrst",
        "the target's supply is off",
    ]
    assert not [item for item in items if isinstance(item, (Lost, Suspect))]


@pytest.mark.parametrize(
    "times_ms", [(0, 203, 407), (0, 200, 200, 200), (0, 600, 200, 900)]
)
def test_time_stamps_that_contradict_the_samples_are_an_error(
    times_ms: Sequence[int],
) -> None:
    rows = decimal(np.full(1000, 1e-3)).tobytes()
    words = hexadecimal(np.full(1000, 1e-3))
    for parser in (AsciiParser(HZ, 1.0), BinaryParser(HZ, 1.0)):
        with pytest.raises(RemoteProtocolError, match=r"contradict|no good time stamp"):
            for time_ms in times_ms:
                if isinstance(parser, AsciiParser):
                    parser.feed(
                        b"\r\nTimeStamp: 000s %03dms, buff 00%%\r\n" % time_ms + rows
                    )
                else:
                    parser.feed(
                        b"\xf0\xf3" + time_ms.to_bytes(4) + b"\0\xff\xff" + words
                    )


def test_a_stream_of_something_else_is_an_error_before_long() -> None:
    for parser in (AsciiParser(HZ, 1.0), BinaryParser(HZ, 1.0)):
        with pytest.raises(RemoteProtocolError):
            for _ in range(100):
                parser.feed(bytes(range(256)) * 4)


@pytest.mark.parametrize("spelling", ["Timestamp: ", "TimeStamp:<"])
def test_the_highest_load_of_the_buffer_is_kept_beside_the_trace(
    tmp_path: Path, spelling: str
) -> None:
    with recorded(tmp_path, {"load_rises_at_s": 0.1}, {"stamp": spelling}) as (
        context,
        recording,
    ):
        draw(context, 0.03, 300)
    assert json.loads((tmp_path / SAID).read_text()) == {
        "buffer_load_most_percent": 60,
        "end_told": True,
    }
    assert recording.load_percent == 60 and not Trace.open(tmp_path / "trace.jls").gaps
