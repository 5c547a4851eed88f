# SPDX-License-Identifier: Apache-2.0
"""Rails of an INA3221: volts times amperes of a folder of text files, the sum of rails,
limits of error that state its steps and assumptions, and every way to fail.
"""

from __future__ import annotations

import errno
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from drivers.host_counters import ina3221_rails
from drivers.host_counters.ina3221 import Ina3221, RailSum
from drivers.host_counters.sim.ina3221 import FAULTS, Ina3221Simulator
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin
from rig.settings.check import checked
from rig.trace.trace import Trace

MS = 1_000_000
SIMULATED = Ina3221.Settings(root="simulator")
#: Two chips as the kernel's driver shows them: (device, channel) -> label, millivolts,
#: milliamperes, microohms.
CHIPS = {
    ("1-0040", 1): ("VDD_IN", 5032, 1408, 5000),
    ("1-0040", 2): ("VDD_CPU_GPU_CV", 5024, 296, 5000),
    ("1-0040", 3): ("NC", 0, 0, 5000),
    ("1-0041", 1): ("CVB", 19_000, 240, 2000),
}


def hwmon(folder: Path) -> Path:
    """Write the tree of Linux's own driver."""
    for (device, number), (label, millivolts, milliamperes, shunt) in CHIPS.items():
        files = folder / device / "hwmon" / f"hwmon{device[-1]}"
        files.mkdir(parents=True, exist_ok=True)
        (folder / device / "name").write_text("ina3221\n")
        for name, shown in (
            (f"in{number}_label", label),
            (f"in{number}_input", millivolts),
            (f"in{number}_enable", 1),
            (f"curr{number}_input", milliamperes),
            (f"shunt{number}_resistor", shunt),
            ("in7_label", "sum of shunt voltages"),
            ("in7_input", 99_999),
            ("update_interval", 7),
        ):
            (files / name).write_text(f"{shown}\n")
    (folder / "2-0050").mkdir()
    (folder / "2-0050" / "name").write_text("24c02\n")
    return folder


def iio(folder: Path) -> Path:
    """Write the tree of NVIDIA's driver in JetPack 4."""
    files = folder / "6-0040" / "iio:device0"
    files.mkdir(parents=True)
    (folder / "6-0040" / "name").write_text("ina3221x\n")
    rows = (("POM_5V_IN", 5080, 2875), ("POM_5V_GPU", 5064, 40))
    for number, (label, millivolts, milliwatts) in enumerate(rows):
        (files / f"rail_name_{number}").write_text(f"{label}\n")
        (files / f"in_voltage{number}_input").write_text(f"{millivolts}\n")
        (files / f"in_power{number}_input").write_text(f"{milliwatts}\n")
    return folder


def opened(folder: Path, *labels: str, **changes: object) -> Ina3221:
    settings = Ina3221.Settings(root=str(folder), rails=labels)
    return Ina3221.open(replace(settings, **changes), BenchContext())  # type: ignore[arg-type]


def microwatts(folder: Path, *labels: str) -> int:
    return RailSum(ina3221_rails.chosen(ina3221_rails.rails(folder), labels)).count()


def test_power_is_the_product_and_rails_add_up(tmp_path: Path) -> None:
    folder = hwmon(tmp_path)
    assert microwatts(folder, "VDD_IN") == 7_085_056
    assert microwatts(folder, "VDD_CPU_GPU_CV", "CVB") == 1_487_104 + 4_560_000


def test_the_older_tree_has_powers(tmp_path: Path) -> None:
    folder = iio(tmp_path)
    assert microwatts(folder, "POM_5V_IN", "POM_5V_GPU") == 2_915_000
    info = opened(folder, "POM_5V_IN").info
    assert info.name == "INA3221 POM_5V_IN"


def test_a_channel_without_a_rail_and_the_sum_are_no_rails(tmp_path: Path) -> None:
    labels = [rail.label for rail in ina3221_rails.rails(hwmon(tmp_path))]
    assert labels == ["VDD_IN", "VDD_CPU_GPU_CV", "CVB"]
    result = Ina3221.scan(str(tmp_path))
    assert [row.setting for row in result][:1] == ['rails = ["VDD_IN"]']
    assert Ina3221.scan(str(tmp_path / "none")) == []


def test_limits_of_error_state_steps_shunt_and_two_conversions(tmp_path: Path) -> None:
    info = opened(hwmon(tmp_path), "VDD_IN").info
    (row,) = info.accuracy.current
    # 40 uV over 5 mOhm are 8 mA, 80 uV are 16 mA.
    assert row.lsb == pytest.approx(5.032 * 0.008)
    assert row.offset == pytest.approx(5.032 * 0.016)
    # 1 % of the shunt, 1 % between both readings, 0.25 % of each, 20 mV of 5.032 V.
    assert row.gain == pytest.approx(0.01 + 0.01 + 0.005 + 0.020 / 5.032)
    for word in ("1.00%, assumed", "two conversions", "8 mV", "SBOS576A"):
        assert word in info.accuracy.source
    assert not info.accuracy.verified
    assert "not of one conversion" in info.details["reading"]
    item = opened(tmp_path, "VDD_IN", gain_limit=0.002, sag=0.0).info.accuracy
    assert item.current[0].gain == pytest.approx(row.gain - 0.018)
    assert "0.20%, from the bench file" in item.source


