# SPDX-License-Identifier: Apache-2.0
"""The PPK2: its measurements are true within a code of its converter in each range, and
faults are named.
"""

from __future__ import annotations

import errno
import json
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from drivers.nordic_ppk2.accuracy import promised
from drivers.nordic_ppk2.driver import NordicPpk2
from drivers.nordic_ppk2.link import Ppk2Link
from drivers.nordic_ppk2.sim.converter import CONSTANTS
from drivers.nordic_ppk2.sim.settings import Ppk2Faults, Ppk2SimulatorSettings
from drivers.nordic_ppk2.sim.simulator import Ppk2Simulator
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    RigError,
    StorageFull,
)
from rig.files import typed
from rig.interfaces.context import BenchContext
from rig.model.wiring import WireName
from rig.settings.check import checked
from rig.trace.trace import SAID, Trace, reading
from rig.trace.writer import TraceWriter
from rig.uncertainty.calibration import Correction, InstrumentCalibration
from tests.waiting import eventually

MS = 1_000_000
SUPPLY_V = 3.3
#: A code in amperes, by range: of the unit that is simulated.
STEPS_A = [4 * 1.8 / 163_840 / ohm for ohm in CONSTANTS["R"]]
PORT = "simulator"


def monitor(
    context: BenchContext, faults: dict[str, Any] | None = None, **chosen: Any
) -> NordicPpk2:
    """Open one; settings of its simulator have its names."""
    names = Ppk2SimulatorSettings.__slots__
    true = {key: chosen.pop(key) for key in [*chosen] if key in names and key != "sync"}
    simulator = Ppk2SimulatorSettings(
        **{"clock_ppm": 0.0, **true},
        sync=chosen.get("sync", 0),
        faults=Ppk2Faults(**(faults or {})),
    )
    return NordicPpk2.open(
        NordicPpk2.Settings(port=PORT, simulator=simulator, **chosen), context
    )


def draw(context: BenchContext, power_w: float, duration_ms: float) -> None:
    context.world.put(context.world.now_ns(), True, power_w)
    context.world.advance(round(duration_ms * MS))


def recorded(opened: NordicPpk2, folder: Path, *powers_w: float) -> Trace:
    """Record 50 ms of each power, one after the other."""
    context = opened._context
    with opened.record(folder):
        for power_w in powers_w:
            draw(context, power_w, 50)
    return Trace.open(folder / "trace.jls")


def said(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / SAID).read_text())
    return content


@contextmanager
def attached(**settings: Any) -> Iterator[tuple[Ppk2Simulator, BenchContext]]:
    """Simulate one that the driver takes for a real one, in a world of real time with
    a DUT that draws 33 mW."""
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    context.world.put(0, True, 0.033)
    simulator = Ppk2Simulator(Ppk2SimulatorSettings(**settings), context)
    try:
        yield simulator, context
    finally:
        simulator.close()


# --- Currents


@pytest.mark.parametrize(
    ("current_a", "number"),
    [(0.0, 0), (3e-6, 0), (44e-6, 0), (123e-6, 1), (2e-3, 2), (33e-3, 3), (0.7, 4)],
)
@pytest.mark.parametrize("mode", ["source", "ampere"])
def test_a_current_is_shown_within_half_a_code_of_its_range(
    tmp_path: Path, current_a: float, number: int, mode: str
) -> None:
    opened = monitor(BenchContext(), mode=mode, supply_v=2.1)
    opened.power(True)
    trace = recorded(opened, tmp_path, current_a * 2.1)
    opened.close()
    shown_a = trace.mean_w(0.02, 0.04) / 2.1
    tolerance_a = 0.55 * STEPS_A[number]
    if not current_a:
        # Its codes end there: of no current it shows up to 2 uA.
        tolerance_a = 2e-6
    assert shown_a == pytest.approx(current_a, abs=tolerance_a)
    assert said(tmp_path)["samples_by_range"][number] > 3000


