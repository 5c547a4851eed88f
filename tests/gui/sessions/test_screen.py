# SPDX-License-Identifier: Apache-2.0
"""The sessions screen by clicks and keys: list, search, tags, compare, check, report,
delete."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPushButton

from gui.sessions.screen import SessionsScreen
from gui.widgets.table import DataTable
from lab.faults.forger import edit_json
from rig.api.archive import removal
from rig.api.comparing.metric_pairs import ComparisonOutcome
from rig.api.comparing.text import value_text
from rig.results.changed import CHANGED
from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three sessions: two that differ in power, and one that was killed."""
    root = tmp_path_factory.mktemp("made")
    small = ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]
    for name, more in (
        ("a-usual", []),
        ("b-hungry", ["sut.virtual.infer.power_w=0.09"]),
    ):
        with open_bench(VIRTUAL_NULL, [*small, *more, f"bench.name={name}"]) as bench:
            bench.run(2, root).folder.rename(root / name)
    shutil.copytree(root / "a-usual", root / "c-killed")
    lines = (root / "c-killed" / "events.jsonl").read_text().splitlines(keepends=True)
    (root / "c-killed" / "events.jsonl").write_text("".join(lines[:3]))
    (root / "c-killed" / "results.json").unlink()
    return root


@pytest.fixture
def screen(
    window: MainWindow, made: Path, tmp_path: Path, qtbot: QtBot
) -> SessionsScreen:
    root = tmp_path / "sessions"
    shutil.copytree(made, root)
    window.shell.memory.set("sessions", str(root))
    window.go("sessions")
    result = window.screen_named("sessions")
    assert isinstance(result, SessionsScreen)
    qtbot.waitUntil(lambda: len(result.table.rows) == 3)
    return result


def click(screen: SessionsScreen, qtbot: QtBot, name: str) -> None:
    button = screen.findChild(QPushButton, name)
    assert button.isEnabled() and button.isVisible(), name
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def choose(screen: SessionsScreen, *names: str) -> None:
    screen.table.choose_all([row for row in screen.table.rows if row.name in names])


def said(screen: SessionsScreen, name: str) -> str:
    return str(screen.findChild(QLabel, name).text())


def test_each_session_says_how_it_stands(screen: SessionsScreen) -> None:
    assert {row.name: row.outcome for row in screen.table.rows} == {
        "a-usual": "NOT TESTED",
        "b-hungry": "NOT TESTED",
        "c-killed": "killed",
    }
    choose(screen, "c-killed")
    assert said(screen, "session-outcome") == "killed"
    assert screen.findChild(QPushButton, "session-resume").isEnabled()
    assert "SIMULATED" in screen.detail.findChild(QLabel, "labels").text()
    choose(screen, "a-usual")
    assert not screen.findChild(QPushButton, "session-resume").isEnabled()
    assert "5" in said(screen, "session-reason")


@pytest.mark.posix
def test_a_session_with_a_pipe_in_it_is_shown_as_unreadable(
    screen: SessionsScreen, qtbot: QtBot
) -> None:
    broken = screen.table.rows[0].path
    (broken / "provenance.json").unlink()
    os.mkfifo(broken / "provenance.json")
    os.mkfifo(broken.parent / "tags.json")
    screen.look()
    qtbot.waitUntil(lambda: "unreadable" in [row.outcome for row in screen.table.rows])
    assert len(screen.table.rows) == 3
    choose(screen, broken.name)
    assert "provenance.json is a pipe" in said(screen, "session-reason")


def test_a_session_that_was_edited_is_marked_in_the_list_beside_it_and_in_a_comparison(
    screen: SessionsScreen, qtbot: QtBot
) -> None:
    [path] = [row.path for row in screen.table.rows if row.name == "a-usual"]
    edit_json(path / "results.json", lambda results: results.update(task="other"))
    click(screen, qtbot, "sessions-look")
    qtbot.waitUntil(lambda: any(row.changed for row in screen.table.rows))
    assert [row.name for row in screen.table.rows if row.changed] == ["a-usual"]
    choose(screen, "a-usual")
    assert said(screen, "session-outcome") == "changed after the run"
    assert "results.json was changed" in said(screen, "session-reason")
    assert CHANGED in screen.detail.findChild(QLabel, "labels").text()
    choose(screen, "a-usual", "b-hungry")
    qtbot.waitUntil(lambda: bool(screen.compared.metrics.rows))
    assert CHANGED in screen.compared.findChild(QLabel, "labels").text()
    assert "a-usual was changed after its run" in said(screen, "compare-notes")


