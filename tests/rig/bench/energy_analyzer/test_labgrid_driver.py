# SPDX-License-Identifier: Apache-2.0
"""Monitors of the rig as energy analyzers of labgrid: in targets of an environment
file, as a program of labgrid's opens them.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drivers.virtual import VirtualMonitor
from rig.bench import metering
from rig.errors import BenchError, ConfigError, DeviceNotFound
from rig.host.stop import pause
from tests.conftest import ROOT

labgrid = pytest.importorskip("labgrid", reason="needs labgrid: pip install labgrid")
binding = pytest.importorskip("labgrid.binding")
protocols = pytest.importorskip("rig.bench.energy_analyzer.protocol")

pytestmark = pytest.mark.paced

#: Power of each board at rest, and errors of its monitor.
BOARDS = {"first": (0.012, 0.001, 3.3), "second": (0.045, -0.0015, 1.8)}
_LAB = """
targets:
  first:
    drivers: {NeurorigMonitorDriver: {bench: first.toml}}
  second:
    drivers: {NeurorigMonitorDriver: {bench: second.toml}}
  missing:
    drivers: {NeurorigMonitorDriver: {bench: first.toml, rail: core}}
  unplugged:
    drivers: {NeurorigMonitorDriver: {bench: unplugged.toml}}
imports: [rig.bench.energy_analyzer.labgrid_driver]
"""


@pytest.fixture
def supplies(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return what the supply of a virtual monitor was switched to, as it goes on."""
    switched: list[bool] = []
    power = VirtualMonitor.power

    def noted(monitor: VirtualMonitor, on: bool) -> None:
        switched.append(on)
        power(monitor, on)

    monkeypatch.setattr(VirtualMonitor, "power", noted)
    return switched


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Any]:
    """Give an environment with two boards; it is cleaned up as labgrid does it."""
    for name, (idle_w, gain, supply_v) in BOARDS.items():
        (tmp_path / f"{name}.toml").write_text(
            textwrap.dedent(f"""
            [sut.virtual]
            idle_w = {idle_w}
            [monitor.virtual]
            sample_hz = 50_000
            gain = {gain}
            supply_v = {supply_v}
            [scenario.single_stream]
            [task.null]
            samples = 1
            """)
        )
    text = (ROOT / "benches" / "posix-asc-ppk2.toml").read_text()
    unplugged = text.replace('port = "simulator"', 'port = "/dev/ttyACM99"')
    assert unplugged != text
    (tmp_path / "unplugged.toml").write_text(unplugged)
    (tmp_path / "lab.yaml").write_text(_LAB)
    environment = labgrid.Environment(str(tmp_path / "lab.yaml"))
    yield environment
    environment.cleanup()


def analyzer(lab: Any, name: str) -> Any:
    """Return the active driver of a target, by the protocol's name."""
    return lab.get_target(name).get_driver("EnergyAnalyzerProtocol")


def test_windows_of_two_boards_side_by_side_have_the_true_energy(lab: Any) -> None:
    drivers = {name: analyzer(lab, name) for name in BOARDS}
    for driver in drivers.values():
        driver.start()
    time.sleep(0.6)  # the length of the windows
    windows = {name: driver.stop() for name, driver in drivers.items()}
    for name, window in windows.items():
        idle_w, gain, supply_v = BOARDS[name]
        # It begins and ends with blocks of samples.
        assert 0.4 < window["duration_s"] < 5.0
        truth_j = idle_w * window["duration_s"]
        # The monitor's own errors, and no more: it has a noise of 20 uA a sample.
        read_j = truth_j * (1 + gain)
        assert window["energy_J"] == pytest.approx(read_j, rel=2e-4)
        assert abs(window["energy_J"] - truth_j) < 3 * window["energy_u_J"]
        assert window["charge_C"] == pytest.approx(read_j / supply_v, rel=2e-4)
        assert window["lost_samples"] == 0 and window["simulated"]


