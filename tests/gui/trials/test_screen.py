# SPDX-License-Identifier: Apache-2.0
"""The trials screen by clicks and keys: the odd trial, claims, sessions in a bad
state."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QPushButton

from lab.faults.forger import edit_json
from rig.api.trials.replication import AUDIT, REPLICATION, what_if
from rig.results.changed import CHANGED
from tests.length import length

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.trials.screen import TrialsScreen
    from gui.window import MainWindow

ENERGY = "energy_infer"


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> TrialsScreen:
    """Open a session and show the trials screen when it has read it."""
    window.go("trials")
    window.open_session(path)
    screen = cast("TrialsScreen", window.screen_named("trials"))
    qtbot.waitUntil(lambda: window.shell.session is not None, timeout=20_000)
    qtbot.waitUntil(lambda: not window.shell.worker.busy, timeout=20_000)
    qtbot.waitUntil(
        lambda: "Reading" not in text(screen, "trials-headline"), timeout=5_000
    )
    return screen


def text(screen: TrialsScreen, name: str) -> str:
    label = screen.findChild(QLabel, name)
    assert label is not None
    return label.text()


def test_the_screen_points_at_the_trial_that_drifts(
    window: MainWindow, qtbot: QtBot, drifting_session: Path
) -> None:
    screen = opened(window, qtbot, drifting_session)
    assert "FAIL: " in text(screen, "trials-headline")
    assert text(screen, "trials-findings").startswith("Trial 4 is the odd one: +")
    # The pictures come after the metrics.
    drift = "In the course of trial 4 the energy of"
    qtbot.waitUntil(lambda: drift in text(screen, "trials-findings"), timeout=20_000)
    titles = [screen.tabs.tabText(position) for position in range(screen.tabs.count())]
    assert titles == ["Replication", "Within trials", "Table"]
    assert "SIMULATED" in text(screen, "labels")
    view = screen.view
    assert view is not None and view.drifts.pointed is not None
    assert screen.dots.current == view.drifts.pointed.metric, "its metric is at hand"
    button = screen.findChild(QPushButton, "trials-odd-trace")
    assert button is not None and "trial 4" in button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window._stack.currentWidget().objectName() == "screen-trace"


def test_a_sentence_that_grows_has_its_height(
    window: MainWindow, qtbot: QtBot, drifting_session: Path
) -> None:
    window.resize(1024, 700)
    window.open_session(drifting_session)
    qtbot.waitUntil(lambda: window.shell.session is not None)
    screen = opened(window, qtbot, drifting_session)
    drift = "In the course of trial 4 the energy of"
    qtbot.waitUntil(lambda: drift in text(screen, "trials-findings"))
    label = screen.findChild(QLabel, "trials-findings")
    assert label is not None
    qtbot.wait(100)
    assert label.height() >= label.heightForWidth(label.width())


def test_the_legend_has_the_signs_that_the_dots_have(
    window: MainWindow, qtbot: QtBot, drifting_session: Path, virtual_session: Path
) -> None:
    screen = opened(window, qtbot, drifting_session)
    legend = text(screen, "trials-legend")
    assert "Ring with a number: the odd trial." in legend
    assert "Red: more than 5 % away." in legend
    assert "Hollow" not in legend and "Triangle" not in legend
    screen = opened(window, qtbot, virtual_session)
    qtbot.waitUntil(lambda: "Ring" not in text(screen, "trials-legend"))
    assert "Red" not in text(screen, "trials-legend")


def test_arrows_and_clicks_take_another_metric_in_hand(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen = opened(window, qtbot, virtual_session)
    names = [metric.name for metric in screen.dots.metrics]
    assert names[:2] == ["accuracy", "latency_preprocess"] or len(names) > 4
    qtbot.keyClick(screen.dots, Qt.Key.Key_Home)
    qtbot.keyClick(screen.dots, Qt.Key.Key_Down)
    assert screen.dots.current == names[1]
    assert text(screen, "trials-metric-title").startswith(names[1])
    qtbot.keyClick(screen.dots, Qt.Key.Key_End)
    assert screen.dots.current == names[-1]
    from gui.trials import dots

    row = names.index(ENERGY)
    middle = round(dots._HEAD_PX + (row + 0.5) * dots._ROW_PX)
    point = QPoint(screen.dots.width() // 2, middle)
    qtbot.mouseClick(screen.dots, Qt.MouseButton.LeftButton, pos=point)
    assert screen.dots.current == ENERGY
    assert screen.detail.budget.lines
    assert "Improve first" in text(screen, "trials-advice")


def test_typing_filters_the_metrics(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen = opened(window, qtbot, virtual_session)
    few = len(screen.dots.metrics)
    qtbot.mouseClick(screen.details, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert len(screen.dots.metrics) > few, "details are shown"
    qtbot.keyClicks(screen.filter, "energy")
    assert all("energy" in metric.name for metric in screen.dots.metrics)
    qtbot.keyClicks(screen.filter, " no such")
    assert screen.dots.metrics == ()
    screen.filter.clear()
    assert screen.dots.current != ""


def test_the_slider_judges_a_claim_by_both_rules(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen = opened(window, qtbot, virtual_session)
    screen.dots.choose_named(ENERGY)
    what = screen.detail.what_if
    assert screen.view is not None
    average = screen.view.of(ENERGY).mean
    assert what.found is not None and what.found.claimed == pytest.approx(average)
    for _ in range(6):
        qtbot.keyClick(what.slider, Qt.Key.Key_PageUp)
    assert what.found.claimed == pytest.approx(1.06 * average)
    assert what.texts()[REPLICATION].startswith("✗ does not hold: off by −5.7 %")
    assert what.texts()[AUDIT].startswith("✓ holds: better by 5.7 %")
    asked = what_if(screen.view.results, ENERGY, what.found.claimed)
    assert what.found.verdicts == asked.verdicts


def test_a_claim_is_entered_as_a_number(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    screen = opened(window, qtbot, virtual_session)
    screen.dots.choose_named(ENERGY)
    what = screen.detail.what_if
    assert what.entry.suffix() == " mJ"
    assert what.entry.lineEdit().width() > 80, "the number has room"
    what.entry.selectAll()
    qtbot.keyClicks(what.entry, "3")
    qtbot.keyClick(what.entry, Qt.Key.Key_Return)
    assert what.found is not None and what.found.claimed == pytest.approx(3e-3)
    assert what.slider.value() == what.slider.maximum(), "beyond the slider"
    assert what.texts()[REPLICATION].startswith("✗")
    qtbot.mouseClick(what.back, Qt.MouseButton.LeftButton)
    assert what.texts()[REPLICATION].startswith("✓")


def test_the_other_theme_keeps_what_is_shown(
    window: MainWindow, qtbot: QtBot, drifting_session: Path
) -> None:
    screen = opened(window, qtbot, drifting_session)
    before = text(screen, "trials-metric-title")
    for name in ("dark", "light"):
        window.shell.themes.choose(name)
        assert not screen.grab().isNull()
    assert text(screen, "trials-metric-title") == before


def test_a_session_that_was_cut_off_shows_what_it_has(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, tmp_path: Path
) -> None:
    cut = shutil.copytree(virtual_session, tmp_path / "cut")
    lines = (cut / "events.jsonl").read_text().splitlines(keepends=True)
    ends = [
        position for position, line in enumerate(lines) if '"trial_finished"' in line
    ]
    (cut / "events.jsonl").write_text("".join(lines[: ends[2] + 1]))
    (cut / "results.json").unlink()
    screen = opened(window, qtbot, cut)
    assert screen.view is not None
    assert len(screen.view.of(ENERGY).dots) == 3
    assert "did not finish" in screen.notice.text
    what = screen.detail.what_if
    assert "3 trials" in what.texts()[REPLICATION]


def test_a_session_without_a_finished_trial_is_a_sentence(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, tmp_path: Path
) -> None:
    cut = shutil.copytree(virtual_session, tmp_path / "cut")
    lines = (cut / "events.jsonl").read_text().splitlines(keepends=True)
    (cut / "events.jsonl").write_text("".join(lines[:2]))
    (cut / "results.json").unlink()
    screen = opened(window, qtbot, cut)
    assert "no trial has finished" in text(screen, "trials-headline")


def test_a_session_that_was_edited_does_not_replicate_and_is_marked(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, tmp_path: Path
) -> None:
    edited = shutil.copytree(virtual_session, tmp_path / "edited")
    edit_json(edited / "results.json", lambda results: results.update(monitor="other"))
    screen = opened(window, qtbot, edited)
    assert text(screen, "trials-headline").startswith("✗ INVALID: results.json")
    assert CHANGED in text(screen, "labels")


def test_results_that_are_nonsense_are_a_notice(
    window: MainWindow, qtbot: QtBot, virtual_session: Path, tmp_path: Path
) -> None:
    broken = shutil.copytree(virtual_session, tmp_path / "broken")
    (broken / "results.json").write_text('{"schema": "neurorig-results-99"}')
    window.go("trials")
    window.open_session(broken)
    screen = cast("TrialsScreen", window.screen_named("trials"))
    qtbot.waitUntil(lambda: screen.notice.text != "", timeout=20_000)
    assert "neurorig-results" in screen.notice.text
    assert screen.tabs.isHidden()


def test_no_number_of_the_table_is_cut(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    from PySide6.QtWidgets import QTabWidget

    from gui.widgets.table import DataTable

    screen = opened(window, qtbot, virtual_session)
    table = screen.findChild(DataTable, "trials-table")
    assert table is not None
    screen.findChild(QTabWidget).setCurrentWidget(table.parentWidget())
    for number in (1, *range(7, table.model().columnCount())):
        assert table.columnWidth(number) >= table.sizeHintForColumn(number), number


def test_all_values_can_be_copied_as_a_table(
    window: MainWindow, qtbot: QtBot, virtual_session: Path
) -> None:
    from gui.widgets.table import DataTable

    screen = opened(window, qtbot, virtual_session)
    table = screen.findChild(DataTable, "trials-table")
    assert table is not None
    lines = table.text().splitlines()
    assert lines[0].startswith("SIMULATED, ")
    assert lines[1].split("\t")[:3] == ["metric", "value", "unit"]
    assert lines[1].endswith("trial 5")
    assert any(line.startswith(ENERGY) for line in lines)


@pytest.mark.parametrize("seed", range(length(4, 1)))
def test_clicks_and_keys_in_any_order_do_no_harm(
    window: MainWindow,
    qtbot: QtBot,
    drifting_session: Path,
    virtual_session: Path,
    seed: int,
) -> None:
    screen = opened(window, qtbot, drifting_session)
    source = random.Random(seed)
    widgets = [
        screen.dots,
        screen.filter,
        screen.detail.what_if.slider,
        screen.tabs.tabBar(),
    ]
    keys = [
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_E,
        Qt.Key.Key_Backspace,
        Qt.Key.Key_A,
    ]
    for _ in range(40):
        widget = source.choice(widgets)
        if source.random() < 0.6:
            qtbot.keyClick(widget, source.choice(keys))
        else:
            at = QPoint(
                source.randrange(widget.width()), source.randrange(widget.height())
            )
            qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at)
        if source.random() < 0.05:
            window.open_session(source.choice([drifting_session, virtual_session]))
    qtbot.waitUntil(lambda: not window.shell.worker.busy, timeout=20_000)
    qtbot.waitUntil(lambda: screen.view is not None, timeout=20_000)
    assert not screen.grab().isNull()