def test_search_and_tags(screen: SessionsScreen, qtbot: QtBot) -> None:
    choose(screen, "b-hungry")
    field = screen.findChild(QLineEdit, "session-tags")
    qtbot.keyClicks(field, "good board-7")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: any(row.tags == ("good", "board-7") for row in screen.table.rows)
    )
    search = screen.findChild(QLineEdit, "sessions-search")
    qtbot.keyClick(screen, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(search.hasFocus)
    qtbot.keyClicks(search, "#good")
    assert [row.name for row in screen.table.rows] == ["b-hungry"]
    search.clear()
    qtbot.keyClicks(search, "status:killed")
    assert [row.name for row in screen.table.rows] == ["c-killed"]
    search.clear()
    qtbot.keyClicks(search, "nothing of the kind")
    assert screen.table.rows == []
    assert said(screen, "sessions-summary").startswith("0 sessions")


def test_two_are_compared_by_choosing_both(
    screen: SessionsScreen, qtbot: QtBot
) -> None:
    choose(screen, "a-usual", "b-hungry")
    qtbot.waitUntil(lambda: bool(screen.compared.metrics.rows))
    rows = {pair.name: pair for pair in screen.compared.metrics.rows}
    assert rows["energy_infer"].outcome is ComparisonOutcome.DIFFERS
    metrics = screen.compared.metrics
    assert metrics.columnWidth(1) >= metrics.sizeHintForColumn(1), "cut with room left"
    assert rows["energy_infer"].relative == pytest.approx(1.0, rel=0.03)
    changed = {change.path for change in screen.compared.changes.rows}
    assert "bench.sut.virtual.infer.power_w" in changed
    assert "without a serial number" in said(screen, "compare-notes")
    few = len(screen.compared.changes.rows)
    box = screen.findChild(QCheckBox, "compare-details")
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert len(screen.compared.changes.rows) > few
    click(screen, qtbot, "compare-swap")
    qtbot.waitUntil(lambda: bool(screen.compared.metrics.rows))
    rows = {pair.name: pair for pair in screen.compared.metrics.rows}
    assert rows["energy_infer"].relative == pytest.approx(-0.5, rel=0.03)
    qtbot.keyClick(
        screen.compared.metrics, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier
    )
    lines = QApplication.clipboard().text().splitlines()
    assert lines[0] == ", ".join(screen.compared.found.first.labels)
    assert lines[1].startswith("metric\toutcome\tB - A, ± 95 %\t")
    assert any(line.startswith("energy_infer\t") and "mJ" in line for line in lines)


def test_in_a_small_window_outcomes_and_differences_are_seen_whole(
    screen: SessionsScreen, window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(1024, 700)
    choose(screen, "a-usual", "b-hungry")
    metrics = screen.compared.metrics
    qtbot.waitUntil(lambda: bool(metrics.rows))
    seen = [head(metrics, number) for number in seen_whole(metrics)]
    assert seen == ["metric", "outcome", "B - A, ± 95 %"]
    assert [head(screen.table, number) for number in seen_whole(screen.table)] == [
        "made (UTC)",
        "bench",
        "outcome",
    ]
    pair = next(pair for pair in metrics.rows if pair.name == "energy_infer")
    metrics.choose(pair)
    text = said(screen, "compare-metric")
    assert text.startswith("energy_infer: differs: worse")
    assert (
        value_text(pair, pair.first) in text and value_text(pair, pair.second) in text
    )
    window.resize(1400, 900)
    qtbot.waitUntil(lambda: len(seen_whole(metrics)) == 5)
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: len(seen_whole(screen.table)) == 3)


def head(table: DataTable, number: int) -> str:
    return str(table.model().headerData(number, Qt.Orientation.Horizontal))


def seen_whole(table: DataTable) -> list[int]:
    """Return the columns that are seen; each without an ellipsis and without
    scrolling.
    """
    room = table.viewport().width()
    seen = [
        number
        for number in range(table.model().columnCount())
        if not table.isColumnHidden(number)
    ]
    for number in seen:
        assert table.columnWidth(number) >= table.sizeHintForColumn(number), number
        end = table.columnViewportPosition(number) + table.columnWidth(number)
        assert end <= room, number
    return seen


def test_a_killed_session_is_compared_with_what_it_has(
    screen: SessionsScreen, qtbot: QtBot
) -> None:
    choose(screen, "b-hungry", "c-killed")
    qtbot.waitUntil(lambda: bool(screen.compared.metrics.rows))
    assert "did not finish (killed)" in said(screen, "compare-notes")


def test_check_says_what_differs_first(screen: SessionsScreen, qtbot: QtBot) -> None:
    choose(screen, "a-usual")
    log = (
        next(row.path for row in screen.table.rows if row.name == "a-usual")
        / "trial-1/uart.log"
    )
    log.write_text("added\n")
    click(screen, qtbot, "session-check")
    findings = screen.findChild(DataTable, "session-findings")
    qtbot.waitUntil(lambda: findings.isVisible(), timeout=20000)
    assert [finding.ok for finding in findings.rows[:2]] == [False, True]
    assert "uart.log" in findings.rows[0].name
    choose(screen, "b-hungry")
    assert not findings.isVisible()


def test_the_report_is_written(screen: SessionsScreen, qtbot: QtBot) -> None:
    choose(screen, "a-usual")
    assert not screen.findChild(QPushButton, "session-see-report").isEnabled()
    click(screen, qtbot, "session-report")
    qtbot.waitUntil(lambda: "is written" in screen.detail.notice.text, timeout=30000)
    assert screen.findChild(QPushButton, "session-see-report").isEnabled()
    row = screen.detail.row
    assert row is not None and (row.path / "report.html").is_file()


def test_enter_opens_also_a_killed_one(
    screen: SessionsScreen, window: MainWindow, qtbot: QtBot
) -> None:
    choose(screen, "c-killed")
    qtbot.keyClick(screen.table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window.shell.session is not None
    assert window.shell.session.status == "killed"
    assert len(window.shell.session.results.trials) == 1
    assert window._stack.currentWidget().objectName() == "screen-trials"


def test_resume_leads_to_the_run_screen(
    screen: SessionsScreen, window: MainWindow, qtbot: QtBot
) -> None:
    choose(screen, "c-killed")
    click(screen, qtbot, "session-resume")
    qtbot.waitUntil(lambda: window.shell.session is not None)
    assert window._stack.currentWidget().objectName() == "screen-run"


def test_delete_asks_in_the_place_and_comes_back(
    screen: SessionsScreen, qtbot: QtBot
) -> None:
    choose(screen, "b-hungry")
    screen.table.setFocus()
    qtbot.waitUntil(screen.table.hasFocus)
    qtbot.keyClick(screen.table, Qt.Key.Key_Delete)
    assert screen.detail.question.isVisible()
    assert QApplication.activeModalWidget() is None
    qtbot.keyClick(screen.detail.question, Qt.Key.Key_Escape)
    assert not screen.detail.question.isVisible() and len(screen.table.rows) == 3
    click(screen, qtbot, "session-delete")
    click(screen, qtbot, "delete-trash")
    qtbot.waitUntil(lambda: len(screen.table.rows) == 2)
    root = screen.table.rows[0].path.parent
    assert [path.name for path in list((root / removal.TRASH).glob("*"))] == [
        "b-hungry"
    ]
    click(screen, qtbot, "delete-undo")
    qtbot.waitUntil(lambda: len(screen.table.rows) == 3)


def test_enter_answers_whether_to_delete(screen: SessionsScreen, qtbot: QtBot) -> None:
    choose(screen, "b-hungry")
    for name, left in (("delete-keep", 3), ("delete-trash", 2)):
        click(screen, qtbot, "session-delete")
        button = screen.findChild(QPushButton, name)
        qtbot.keyClick(button, Qt.Key.Key_Return)
        assert not screen.detail.question.isVisible()
        qtbot.waitUntil(lambda left=left: len(screen.table.rows) == left)


def test_for_good(screen: SessionsScreen, qtbot: QtBot) -> None:
    choose(screen, "b-hungry")
    position = next(row.path for row in screen.table.rows if row.name == "b-hungry")
    click(screen, qtbot, "session-delete")
    click(screen, qtbot, "delete-for-good")
    qtbot.waitUntil(lambda: len(screen.table.rows) == 2)
    assert (
        not position.exists()
        and list((position.parent / removal.TRASH).glob("*")) == []
    )


def test_another_folder_is_looked_at(
    screen: SessionsScreen, virtual_session: Path, qtbot: QtBot
) -> None:
    root = screen.findChild(QLineEdit, "sessions-root")
    root.setText(str(virtual_session / "missing"))
    qtbot.keyClick(root, Qt.Key.Key_Return)
    assert "is no folder" in screen.notice.text
    root.setText(str(virtual_session.parent))
    qtbot.keyClick(root, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: [row.path for row in screen.table.rows] == [virtual_session]
    )
    assert screen.notice.text == ""
