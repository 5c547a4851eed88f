# SPDX-License-Identifier: Apache-2.0
"""The window asks for facts that a trace file lacks, and opens it with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QToolButton,
)

from gui.command import view
from rig.cli.measure import measure
from rig.errors import RigError
from rig.importers.options import Options, flag
from rig.settings.fields import fields_of
from tests.rig.importers.profilers.test_ppk2 import HIGH, LOW, archive, frame

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

#: Three pulses of SYNC, during which the current is higher.
PULSES = [(k // 1000) % 2 for k in range(7000)]
OPTIONS = ["--supply-v", "3.3", "--sync", "D2"]


@pytest.fixture
def ppk2(tmp_path: Path) -> Path:
    rows = (frame(100.0 + 900.0 * low, {2: LOW if low else HIGH}) for low in PULSES)
    path = tmp_path / "recordings" / "sensor.ppk2"
    path.parent.mkdir()
    path.write_bytes(archive(b"".join(rows)))
    return path


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    """The whole window, as `rig gui` shows it."""
    from gui.memory import Memory
    from gui.window import MainWindow

    made = MainWindow(Memory(tmp_path / "config" / "gui.json"))
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()


def measured(path: Path, *options: str) -> list[dict[str, Any]]:
    """Return the windows that `rig measure` finds."""
    done = CliRunner().invoke(measure, [str(path), "--json", *options])
    assert done.exit_code == 0, done.output
    windows: list[dict[str, Any]] = json.loads(done.stdout)["windows"]
    return windows


def refused(path: Path, *options: str) -> str:
    """Return what `rig measure` says of a file that it cannot open."""
    with pytest.raises(RigError) as caught:
        CliRunner().invoke(measure, [str(path), *options], catch_exceptions=False)
    return " ".join(str(caught.value).split())


def click(window: MainWindow, qtbot: QtBot, kind: type[Any], name: str) -> Any:
    result = [each for each in window.findChildren(kind, name) if each.isVisible()]
    assert result, f"no {name} is shown"
    qtbot.mouseClick(result[0], Qt.MouseButton.LeftButton)
    return result[0]


def fill(window: MainWindow, qtbot: QtBot, name: str, text: str) -> None:
    """Click into a field of the form, and type in the place of its text."""
    field = click(window, qtbot, QLineEdit, f"file-form-{name}")
    field.selectAll()
    qtbot.keyClicks(field, text)


def pick(window: MainWindow, qtbot: QtBot, name: str, text: str) -> None:
    """Click on the arrow of a field, and on one of the choices below."""
    box = next(
        each for each in window.findChildren(QComboBox) if each.accessibleName() == name
    )
    arrow = QPoint(box.width() - 6, box.height() // 2)
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=arrow)
    listed = box.view()
    qtbot.waitUntil(listed.isVisible)
    index = listed.model().index(box.findText(text), 0)
    listed.scrollTo(index)
    at = listed.visualRect(index).center()
    qtbot.mouseMove(listed.viewport(), at)
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.waitUntil(lambda: box.currentText() == text)


def shown(window: MainWindow, qtbot: QtBot) -> Any:
    """Wait until a trace and its numbers are there."""
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: screen.state is not None and screen.idle())
    return screen


def choose_file(window: MainWindow, qtbot: QtBot, path: Path) -> None:
    """Click on a file in the dialog, and on its Open."""
    dialog = window.findChild(QFileDialog)
    assert dialog is not None and dialog.isVisible()
    dialog.setDirectory(str(path.parent))
    listed = dialog.findChild(QListView, "listView")

    def place() -> Any:
        model, root = listed.model(), listed.rootIndex()
        rows = [model.index(row, 0, root) for row in range(model.rowCount(root))]
        return next((row for row in rows if row.data() == path.name), None)

    qtbot.waitUntil(lambda: place() is not None)
    at = listed.visualRect(place()).center()
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=at)
    box = dialog.findChild(QDialogButtonBox)
    button = box.button(QDialogButtonBox.StandardButton.Open)
    qtbot.waitUntil(button.isEnabled)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_recording_is_opened_by_mouse_and_has_the_energies_of_rig_measure(
    window: MainWindow, ppk2: Path, qtbot: QtBot
) -> None:
    click(window, qtbot, QPushButton, "start-trace-path-choose")
    choose_file(window, qtbot, ppk2)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(screen.form.isVisible)
    output = " ".join(screen.notice.text.split())
    assert refused(ppk2) in output and "--supply-v" in output
    # Name and labels of an earlier trace are not those of this file.
    assert not screen.header.isVisible()
    labels = [
        label.text() for label in screen.form.findChildren(QLabel) if label.buddy()
    ]
    assert labels == ["--supply-v", "--sync", "--rate"]
    rate = screen.form.findChild(QLineEdit, "file-form-rate_hz")
    assert rate.placeholderText() == "the file says 100 kHz"

    fill(window, qtbot, "supply_v", "3,3 V")
    pick(window, qtbot, "--sync", "D2")
    command = screen.form.findChild(QLabel, "file-form-command").text()
    assert command.endswith(f"rig measure {ppk2} {' '.join(OPTIONS)}")
    click(window, qtbot, QPushButton, "file-form-open")
    shown(window, qtbot)

    assert not screen.form.isVisible() and screen.notice.text == ""
    assert screen.header.isVisible()
    trace = screen.state.subject.trace
    windows = measured(ppk2, *OPTIONS, "--edges", "fall-rise")
    assert len(windows) == 3
    for each in windows:
        start_s, stop_s = each["start_s"], each["start_s"] + each["duration_s"]
        result = trace.statistics(start_s, stop_s)
        assert result.energy_j == pytest.approx(each["energy_j"], rel=1e-12)
        assert result.energy_j == pytest.approx(1e-3 * 3.3 * 0.01, rel=1e-5)


def test_what_was_answered_is_remembered_and_can_be_changed(
    window: MainWindow, ppk2: Path, qtbot: QtBot
) -> None:
    window.open_path(ppk2)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(screen.form.isVisible)
    fill(window, qtbot, "supply_v", "three")
    click(window, qtbot, QPushButton, "file-form-open")
    assert "'three' is no number" in screen.notice.text and screen.form.isVisible()
    fill(window, qtbot, "supply_v", "3")
    click(window, qtbot, QPushButton, "file-form-open")
    first = shown(window, qtbot).state
    assert not first.subject.has_sync

    # Opened again in the same run, it is not asked for.
    window.open_path(ppk2)
    qtbot.waitUntil(lambda: screen.state is not first and screen.idle())
    assert not screen.form.isVisible()

    second = screen.state
    click(window, qtbot, QToolButton, "tool-file")
    qtbot.waitUntil(screen.form.isVisible)
    assert not screen.stack.isVisible()
    assert screen.form.findChild(QLineEdit, "file-form-supply_v").text() == "3 V"
    click(window, qtbot, QPushButton, "file-form-cancel")
    assert screen.stack.isVisible() and screen.state is second
    click(window, qtbot, QToolButton, "tool-file")
    qtbot.waitUntil(screen.form.isVisible)
    fill(window, qtbot, "sync", "D2")
    qtbot.keyClick(
        screen.form.findChild(QLineEdit, "file-form-sync"), Qt.Key.Key_Return
    )
    qtbot.waitUntil(lambda: screen.state is not second and screen.idle())
    assert screen.state.subject.has_sync and screen.stack.isVisible()


def test_a_table_without_units_is_opened_by_its_columns(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"{k},{1 + k % 7},{(k // 10) % 2}\n" for k in range(300))
    path.write_text(f"t,I,trigger\n{rows}")
    options = [
        "--time",
        "t:ms",
        "--current",
        "I:mA",
        "--supply-v",
        "3",
        "--sync",
        "trigger",
    ]
    window.open_path(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(screen.form.isVisible)
    assert refused(path) in " ".join(screen.notice.text.split())
    pick(window, qtbot, "--time", "t:ms")
    pick(window, qtbot, "--current", "I:mA")
    fill(window, qtbot, "supply_v", "3")
    click(window, qtbot, QPushButton, "file-form-open")
    assert not shown(window, qtbot).state.subject.has_sync
    click(window, qtbot, QToolButton, "tool-file")
    qtbot.waitUntil(screen.form.isVisible)
    before = screen.state
    pick(window, qtbot, "--sync", "trigger")
    click(window, qtbot, QPushButton, "file-form-open")
    qtbot.waitUntil(lambda: screen.state is not before and screen.idle())
    trace = screen.state.subject.trace
    for each in measured(path, *options):
        result = trace.statistics(each["start_s"], each["start_s"] + each["duration_s"])
        assert result.energy_j == pytest.approx(each["energy_j"], rel=1e-12)


def test_what_no_option_opens_is_reported_and_not_asked_for(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "broken.ppk2"
    path.write_bytes(archive(frame(1.0))[:50])
    window.open_path(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(lambda: "damaged" in screen.notice.text)
    qtbot.waitUntil(screen.idle)
    assert not screen.form.isVisible()


def test_all_three_have_the_same_options(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    """An option that is added to the list is one of measure, view and the form."""
    fields = fields_of(Options)
    wanted = {(flag(field.name), field.help) for field in fields}
    for command in (measure, view):
        result = {(each.opts[0], getattr(each, "help", "")) for each in command.params}
        assert wanted <= result
    # A table takes all of them but the source, which a JLS file alone has.
    path = tmp_path / "log.csv"
    path.write_text("t,I\n0,1\n1,1\n2,1\n")
    window.open_path(path)
    screen: Any = window.screen_named("trace")
    qtbot.waitUntil(screen.form.isVisible)
    labels = {
        label.text() for label in screen.form.findChildren(QLabel) if label.buddy()
    }
    assert labels == {flag(field.name) for field in fields} - {"--source"}