def test_a_folder_that_is_not_the_kernels_is_a_simulator(tmp_path: Path) -> None:
    info = opened(hwmon(tmp_path), "VDD_IN").info
    assert info.simulated
    assert info.origin is Origin.SIMULATED
    for root, simulated in (
        ("/sys/bus/i2c/devices", False),
        ("/sys/bus/i2c/devices/1-0040", False),
        ("/sys/../tmp/devices", True),
        ("/system", True),
    ):
        settings = Ina3221.Settings(root=root)
        assert Ina3221.simulates(settings) is simulated
        wanted = Origin.SIMULATED if simulated else Origin.OWN_SENSOR
        assert Ina3221.origin(settings) is wanted


def test_a_session_states_the_same_limits_again(tmp_path: Path) -> None:
    monitor = opened(hwmon(tmp_path), "VDD_IN", "CVB")
    settings = Ina3221.Settings(root=str(tmp_path), rails=("VDD_IN", "CVB"))
    again = Ina3221.restated(settings, monitor.info)
    assert again == monitor.info
    other = Ina3221.restated(replace(settings, gain_limit=0.02), monitor.info)
    assert other.accuracy.current[0].gain > again.accuracy.current[0].gain


# ---- a recording of a known load ----


@pytest.mark.parametrize(
    ("labels", "share"),
    [
        (("VDD_IN",), 1.0),
        (("VDD_CPU_GPU_CV", "VDD_SOC"), 0.85),
        (("VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"), 1.85),
    ],
)
def test_the_energy_of_a_known_load_is_found_within_the_limits(
    tmp_path: Path, labels: tuple[str, ...], share: float
) -> None:
    context = BenchContext()
    monitor = Ina3221.open(replace(SIMULATED, rails=labels), context)
    with monitor.record(tmp_path):
        for power_w, duration_ms in ((1.0, 1000), (6.0, 1500), (1.0, 500)):
            context.world.put(context.world.now_ns(), True, power_w)
            context.world.advance(duration_ms * MS)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.gaps == ()
    # 4 W of the board, 6 W of the DUT, seconds after the step.
    true_w = (4.0 + 6.0) * share
    found_w = trace.mean_w(1.3, 2.3)
    (row,) = monitor.info.accuracy.current
    assert abs(found_w - true_w) < row.gain * true_w + row.offset
    # The simulator has neither gains nor offsets: steps remain.
    assert found_w == pytest.approx(true_w, abs=len(labels) * row.lsb)
    assert found_w != true_w


def test_the_trace_shows_steps_of_the_chip(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Ina3221.open(SIMULATED, context)
    assert monitor.simulator is not None
    files = monitor.simulator.root / "1-0040" / "hwmon" / "hwmon3"
    with monitor.record(tmp_path):
        context.world.put(context.world.now_ns(), True, 0.5)
        context.world.advance(700 * MS)
        shown = [
            int((files / name).read_text()) for name in ("in1_input", "curr1_input")
        ]
    monitor.close()
    assert [number % 8 for number in shown] == [0, 0]
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.4, 0.6) == pytest.approx(shown[0] * shown[1] * 1e-6)


def test_files_that_another_program_writes_are_polled_in_real_time(
    tmp_path: Path,
) -> None:
    folder = hwmon(tmp_path / "tree")
    file = folder / "1-0040" / "hwmon" / "hwmon0" / "curr1_input"
    monitor = opened(folder, "VDD_IN")
    (tmp_path / "trace").mkdir()
    with monitor.record(tmp_path / "trace"):
        time.sleep(0.6)  # the length of the recording
        file.write_text("2000\n")
        time.sleep(0.6)  # the length of the recording
    monitor.close()
    trace = Trace.open(tmp_path / "trace" / "trace.jls")
    assert trace.mean_w(0.1, 0.4) == pytest.approx(7.085056, rel=1e-6)
    stop_s = trace.duration_s
    assert trace.mean_w(stop_s - 0.3, stop_s) == pytest.approx(10.064, rel=1e-6)


# ---- errors ----


def test_a_rail_named_twice_is_not_added_twice(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="VDD_IN is named twice"):
        opened(hwmon(tmp_path), "VDD_IN", "CVB", "VDD_IN")