def test_factors_of_a_calibration_apply_to_their_range_alone(tmp_path: Path) -> None:
    limits = promised()
    rows = [
        Correction(row.up_to, 1 / 1.04 if row.up_to == 4e-3 else 1.0)
        for row in limits.current
    ]
    calibrated = replace(
        limits, calibration=InstrumentCalibration(correction=tuple(rows))
    )
    file = tmp_path / "c.toml"
    file.write_text(tomli_w.dumps(typed.to_json(calibrated)))
    context = BenchContext()
    opened = monitor(context, gain=0.04, calibration=str(file))
    opened.power(True)
    trace = recorded(opened, tmp_path, 2e-3 * SUPPLY_V, 20e-3 * SUPPLY_V)
    opened.close()
    shown_a = [trace.mean_w(at_s, at_s + 0.02) / SUPPLY_V for at_s in (0.03, 0.08)]
    assert shown_a == pytest.approx([2e-3, 20.8e-3], rel=2e-3)


@pytest.mark.parametrize(
    ("key", "value"), [("supply_v", 5.5), ("supply_v", 0.7), ("sync", 8), ("sync", -1)]
)
def test_settings_that_it_does_not_have_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        checked(
            NordicPpk2.Settings(**{"port": PORT, key: value}), "monitor.nordic_ppk2"
        )


def test_a_gain_of_a_user_that_it_holds_is_applied_and_told(tmp_path: Path) -> None:
    opened = monitor(BenchContext(), user_gain=1.1)
    opened.power(True)
    trace = recorded(opened, tmp_path, 10e-3 * SUPPLY_V)
    notes = opened.info.details["notes"]
    opened.close()
    assert trace.mean_w(0.02, 0.04) / SUPPLY_V == pytest.approx(10e-3, rel=4e-3)
    assert any("gains that a user chose" in note for note in notes)


# --- Ranges


def test_a_range_is_left_downward_later_and_the_switches_are_counted(
    tmp_path: Path,
) -> None:
    opened = monitor(BenchContext(), spike=0.5)
    opened.power(True)
    powers_w = [current_a * SUPPLY_V for current_a in (30e-3, 60e-3, 45e-3, 30e-3)]
    trace = recorded(opened, tmp_path, *powers_w)
    opened.close()
    about = said(tmp_path)
    # Up at 60 mA, down at less than 40 mA, and from the lowest range at the beginning.
    assert about["range_switches"] == 3
    assert about["samples_after_switches"] == 9
    samples = about["samples_by_range"]
    assert samples[3] == pytest.approx(10_000, abs=1500)
    assert samples[4] == pytest.approx(10_000, abs=20)
    # At 45 mA in the highest range, as limits are stated; at 30 mA none is left there.
    assert about["samples_above_their_limits"] == 0
    # The spike is in the trace as it came.
    with reading(trace.path) as reader:
        at, _ = trace.samples(reader, 0, trace.length)
    steps = np.flatnonzero(np.diff(at) > 20e-3)
    assert at[steps[-1] + 1] == pytest.approx(90e-3, rel=0.05)
    share = about["charge_after_switches_c"] / about["charge_c"]
    assert 0 < share < 1e-3


def test_samples_in_a_higher_range_than_limits_are_stated_for_are_counted(
    tmp_path: Path,
) -> None:
    opened = monitor(BenchContext(), down=0.5)
    opened.power(True)
    recorded(opened, tmp_path, 60e-3 * SUPPLY_V, 30e-3 * SUPPLY_V)
    opened.close()
    assert said(tmp_path)["samples_above_their_limits"] == pytest.approx(5000, abs=10)