def test_statistics_have_the_form_of_the_protocol_and_sums_that_go_on(lab: Any) -> None:
    driver = analyzer(lab, "first")
    driver.start()
    window = driver.stop()
    first = driver.get_statistics()
    assert first["energy_J"] > window["energy_J"]
    time.sleep(1.2)  # the newest second is then at rest
    rows = driver.get_statistics()
    for name in ("current", "voltage", "power"):
        row = rows[name]
        assert row["min"] <= row["avg"] <= row["max"]
    assert rows["power"]["avg"] == pytest.approx(0.012 * 1.001, rel=2e-4)
    assert rows["current"]["std"] == pytest.approx(20e-6, rel=0.05)
    assert abs(rows["power"]["avg"] - 0.012) < 3 * rows["power"]["avg_u"]
    assert rows["energy_J"] > first["energy_J"] and rows["charge_C"] > 0
    # The limits are a share of the energy, and no more of it in a sum of two parts.
    of_window = window["energy_u_J"] / window["energy_J"]
    assert rows["energy_u_J"] / rows["energy_J"] == pytest.approx(of_window, rel=0.1)
    assert rows["charge_u_C"] > window["charge_u_C"]


def test_a_capture_is_a_trace_with_its_limits(lab: Any, tmp_path: Path) -> None:
    from rig.api.traces.trace import open_trace
    from rig.uncertainty import accuracy

    driver = analyzer(lab, "second")
    driver.start()
    driver.capture(tmp_path / "second.jls", duration=0.2)
    with open_trace(tmp_path / "second.jls") as trace:
        assert trace.duration_s >= 0.2
        row = trace.statistics(0.05, 0.15)
        assert row.power.mean == pytest.approx(0.045 * 0.9985, rel=5e-4)
    assert accuracy.load(tmp_path / "second.accuracy.toml").current
    assert driver.stop()["duration_s"] > 0.2
    left = {path.name for path in tmp_path.iterdir()}
    kept = {"second.jls", "second.accuracy.toml", "lab.yaml"}
    assert left == kept | {"first.toml", "second.toml", "unplugged.toml"}


def test_a_wrong_order_is_refused(lab: Any) -> None:
    driver = analyzer(lab, "first")
    with pytest.raises(binding.StateError, match="without start"):
        driver.stop()
    driver.start()
    with pytest.raises(binding.StateError, match="called already"):
        driver.start()
    driver.stop()
    with pytest.raises(binding.StateError, match="without start"):
        driver.stop()
    lab.get_target("first").deactivate(driver)
    with pytest.raises(binding.StateError, match="has not been activated"):
        driver.get_statistics()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "needs a duration"),
        ({"duration": -1.0}, "needs a duration"),
        ({"duration": 0.1, "signals": ["gpi0"]}, "no 'gpi0'"),
        ({"duration": 0.1, "frequency": 1000}, "samples at 50000 Hz"),
    ],
)
def test_a_capture_that_the_monitor_cannot_do_is_refused(
    lab: Any, tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    driver = analyzer(lab, "first")
    with pytest.raises(ConfigError, match=said):
        driver.capture(tmp_path / "x.jls", **settings)
    assert not (tmp_path / "x.jls").exists()


def test_the_supply_is_off_at_the_end(lab: Any, supplies: list[bool]) -> None:
    """Also of a window that was not ended, and again for a second activation."""
    target = lab.get_target("first")
    for _ in range(2):
        driver = analyzer(lab, "first")
        driver.start()
        assert supplies == [True]
        target.deactivate(driver)
        assert supplies == [True, False]
        supplies.clear()


def test_a_rail_or_an_instrument_that_is_not_there_is_one_sentence(lab: Any) -> None:
    with pytest.raises(ConfigError, match="no monitor of the rail 'core'"):
        analyzer(lab, "missing")
    with pytest.raises(DeviceNotFound, match="ttyACM99"):
        analyzer(lab, "unplugged")


def test_an_instrument_that_falls_silent_is_one_sentence(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rig.bench.energy_analyzer import labgrid_driver

    driver = analyzer(lab, "first")
    driver.start()
    monkeypatch.setattr(labgrid_driver, "_LATE_S", 0.3)
    monkeypatch.setattr(metering, "_follow", forever)
    silent = analyzer(lab, "second")
    with pytest.raises(BenchError, match=r"gave no samples within 0\.3 s"):
        silent.start()
    with pytest.raises(BenchError, match=r"gave no 0\.1 s of samples"):
        silent.capture(tmp_path / "x.jls", duration=0.1)
    assert driver.stop()["lost_samples"] == 0


def forever(*_: Any) -> None:
    """Stand in the place of what lets the virtual bench's time pass."""
    while True:
        pause(1.0)


def test_the_protocol_is_that_of_the_pull_request() -> None:
    methods = protocols.EnergyAnalyzerProtocol.__abstractmethods__
    assert methods == {"get_statistics", "start", "stop", "capture"}