@pytest.mark.parametrize("label", ["VDD_SYNC", "NC1"])
def test_a_label_is_that_of_an_unused_channel_as_a_whole_only(
    tmp_path: Path, label: str
) -> None:
    folder = hwmon(tmp_path)
    (folder / "1-0041" / "hwmon" / "hwmon1" / "in1_label").write_text(f"{label}\n")
    assert [rail.label for rail in ina3221_rails.rails(folder)][2:] == [label]


def test_two_rails_of_one_label_are_not_told_apart(tmp_path: Path) -> None:
    folder = hwmon(tmp_path)
    (folder / "1-0041" / "hwmon" / "hwmon1" / "in1_label").write_text("VDD_IN\n")
    with pytest.raises(BenchError, match="two rails have the label VDD_IN") as caught:
        opened(folder, "VDD_IN")
    assert "1-0041" in caught.value.evidence
    opened(folder, "VDD_CPU_GPU_CV").close()


def test_a_rail_that_is_not_there_is_answered_with_those_that_are(
    tmp_path: Path,
) -> None:
    with pytest.raises(DeviceNotFound, match="no rail VDD_GPU") as caught:
        opened(hwmon(tmp_path), "VDD_IN", "VDD_GPU")
    assert "there are VDD_IN, VDD_CPU_GPU_CV, CVB" in caught.value.evidence


def test_a_machine_without_a_chip_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(DeviceNotFound, match="shows no INA3221") as caught:
        opened(tmp_path, "VDD_IN")
    assert "modprobe ina3221" in caught.value.try_next


def test_a_channel_that_is_off_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = hwmon(tmp_path)
    file = folder / "1-0041" / "hwmon" / "hwmon1" / "in1_enable"
    file.write_text("0\n")
    with pytest.raises(BenchError, match="channel of the rail CVB is off") as caught:
        opened(folder, "CVB")
    assert "_enable" in caught.value.try_next
    file.write_text("1\n")

    def without_data(path: Path) -> bytes:
        raise OSError(errno.ENODATA, "No data available", str(path))

    monkeypatch.setattr(Path, "read_bytes", without_data)
    with pytest.raises(BenchError, match="channel of the rail CVB is off"):
        ina3221_rails.number(file, "CVB")


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("vanish", DeviceLost, "cannot be read"),
        ("garbage", BenchError, "shows no number"),
    ],
)
def test_each_fault_is_its_own_error_and_what_was_before_is_kept(
    tmp_path: Path, fault: str, kind: type[BenchError], message: str
) -> None:
    assert fault in FAULTS
    context = BenchContext()
    monitor = Ina3221.open(SIMULATED, context)
    assert monitor.simulator is not None
    try:
        with (
            pytest.raises(kind, match=message) as caught,
            monitor.record(tmp_path) as recording,
        ):
            context.world.put(context.world.now_ns(), True, 2.0)
            context.world.advance(500 * MS)
            monitor.simulator.fault = fault
            context.world.advance(500 * MS)
            recording.check()
    finally:
        monitor.close()
    assert caught.value.evidence
    assert caught.value.try_next
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.2, 0.4) == pytest.approx(
        6.0, abs=0.05
    )


def test_a_rate_that_the_chip_cannot_keep_is_refused_with_the_one_it_can(
    tmp_path: Path,
) -> None:
    folder = hwmon(tmp_path)
    with pytest.raises(ConfigError) as caught:
        opened(folder, "VDD_IN", "VDD_CPU_GPU_CV", "CVB", poll_hz=25)
    assert caught.value.path == "monitor.ina3221.poll_hz"
    assert "3 rails take 42.0 ms" in caught.value.evidence
    assert "23 or less" in caught.value.try_next
    opened(folder, "VDD_IN", poll_hz=71).close()
    for device in ("1-0040", "1-0041"):
        files = folder / device / "hwmon" / f"hwmon{device[-1]}"
        (files / "update_interval").write_text("1\n")
    opened(folder, "VDD_IN", poll_hz=500, longest_s=0.05).close()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"root": "sys"}, "root"),
        ({"rails": ()}, "rails"),
        ({"poll_hz": 0}, "poll_hz"),
        ({"longest_s": 0.05}, "longest_s"),
        ({"gain_limit": 0.0}, "gain_limit"),
        ({"sag": 1.0}, "sag"),
        ({"simulator": Ina3221Simulator.Settings(shunt=0.0)}, "simulator.shunt"),
    ],
)
def test_a_setting_outside_its_limits_is_named(
    change: dict[str, object], path: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        settings = replace(SIMULATED, **change)  # type: ignore[arg-type]
        Ina3221.open(checked(settings, "monitor.ina3221"), BenchContext())
    assert caught.value.path == f"monitor.ina3221.{path}"


def test_no_thread_is_left(tmp_path: Path) -> None:
    before = threading.active_count()
    context = BenchContext()
    monitor = Ina3221.open(SIMULATED, context)
    with monitor.record(tmp_path):
        context.world.advance(300 * MS)
    monitor.close()
    monitor.close()
    assert threading.active_count() == before