def test_limits_that_are_not_by_range_leave_that_count_unknown(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(
        'source = "one row"\nclock_ppm = 100.0\n[[current]]\nup_to = 1.0\ngain = 0.01\n'
        "offset = 1e-6\n[[voltage]]\nup_to = 5.0\ngain = 0.0\noffset = 0.01\n"
    )
    opened = monitor(BenchContext(), down=0.5, calibration=str(limits))
    opened.power(True)
    recorded(opened, tmp_path, 60e-3 * SUPPLY_V, 30e-3 * SUPPLY_V)
    opened.close()
    assert said(tmp_path)["samples_above_their_limits"] is None


def test_a_damaged_range_is_no_switch_and_above_no_limit(tmp_path: Path) -> None:
    opened = monitor(BenchContext(), {"no_range_at": 2500})
    opened.power(True)
    recorded(opened, tmp_path, 20e-3 * SUPPLY_V)
    opened.close()
    about = said(tmp_path)
    assert about["samples_by_range"][3] > 4900
    # The only switch is that from the lowest range at the beginning.
    assert about["range_switches"] == 1
    assert about["samples_above_their_limits"] == 0


def test_a_disk_that_is_full_ends_the_recording_and_holds_up_no_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = monitor(BenchContext())
    opened.power(True)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    began_s = time.monotonic()
    with pytest.raises(StorageFull), opened.record(tmp_path) as recording:
        monkeypatch.setattr(TraceWriter, "analog", full)
        for _ in range(4):
            draw(opened._context, 0.01, 1000)
        recording.check()
    opened.close()
    assert time.monotonic() - began_s < 30
    assert not opened._context.world.supply_on


# --- The logic port


@pytest.mark.parametrize("line", [0, 7])
def test_sync_is_seen_at_its_line_and_the_lines_that_changed_are_told(
    tmp_path: Path, line: int
) -> None:
    context = BenchContext()
    opened = monitor(context, sync=line)
    opened.power(True)
    with opened.record(tmp_path):
        for _ in range(4):
            context.world.put(context.world.now_ns(), False, 0.01)
            context.world.advance(50_000)
            draw(context, 0.01, 7.003)
    opened.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == 4
    assert np.diff(trace.falls_s) == pytest.approx([7.053e-3] * 3, abs=10.1e-6)
    assert said(tmp_path)["lines_that_changed"] == f"D{line}"


@pytest.mark.parametrize("level", ["low", "high"])
def test_a_logic_port_without_its_supply_shows_no_line_that_changed(
    tmp_path: Path, level: str
) -> None:
    context = BenchContext()
    opened = monitor(context, {"logic_stuck": level})
    opened.power(True)
    with opened.record(tmp_path):
        context.world.put(context.world.now_ns(), False, 0.01)
        draw(context, 0.01, 7)
    opened.close()
    assert len(Trace.open(tmp_path / "trace.jls").falls_s) == 0
    assert said(tmp_path)["lines_that_changed"] == "none"


def test_its_wires_have_the_supply_of_the_logic_port() -> None:
    settings = NordicPpk2.Settings(port=PORT, mode="ampere", sync=3)
    found = {(wire.name, wire.end.name) for wire in NordicPpk2.wires(settings)}
    assert (WireName.LEVEL, "logic port VCC") in found
    assert (WireName.SYNC, "logic port D3") in found
    assert (WireName.SUPPLY, "VIN") in found


# --- Samples against the clock


@pytest.mark.parametrize(("lost", "is_seen"), [(31 * 64, False), (100 * 64, True)])
def test_in_virtual_time_a_multiple_of_64_is_seen_from_20_ms_on(
    tmp_path: Path, lost: int, is_seen: bool
) -> None:
    opened = monitor(BenchContext(), {"lose_at": 12_800, "lose_samples": lost})
    opened.power(True)
    trace = recorded(opened, tmp_path, *[0.01] * 6)
    opened.close()
    assert bool(trace.gaps) == is_seen
    if is_seen:
        [gap] = trace.gaps
        assert (gap.start, gap.stop) == (0, trace.length)
        assert "about 64 ms of samples are missing" in gap.cause


@pytest.mark.paced
def test_by_the_clock_of_a_real_host_a_loss_is_a_gap_about_its_place(
    tmp_path: Path,
) -> None:
    faults = Ppk2Faults(lose_at=134_400, lose_samples=12_800)
    with attached(faults=faults) as (simulator, _):
        opened = NordicPpk2.open(
            NordicPpk2.Settings(port=simulator.port), BenchContext()
        )
        opened.power(True)
        assert not opened.info.simulated
        with opened.record(tmp_path):
            time.sleep(2.6)  # of a recording in real time
        opened.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert any(gap.start <= 134_400 < gap.stop for gap in trace.gaps), trace.gaps
    assert all(
        "by the host's clock" in gap.cause or "fell behind" in gap.cause
        for gap in trace.gaps
    )


def test_one_that_falls_silent_is_an_error_within_seconds(tmp_path: Path) -> None:
    with attached(faults=Ppk2Faults(mute_at_s=0.3)) as (simulator, _):
        opened = NordicPpk2.open(
            NordicPpk2.Settings(port=simulator.port), BenchContext()
        )
        began_s = time.monotonic()

        def fails() -> bool:
            try:
                recording.check()
            except DeadlineError as error:
                return "samples of the PPK2" in error.cause
            return False

        with pytest.raises(DeadlineError), opened.record(tmp_path) as recording:
            eventually(fails, 20)
            recording.check()
        with pytest.raises(BenchError, match="may not have switched"):
            opened.close()
        assert time.monotonic() - began_s < 20
    # The board counts from its own start, before the first sample that is recorded.
    assert 0 < Trace.open(tmp_path / "trace.jls").duration_s <= 0.31


# --- The port


def test_a_port_that_another_rig_has_is_named() -> None:
    with attached() as (simulator, context):
        settings = NordicPpk2.Settings(port=simulator.port)
        first = NordicPpk2.open(settings, BenchContext())
        first.power(True)
        with pytest.raises(DeviceBusy, match="in use"):
            NordicPpk2.open(settings, BenchContext())
        assert context.world.supply_on, "the other's supply stays as it is"
        first.close()
        assert not context.world.supply_on


def test_a_cable_that_is_out_ends_the_recording_and_is_named(tmp_path: Path) -> None:
    opened = monitor(BenchContext(), {"unplugged_at_s": 0.07})
    opened.power(True)
    with pytest.raises(DeviceLost, match="is gone"):
        recorded(opened, tmp_path, *[0.01] * 4)
    opened.close()
    assert Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(
        0.07, abs=2e-3
    )


def test_the_supply_is_not_switched_during_a_recording(tmp_path: Path) -> None:
    context = BenchContext()
    opened = monitor(context)
    with opened.record(tmp_path), pytest.raises(BenchError, match="between recordings"):
        opened.power(True)
    opened.close()


@pytest.mark.parametrize("cut_b", [3, 500])
def test_metadata_that_is_cut_off_is_named_and_the_port_is_free_again(
    cut_b: int,
) -> None:
    with attached(faults=Ppk2Faults(metadata_cut_b=cut_b)) as (simulator, context):
        settings = NordicPpk2.Settings(port=simulator.port)
        with pytest.raises(RigError, match=r"cut off|no PPK2 answers") as caught:
            NordicPpk2.open(settings, BenchContext())
        assert caught.value.try_next
        Ppk2Link.open(simulator.port).close()
        assert not context.world.supply_on


def test_constants_without_a_number_make_samples_of_their_range_a_gap(
    tmp_path: Path,
) -> None:
    opened = monitor(BenchContext(), {"not_numbers": ("O2",)})
    opened.power(True)
    trace = recorded(opened, tmp_path, 20e-3 * SUPPLY_V, 2e-3 * SUPPLY_V)
    notes = opened.info.details["notes"]
    opened.close()
    assert any("ranges 2 are no numbers" in note for note in notes)
    assert {gap.cause for gap in trace.gaps} == {"in range 2, whose O is not known"}
    assert trace.mean_w(0.03, 0.04) / SUPPLY_V == pytest.approx(20e-3, rel=3e-3)


def port(device: str, number: str) -> ListPortInfo:
    found = ListPortInfo(device)
    found.vid, found.pid = 0x1915, 0xC00A
    found.serial_number = number
    return found


def test_a_scan_takes_the_port_that_answers_and_not_the_shell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = Ppk2Faults(is_shell=True)
    with attached(faults=shell) as (silent, _), attached() as (speaks, _):
        ports = [port(silent.port, "C0FFEE"), port(speaks.port, "C0FFEE")]
        monkeypatch.setattr(list_ports, "comports", lambda: ports)
        [found] = NordicPpk2.scan()
        assert (found.name, found.serial, found.problem) == (
            "Nordic PPK2",
            "C0FFEE",
            "",
        )
        setting = tomllib.loads(found.setting)
        assert setting == {"port": speaks.port} and silent.port in found.setting
        with pytest.raises(RigError) as caught:
            NordicPpk2.open(NordicPpk2.Settings(port=silent.port), BenchContext())
        assert speaks.port in caught.value.try_next
        monkeypatch.setattr(list_ports, "comports", lambda: ports[:1])
        [found] = NordicPpk2.scan()
        assert "no PPK2 answers" in found.problem and found.try_next


# --- Its limits of error


def test_the_limits_of_error_are_those_that_nordic_states() -> None:
    context = BenchContext()
    opened = monitor(context)
    limits = opened.info.accuracy
    opened.close()
    assert [row.gain for row in limits.current] == [0.1, 0.1, 0.1, 0.1, 0.15]
    assert limits.current[-1].up_to == 1.0 and not limits.verified
    assert "typical" in limits.source
