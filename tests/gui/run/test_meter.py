# SPDX-License-Identifier: Apache-2.0
"""The meter by clicks and keys: numbers, sums, recordings, and the supply off in every
case.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit

from drivers.virtual import VirtualMonitor, VirtualRecording
from gui.run.meter.screen import MeterScreen
from gui.widgets.values import with_u
from rig.api.traces.trace import open_trace
from rig.errors import DeviceLost
from rig.live.meter import Meter, RecordState
from rig.simulation.world import NS_PER_S, World
from rig.trace.tap import TraceForm
from rig.uncertainty.accuracy import Accuracy, Range
from tests.conftest import VIRTUAL_NULL

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


class MeterAt:
    """The screen, and the hands that use it."""

    def __init__(self, window: MainWindow, qtbot: QtBot, root: Path) -> None:
        self.window, self.qtbot, self.root = window, qtbot, root
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(window, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
        self.screen = cast(MeterScreen, window.screen_named("meter"))
        assert self.screen.isVisible()
        self.type_into("meter-folder", str(root))

    def until(self, holds: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(holds()), timeout=5000)

    def click(self, name: str) -> None:
        button = self.screen.findChild(QAbstractButton, name)
        assert button is not None, name
        self.until(button.isEnabled)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def type_into(self, name: str, text: str) -> None:
        field = self.screen.findChild(QLineEdit, name)
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, text)

    def choose(self, name: str, text: str) -> None:
        box = self.screen.findChild(QComboBox, name)
        result = [at for at in range(box.count()) if text in box.itemText(at)]
        assert result, [box.itemText(at) for at in range(box.count())]
        box.setCurrentIndex(result[0])

    def cell(self, name: str) -> str:
        return self.screen.values.text(name)

    @property
    def state(self) -> RecordState:
        """Return how the recording stands."""
        assert self.screen._link is not None and self.screen._link.meter is not None
        return self.screen._link.meter.reading().state

    def start(self, *settings: str, kind: str = "virtual") -> None:
        self.choose("meter-source", f"monitor {kind} alone")
        self.type_into("meter-settings", " ".join(settings))
        self.click("meter-start")
        self.until(lambda: self.cell("power-now") or self.screen.notice.text)

    def over(self) -> None:
        self.until(lambda: not self.screen.busy)

    def trace(self) -> Path:
        """Return the only recording."""
        output = self.screen.record_bar.said
        self.until(lambda: output.text().startswith("recorded: "))
        return Path(output.text().removeprefix("recorded: "))


@pytest.fixture
def meter(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> Iterator[MeterAt]:
    """The meter; no thread of it outlives the test."""
    made = MeterAt(window, qtbot, tmp_path / "recordings")
    yield made
    window.close()
    assert not [each for each in threading.enumerate() if each.name == "rig-meter"]


def supply_of(worlds: list[World]) -> bool:
    """Return whether the supply of any world is on."""
    return any(world.supply_on for world in worlds)


@pytest.fixture
def with_worlds(worlds: list[World], meter: MeterAt) -> tuple[MeterAt, list[World]]:
    """The meter, and the worlds of the monitors that it opens."""
    return meter, worlds


def test_numbers_sums_and_label_of_a_monitor_alone(
    with_worlds: tuple[MeterAt, list[World]],
) -> None:
    meter, worlds = with_worlds
    meter.start("noise_a=0", "lsb_a=0")
    assert meter.screen.bar.labels.text() == "SIMULATED"
    assert meter.screen.bar.labels.isVisible()
    assert supply_of(worlds)
    # The virtual device idles at 12 mW, and the supply is of 3.3 V.
    meter.until(lambda: meter.cell("power-mean") == "12.000 mW")
    assert meter.cell("voltage-now") == meter.cell("voltage-max") == "3.3000 V"
    assert meter.cell("current-min") == "3.6364 mA"
    for name, unit in (("current", "mA"), ("voltage", "V"), ("power", "mW")):
        for head in ("now", "mean"):
            assert re.fullmatch(rf"± [\d.]+ {unit}", meter.cell(f"{name}-{head}-u"))
    meter.until(
        lambda: "±" in meter.cell("total-energy") and "±" in meter.cell("total-charge")
    )
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ mJ", meter.cell("total-energy"))
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ [um]C", meter.cell("total-charge"))
    # The supply was off before the first of the samples.
    assert re.fullmatch(r"1[12]\.\d+ ± [\d.]+ mW", meter.cell("total-power"))
    assert re.fullmatch(r"3\.[56]\d+ ± [\d.]+ mA", meter.cell("total-current"))
    assert meter.cell("total-lost") == "0"
    meter.until(lambda: not meter.screen.view.frame.empty)
    assert meter.cell("record-energy") == "", "there is no recording"
    before = meter.cell("total-samples")
    meter.until(lambda: len(meter.cell("total-samples")) > len(before) or before)
    QTest.keyClick(meter.screen, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    meter.over()
    assert not supply_of(worlds)
    # The last values can still be read.
    assert meter.cell("power-mean") == "12.000 mW"


def test_where_the_limits_do_not_reach_the_newest_second_says_so(
    meter: MeterAt,
) -> None:
    accuracy = Accuracy(
        current=(Range(1e-3, 0.001, 0.0),),
        voltage=(Range(5.0, 0.001, 0.0),),
        clock_ppm=0.0,
        source="made for this test",
    )
    tap = Meter(accuracy).begin(TraceForm(1000.0, 1000.0, "digital"))
    current = np.full(500, 2e-3, dtype=np.float32)
    tap.analog(current, np.full(500, 3.0, dtype=np.float32))
    values = meter.screen.values
    values.show_reading(tap.reading())
    assert values.text("power-mean") == "6.0000 mW"
    assert values.text("power-mean-u") == values.text("current-now-u") == "± not known"
    assert values.text("voltage-mean-u").startswith("± 0.003")
    assert "more than 1 mA" in values.newest_remark.text()


def test_a_recording_opens_in_trace_with_the_energy_of_the_meter(
    meter: MeterAt,
) -> None:
    meter.start("sample_hz=50000")
    meter.click("meter-record")
    meter.until(lambda: meter.state is RecordState.RECORDING)
    meter.until(lambda: meter.cell("record-energy"))
    QTest.keyClick(meter.screen, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    path = meter.trace()
    assert path.parent.parent == meter.root
    with open_trace(path) as trace:
        stated = trace.statistics(0.0, trace.duration_s)
    shown = meter.cell("record-energy"), meter.cell("record-samples")
    assert shown == (
        with_u(stated.energy_j, stated.energy_u_j, "J"),
        f"{stated.count:,}".replace(",", " "),
    )
    meter.click("meter-open")
    screen = meter.window.screen_named("trace")
    meter.until(lambda: screen.isVisible() and not meter.window.shell.worker.busy)
    # Another screen is shown: the supply is off.
    meter.over()
    meter.until(
        lambda: screen.findChild(type(meter.screen.bar.labels)).text() == "SIMULATED"
    )


@pytest.mark.parametrize(
    ("trigger", "level"),
    [("current rises", "10 mA"), ("SYNC falls", ""), ("SYNC rises", "")],
)
def test_a_trigger_begins_the_recording(
    with_worlds: tuple[MeterAt, list[World]], trigger: str, level: str
) -> None:
    meter, worlds = with_worlds
    meter.start("sample_hz=50000")
    meter.choose("meter-trigger", trigger)
    if level:
        meter.type_into("meter-level", level)
    meter.choose("meter-before", "0.1 s")
    meter.click("meter-record")
    meter.until(lambda: meter.screen.record_bar.said.text() == "waits for the trigger")
    assert meter.state is RecordState.ARMED
    [world] = worlds
    # The device works for 50 ms, and says so by a pulse.
    now_ns = world.now_ns() + NS_PER_S // 2
    world.put(now_ns, False, 0.1)
    world.put(now_ns + NS_PER_S // 20, True, 0.012)
    meter.until(lambda: meter.state is RecordState.RECORDING)
    meter.until(lambda: meter.cell("record-energy"))
    meter.click("meter-record")
    with open_trace(meter.trace()) as trace:
        start = trace.nearest_edge(0.1)
    assert start is not None
    assert start.at_s == pytest.approx(0.1, abs=1e-4)


def test_a_wait_for_a_trigger_can_be_cancelled(meter: MeterAt) -> None:
    meter.start()
    meter.choose("meter-trigger", "current rises")
    meter.type_into("meter-level", "1 apple")
    meter.click("meter-record")
    assert "'1 apple' is not in A" in meter.screen.notice.text
    meter.type_into("meter-level", "1 A")
    meter.click("meter-record")
    meter.until(lambda: meter.state is RecordState.ARMED)
    assert meter.screen.record_bar.record.text() == "Cancel"
    meter.click("meter-record")
    assert meter.state is RecordState.OFF
    assert not meter.root.exists()


@pytest.mark.parametrize("ends", ["escape", "leave", "close", "bench"])
def test_the_supply_is_off_whatever_ends_it(
    with_worlds: tuple[MeterAt, list[World]], ends: str
) -> None:
    meter, worlds = with_worlds
    meter.start()
    meter.click("meter-record")
    meter.until(lambda: meter.state is RecordState.RECORDING)
    assert supply_of(worlds)
    if ends == "escape":
        QTest.keyClick(meter.screen, Qt.Key.Key_Escape)
    elif ends == "leave":
        QTest.keyClick(meter.window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    elif ends == "bench":
        meter.window.shell.set_bench(VIRTUAL_NULL)
    else:
        meter.window.close()
        assert not supply_of(worlds)
        assert len(list(meter.root.glob("*/trace.jls"))) == 1
        return
    meter.over()
    assert not supply_of(worlds)
    # The recording until then is kept.
    assert len(list(meter.root.glob("*/trace.jls"))) == 1


def test_an_instrument_that_is_lost_is_reported_and_the_supply_is_off(
    with_worlds: tuple[MeterAt, list[World]], monkeypatch: pytest.MonkeyPatch
) -> None:
    meter, worlds = with_worlds
    meter.start()

    def lost(self: object) -> None:
        raise DeviceLost("the monitor is gone", try_next="plug it in again")

    monkeypatch.setattr(VirtualRecording, "check", lost)
    meter.over()
    assert "the monitor is gone" in meter.screen.notice.text
    assert not supply_of(worlds)
    assert meter.screen.bar.start.isEnabled()


def test_a_monitor_that_does_not_open_is_reported(
    meter: MeterAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter.start("sample_hz=12")
    assert "monitor.virtual.sample_hz" in meter.screen.notice.text
    meter.over()
    meter.start('"noise_a=0')
    assert "the settings cannot be read" in meter.screen.notice.text
    assert not meter.screen.busy


def test_the_monitors_of_the_open_bench_are_offered_first(
    meter: MeterAt, tmp_path: Path
) -> None:
    text = VIRTUAL_NULL.read_text(encoding="utf-8")
    rails = re.sub(r"\[monitor\.virtual\]", "[rail.core.virtual]", text)
    assert rails != text
    path = tmp_path / "rails.toml"
    path.write_text(rails + "\n[rail.io.virtual]\nshare = 0.5\n", encoding="utf-8")
    meter.window.shell.set_bench(path)
    box = meter.screen.findChild(QComboBox, "meter-source")
    meter.until(lambda: box.itemText(1) == "rails.toml: io (virtual)")
    assert box.itemText(0) == "rails.toml: core (virtual)"
    assert not meter.screen.findChild(QLineEdit, "meter-settings").isEnabled()
    box.setCurrentIndex(1)
    meter.click("meter-start")
    meter.until(lambda: meter.cell("power-mean").startswith(("5.99", "6.00")))
    meter.click("meter-stop")
    meter.over()
    path.write_text("not toml", encoding="utf-8")
    meter.window.shell.set_bench(None)
    meter.window.shell.set_bench(path)
    meter.until(lambda: "rails.toml offers no monitor" in meter.screen.notice.text)
    assert box.itemText(0).startswith("monitor ")


def test_sums_begin_again_by_reset(meter: MeterAt) -> None:
    meter.start("sample_hz=10000")
    link = meter.screen._link
    assert link is not None and link.meter is not None
    running = link.meter
    meter.until(lambda: running.reading().total.samples > 8000)
    QTest.keyClick(meter.screen, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert running.reading().total.samples < 8000


def test_space_holds_the_picture(meter: MeterAt) -> None:
    meter.start()
    meter.until(lambda: not meter.screen.view.frame.empty)
    meter.screen.view.setFocus()
    QTest.keyClick(meter.screen.view, Qt.Key.Key_Space)
    held = meter.screen.view.frame
    samples = meter.cell("total-samples")
    meter.until(lambda: meter.cell("total-samples") != samples)
    assert meter.screen.view.frame is held


def test_an_instrument_that_does_not_let_go_keeps_the_window_open(
    meter: MeterAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter.start()
    released = threading.Event()
    close = VirtualMonitor.close

    def slow(self: VirtualMonitor) -> None:
        released.wait()
        close(self)

    monkeypatch.setattr(VirtualMonitor, "close", slow)
    monkeypatch.setattr("gui.run.meter.screen._CLOSE_S", 0.01)
    assert not meter.window.close()
    assert "the supply may still be on" in meter.screen.notice.text
    released.set()
    meter.over()
