# SPDX-License-Identifier: Apache-2.0
"""The bench screen by clicks and keys: create a bench, change a setting, prove its
wiring, connect; the supply ends up off.
"""

from __future__ import annotations

import os
import pty
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton, QWidget

from gui.bench.screen import BenchScreen
from rig.bench.bench_file import BenchFile
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

W = TypeVar("W", bound=QWidget)
NULL = (ROOT / "benches" / "virtual-null.toml").read_text(encoding="utf-8")
_LONG_MS = 20_000


class Bench:
    """The screen, and the hands that use it."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self.qtbot = window, qtbot
        window.go("bench")
        self.screen = cast(BenchScreen, window.screen_named("bench"))

    def find(self, kind: type[W], name: str) -> W:
        result = self.screen.findChild(kind, name)
        assert result is not None, name
        return cast(W, result)

    def until(self, holds: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(holds, timeout=_LONG_MS)

    def click(self, name: str) -> None:
        button = self.find(QPushButton, name)
        self.until(button.isEnabled)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def load(self, path: Path) -> None:
        self.window.open_path(path)
        self.until(lambda: self.find(QPushButton, "bench-prove").isEnabled())

    def type_into(self, name: str, text: str) -> QLineEdit:
        field = self.find(QLineEdit, name)
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, text)
        return field

    @property
    def text(self) -> str:
        return self.screen.settings.text.toPlainText()

    @property
    def said(self) -> str:
        return self.screen.settings.findChild(QWidget, "bench-problem-text").text()

    def over(self) -> None:
        self.until(lambda: not self.screen.busy)

    @property
    def supply_on(self) -> bool:
        cards = self.screen.cards.by_key.values()
        return any(card.supply == "on" for card in cards)


@pytest.fixture
def bench(window: MainWindow, qtbot: QtBot) -> Iterator[Bench]:
    """The bench screen; no thread of it outlives the test."""
    made = Bench(window, qtbot)
    yield made
    window.close()
    assert not [
        each for each in threading.enumerate() if each.name.startswith("rig-bench")
    ]


@pytest.fixture
def null_bench(tmp_path: Path) -> Path:
    """A bench of the null task on the virtual bench, with comments."""
    path = tmp_path / "mine.toml"
    path.write_text(NULL + "# the end\n", encoding="utf-8")
    return path


def test_a_bench_is_created_changed_in_the_form_and_proved(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.until(lambda: bool(bench.screen.choose._all))
    bench.type_into("examples-find", "virtual-asc")
    table = bench.screen.choose._table
    bench.until(lambda: 1 <= len(table.rows) < 5)
    names = [row.name for row in table.rows]
    table.setFocus()
    for _ in range(names.index("virtual-asc")):
        QTest.keyClick(table, Qt.Key.Key_Down)
    target = bench.find(QLineEdit, "new-path")
    assert target.text() == str(tmp_path / "virtual-asc.toml")
    bench.click("new-create")
    made = tmp_path / "virtual-asc.toml"
    bench.until(made.exists)
    bench.until(lambda: bench.find(QPushButton, "bench-prove").isEnabled())
    before = bench.text
    assert before.startswith("# Nothing here runs in real time")

    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("task")
    bench.until(
        lambda: bench.screen.findChild(QLineEdit, "field-task.asc.samples") is not None
    )
    bench.type_into("field-task.asc.samples", "12")
    bench.until(lambda: "samples = 12" in bench.text)
    comments = [line for line in before.splitlines() if line.startswith("#")]
    assert [
        line for line in bench.text.splitlines() if line.startswith("#")
    ] == comments
    bench.click("bench-save")
    bench.until(lambda: not bench.screen.changed)
    assert "samples = 12" in made.read_text(encoding="utf-8")

    bench.click("bench-page-parts")
    bench.click("bench-prove")
    bench.over()
    rows = bench.screen.connect_page.rows.rows
    assert [row.name for row in rows if row.sign == "✓ ok"] == [
        row.name for row in rows
    ]
    assert len(rows) == 6
    model = bench.screen.connect_page.rows.table.model()
    heads = [
        model.headerData(number, Qt.Orientation.Horizontal)
        for number in range(model.columnCount())
    ]
    assert all(heads), heads
    assert not bench.supply_on


def test_on_a_broken_bench_the_row_of_the_broken_wire_fails_with_its_cause(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("monitor")
    bench.until(
        lambda: (
            bench.screen.findChild(QComboBox, "field-monitor.virtual.sync_wire")
            is not None
        )
    )
    box = bench.find(QComboBox, "field-monitor.virtual.sync_wire")
    box.setFocus()
    QTest.keyClicks(box, "open")
    QTest.keyClick(box, Qt.Key.Key_Return)
    bench.until(lambda: 'sync_wire = "open"' in bench.text)
    QTest.keyClick(bench.screen, Qt.Key.Key_F9)  # changes are saved before
    bench.until(lambda: bench.screen.busy)
    bench.over()
    assert 'sync_wire = "open"' in null_bench.read_text(encoding="utf-8")
    page = bench.screen.connect_page
    failed = [row for row in page.rows.rows if row.sign == "✗ fails"]
    assert [row.name for row in failed] == ["SYNC seen"]
    assert "SYNC pin to the monitor's input is open" in page.rows.why
    (wire,) = (
        wire
        for wire in page.picture.drawn.wires  # type: ignore[union-attr]
        if wire.connection.name == "SYNC seen"
    )
    assert page.picture.colour_of(wire) == bench.window.shell.theme.bad
    assert bench.screen.cards.by_key["sync"].state == "failed"
    assert not bench.supply_on


def test_the_form_and_the_text_are_in_step_and_the_cursor_stays(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    form, text = bench.screen.settings.form, bench.screen.settings.text
    form.choose("bench")
    name = bench.find(QLineEdit, "field-bench.name")
    assert name.text() == "virtual-null"
    cursor = text.textCursor()
    cursor.setPosition(len(text.toPlainText()) - 3)
    text.setTextCursor(cursor)
    before = text.toPlainText()
    behind = before[cursor.position() :]
    bench.type_into("field-bench.name", "other")
    bench.until(lambda: 'name = "other"' in bench.text)
    assert bench.text[text.textCursor().position() :] == behind
    # The other way round: typed into the text, seen in the form.
    at = bench.text.index('"other"') + 6
    cursor.setPosition(at)
    text.setTextCursor(cursor)
    text.setFocus()
    QTest.keyClicks(text, "s")
    bench.until(lambda: name.text() == "others")
    assert text.textCursor().position() == at + 1
    while text.document().isUndoAvailable():
        text.undo()
    assert bench.text == before


def test_a_wrong_value_is_refused_beside_its_field_with_the_words_of_the_command_line(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("bench")
    before = bench.text
    bench.type_into("field-bench.trials", "0")
    error = bench.screen.findChild(QWidget, "error-bench.trials")
    assert error is not None
    assert error.text() == "0; 1 or more: the replication rule wants 5"
    assert bench.text == before


def test_nonsense_in_the_text_is_reported_with_its_line_and_no_data_are_lost(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    page = bench.screen.settings
    page.text.setFocus()
    QTest.keyClick(page.text, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(page.text, "[[oops")
    QTest.keyClick(page.text, Qt.Key.Key_Return)
    bench.until(lambda: "line 1: the text is not TOML" in bench.said)
    assert not page.form.isEnabled()
    assert page.text._wrong == 1
    assert not bench.find(QPushButton, "bench-prove").isEnabled()
    for _ in range(len("[[oops\n")):
        QTest.keyClick(page.text, Qt.Key.Key_Backspace)
    bench.until(page.form.isEnabled)
    bench.until(lambda: bench.find(QPushButton, "bench-prove").isEnabled())
    assert bench.text == null_bench.read_text(encoding="utf-8")


def test_a_file_of_nonsense_says_so_where_its_parts_would_be(
    bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "nonsense.toml"
    path.write_text("nonsense = [", encoding="utf-8")
    bench.window.open_path(path)
    notice = bench.screen.connect_page.notice
    bench.until(lambda: notice.isVisible())
    assert notice.text.startswith("line 1: the text is not TOML")
    bench.click("bench-page-settings")
    bench.screen.settings.text.selectAll()
    QTest.keyClick(bench.screen.settings.text, Qt.Key.Key_Delete)
    bench.until(lambda: "exactly one table" in notice._label.text())


def test_the_form_shows_the_field_that_is_wrong(bench: Bench, null_bench: Path) -> None:
    null_bench.write_text(
        NULL.replace(
            "[monitor.virtual]", '[monitor.virtual]\nvoltage_gain_limit = "x"'
        ),
        encoding="utf-8",
    )
    bench.window.open_path(null_bench)
    bench.until(lambda: "'x' is not a float" in bench.said)
    bench.click("bench-page-settings")
    form = bench.screen.settings.form
    form.choose("monitor")
    row = bench.find(QWidget, "row-monitor.virtual.voltage_gain_limit")
    bench.until(lambda: not row.visibleRegion().isEmpty())


def test_a_value_without_sense_marks_its_line_its_part_and_its_field(
    bench: Bench, null_bench: Path
) -> None:
    null_bench.write_text(
        NULL.replace('name = "virtual-null"', "name = 3"), encoding="utf-8"
    )
    bench.window.open_path(null_bench)
    bench.until(lambda: "3 is not a str" in bench.said)
    assert bench.said.startswith("line ")
    assert "⚠" in bench.find(QPushButton, "bench-page-settings").text()
    assert not bench.find(QPushButton, "bench-connect").isEnabled()


def test_a_file_that_changed_on_the_disk_is_not_written_over(
    bench: Bench, null_bench: Path, tmp_path: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("bench")
    bench.type_into("field-bench.trials", "3")
    bench.until(lambda: "trials = 3" in bench.text)
    null_bench.write_text(NULL + "# of somebody else\n", encoding="utf-8")
    bench.click("bench-save")
    bench.until(lambda: "changed by something else" in bench.screen.notice.text)
    assert "somebody else" in null_bench.read_text(encoding="utf-8")
    other = tmp_path / "other.toml"
    field = bench.type_into("bench-save-as", str(other))
    QTest.keyClick(field, Qt.Key.Key_Return)
    bench.until(other.exists)
    assert "trials = 3" in other.read_text(encoding="utf-8")
    bench.until(lambda: bench.window.shell.bench_path == other)


def test_an_example_that_came_with_the_rig_is_not_written_over(bench: Bench) -> None:
    path = ROOT / "benches" / "virtual-null.toml"
    stamp = BenchFile.read(path).stamp
    bench.load(path)
    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("bench")
    bench.type_into("field-bench.trials", "3")
    bench.until(lambda: "trials = 3" in bench.text)
    bench.type_into("bench-save-as", str(path))
    bench.click("bench-save")
    bench.until(lambda: "not written over" in bench.screen.notice.text)
    assert BenchFile.read(path).stamp == stamp


def test_connect_shows_what_is_there_and_disconnect_switches_off(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-connect")
    bench.until(
        lambda: (
            bench.supply_on and bench.screen.cards.by_key["dut"].state == "connected"
        )
    )
    assert "virtual device" in bench.screen.cards.by_key["dut"].spoken
    bench.until(lambda: bench.find(QPushButton, "bench-connect").text() == "Disconnect")
    bench.click("bench-connect")
    bench.over()
    assert not bench.supply_on
    assert bench.screen.cards.by_key["monitor:"].supply == "off"


@pytest.mark.parametrize("deed", ["connect", "power"])
def test_the_supply_is_off_when_the_screen_is_left(
    bench: Bench, null_bench: Path, deed: str
) -> None:
    bench.load(null_bench)
    bench.click(f"bench-{deed}")
    bench.until(lambda: bench.supply_on)
    bench.window.go("run")
    bench.over()
    assert not bench.supply_on


def test_what_waits_for_a_save_does_not_begin_when_the_screen_is_left(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    bench.screen.settings.form.choose("bench")
    bench.type_into("field-bench.trials", "3")
    bench.until(lambda: "trials = 3" in bench.text)
    QTest.keyClick(bench.screen, Qt.Key.Key_F7)
    bench.window.go("run")
    bench.until(lambda: not bench.screen.changed and not bench.window.shell.worker.busy)
    QTest.qWait(50)
    assert not bench.screen.busy
    assert not bench.supply_on


def test_the_supply_is_off_when_the_window_is_closed(
    bench: Bench, null_bench: Path, qtbot: QtBot
) -> None:
    bench.load(null_bench)
    bench.click("bench-connect")
    bench.until(lambda: bench.supply_on)
    link = bench.screen._link
    assert link is not None
    bench.window.close()
    assert not link.alive


def test_escape_stops_a_proof_and_what_was_not_tested_says_so(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-power")
    bench.until(lambda: bench.supply_on)
    QTest.keyClick(bench.screen, Qt.Key.Key_Escape)
    bench.over()
    assert not bench.supply_on


def test_closing_while_connecting_ends_soon_and_the_supply_is_off(
    bench: Bench, tmp_path: Path
) -> None:
    """A device that never answers is waited for; the window is not."""
    ours, theirs = pty.openpty()
    path = tmp_path / "silent.toml"
    head, _, rest = NULL.partition("[sut.virtual]")
    line = f'[sut.uart]\nport = "{os.ttyname(theirs)}"\ntimeout_s = 60.0\n'
    _, monitor, tail = rest.partition("[monitor")
    path.write_text(f"{head}{line}\n{monitor}{tail}", encoding="utf-8")
    try:
        bench.load(path)
        bench.click("bench-connect")
        bench.until(lambda: bench.supply_on)
        link = bench.screen._link
        assert link is not None
        began_s = time.monotonic()
        bench.window.close()
        assert not link.alive
        assert time.monotonic() - began_s < 3.0
    finally:
        os.close(ours)
        os.close(theirs)


def test_an_error_of_the_bench_is_reported_in_the_screen(
    bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "gone.toml"
    text = (ROOT / "benches" / "uart-asc.toml").read_text(encoding="utf-8")
    path.write_text(
        text.replace("/dev/ttyACM0", str(tmp_path / "no-port")), encoding="utf-8"
    )
    bench.load(path)
    bench.click("bench-connect")
    bench.over()
    assert "there is no port" in bench.screen.notice.text
    assert bench.screen.cards.by_key["dut"].state == "failed"


def test_a_probe_shows_a_row_for_each_finding(bench: Bench, null_bench: Path) -> None:
    bench.load(null_bench)
    QTest.keyClick(bench.screen, Qt.Key.Key_F8)
    bench.until(lambda: bench.screen.busy)
    bench.over()
    names = [row.name for row in bench.screen.connect_page.rows.rows]
    assert names[0] == "bench file"
    assert "supply on" in names
    assert not bench.supply_on


def test_a_scan_lists_what_is_attached_or_what_to_look_at(bench: Bench) -> None:
    bench.click("bench-page-parts")
    bench.click("bench-scan")
    bench.over()
    assert (
        bench.screen.connect_page.rows.rows
        or "nothing is attached" in bench.screen.notice.text
    )


def test_a_second_monitor_is_added_and_taken_away(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    before = bench.text
    bench.click("bench-page-settings")
    kinds = bench.find(QComboBox, "form-new-kind")
    kinds.setCurrentText("virtual")
    bench.click("form-add-monitor")
    assert "a second supply has a name" in bench.screen.settings.notice.text
    bench.type_into("form-new-rail", "io")
    bench.click("form-add-monitor")
    bench.until(lambda: "[rail.io.virtual]" in bench.text)
    bench.until(lambda: "monitor:io" in bench.screen.cards.by_key)
    bench.screen.settings.form.choose("rail.io")
    bench.click("form-remove-monitor")
    bench.until(lambda: "[rail.io.virtual]" not in bench.text)
    assert "# the end" in bench.text
    assert before.count("#") == bench.text.count("#")


def test_another_kind_of_monitor_says_what_must_be_given(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    bench.click("bench-page-settings")
    form = bench.screen.settings.form
    form.choose("monitor")
    kind = bench.find(QComboBox, "form-kind")
    kind.setFocus()
    QTest.keyClicks(kind, "st_lpm01a")
    QTest.keyClick(kind, Qt.Key.Key_Return)
    bench.until(lambda: "[monitor.st_lpm01a]" in bench.text)
    bench.until(lambda: "this key is needed" in bench.said)
    bench.type_into("field-monitor.st_lpm01a.port", "simulator")
    bench.until(lambda: bench.said == "")
    check = bench.find(QCheckBox, "form-only-set")
    QTest.mouseClick(check, Qt.MouseButton.LeftButton, pos=check.rect().center() / 4)
    check.setChecked(True)
    shown = [row for row in form._rows.values() if not row.isHidden()]
    assert [row.field.label for row in shown] == ["port"] or all(
        row.field.is_set for row in shown
    )


def test_everything_one_acts_on_has_a_name_and_can_be_reached_by_keys(
    bench: Bench, null_bench: Path
) -> None:
    bench.load(null_bench)
    kinds = (QPushButton, QLineEdit, QComboBox, QCheckBox)
    widgets = list(chain.from_iterable(map(bench.screen.findChildren, kinds)))
    acted = [each for each in widgets if not each.objectName().startswith("qt_")]
    assert len(acted) > 20
    for widget in acted:
        assert widget.objectName(), widget
        text = widget.text() if isinstance(widget, QPushButton | QCheckBox) else ""
        assert widget.accessibleName() or text, widget.objectName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_screen_can_be_painted_in_both_themes(
    bench: Bench, null_bench: Path, name: str
) -> None:
    bench.load(null_bench)
    bench.window.shell.themes.choose(name)
    for page in ("files", "parts", "settings"):
        bench.screen.show_page(page)
        picture = bench.screen.grab().toImage()
        colours = {
            picture.pixelColor(x, y).name()
            for x, y in product(
                range(0, picture.width(), 9), range(0, picture.height(), 9)
            )
        }
        assert bench.window.shell.theme.window in colours
        assert len(colours) > 5
