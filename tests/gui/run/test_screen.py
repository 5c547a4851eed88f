# SPDX-License-Identifier: Apache-2.0
"""The run screen by clicks and keys: a session from the plan to the verdict, stopped
and resumed, and its texts after a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel

import rig
from gui.run.record import RunningMean, RunSnapshot, RunStage
from rig.check.check import check
from rig.interfaces.console import WireLine
from rig.live.running import RunningMetric
from rig.model.metric import Prominence
from rig.session.session import open_bench
from rig.simulation.world import World
from rig.stats.interval import Interval
from rig.store.session_folder import SessionFolder
from rig.units import quantity
from tests.conftest import ROOT, VIRTUAL_NULL
from tests.gui.run.conftest import RunAt

At = Callable[[Path], RunAt]
ASC = ROOT / "benches" / "virtual-asc.toml"
FEW = ("task.asc.samples=10", "scenario.single_stream.idle_s=0.2")
#: A trial of this takes long enough to be stopped inside.
MANY = ("task.null.samples=2000", "monitor.virtual.sample_hz=50000")

SOME = 100


def test_asc_single_stream_from_the_plan_to_the_verdict(run_at: At) -> None:
    at = run_at(ASC)
    at.type_settings(*FEW)
    at.planned()
    at.until(lambda: "5 trials of 28 steps" in at.screen.plan.text)
    assert "SIMULATED" in at.screen.plan.text
    assert [row.text for row in at.screen.plan.table.rows] == [
        "2 SYNC bursts",
        "2 idle times (0.4 s)",
        "12 loads",
        "12 queries",
    ]
    at.start()
    at.until(lambda: len(at.screen.live.trials.rows) >= 1)
    at.over()
    snapshot = at.snapshot
    assert snapshot.stage is RunStage.FINISHED
    assert [row.number for row in at.screen.live.trials.rows] == [1, 2, 3, 4, 5]
    assert "SIMULATED" in at.screen.bar.labels.text()
    for table in (at.screen.live.trials, at.screen.live.metrics):
        assert table.text().startswith("SIMULATED, ")
    at.until(lambda: "PASS: " in at.screen.outcome.text)
    session = rig.open_session(snapshot.folder)
    assert session.verdict
    shown = {row.name: row for row in at.screen.live.metrics.rows}
    for name, row in shown.items():
        stated = session.metrics[name]
        assert row.value == pytest.approx(stated.value), name
        assert row.interval.low == pytest.approx(
            stated.same_samples.low, nan_ok=True
        ), name
    tiles = at.screen.live.tiles
    for place, name in enumerate(("active", "idle", "dynamic")):
        assert tiles.name(f"power-{place}") == name
        row = shown[f"power_{name}"]
        half = row.interval.expanded_uncertainty
        assert half
        assert tiles.value(f"power-{place}") == quantity(row.value, "W", half)
    assert tiles.name("right") == "right of 10"
    assert tiles.value("right").endswith(")"), "the interval is stated"
    assert tiles.value("supply") == "off"
    assert tiles.value("lost") == "0"
    assert tiles.value("retransmissions") == "0"
    assert "-" not in [label.text() for label in tiles.findChildren(QLabel)]
    assert not at.screen.live.view.frame.empty
    values = at.screen.live.metrics.text().splitlines()[2:]
    assert [line.split("\t")[-1].count("  ") for line in values] == [4] * len(values)
    assert {"preprocess", "infer"} <= set(at.screen.live.view.frame.strip.names)
    assert session.check().ok


def test_what_is_not_known_yet_is_said_once_in_each_part(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings(*MANY)
    at.planned()
    at.start()
    tiles = at.screen.live.tiles
    power = tiles.findChild(QLabel, "run-no-power")
    query = tiles.findChild(QLabel, "run-nothing")
    at.until(lambda: at.snapshot.queries > 5)
    at.screen.live.refresh_rest(at.snapshot)
    assert power.text() == "Known when the first trial has ended."
    assert [tiles.value(f"power-{place}") for place in range(3)] == ["", "", ""]
    assert tiles.value("latency") and query.isHidden()
    none = RunningMean()
    early = replace(at.snapshot, latency=none, right=none, queries=0)
    at.screen.live.refresh_rest(early)
    assert query.text() == "Known when the first query has ended."
    at.click("run-stop")
    at.over()
    assert power.isHidden() and query.isHidden()


def running(name: str, values: tuple[float, ...], interval: Interval) -> RunningMetric:
    return RunningMetric(
        name=name,
        unit="W",
        values=values,
        value=sum(values) / len(values),
        interval=interval,
        prominence=Prominence.HEADLINE,
    )


def test_a_mean_power_without_an_interval_says_why_once(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    unknown = Interval.missing("the accuracy of the instrument is not stated")
    rows = (running("power_idle", (0.012,), unknown), running("power", (1.0,), unknown))
    tiles = at.screen.live.tiles
    tiles.show_snapshot(RunSnapshot(RunStage.RUNNING, metrics=rows), 0)
    assert [tiles.value(f"power-{place}") for place in (0, 1)] == ["12 mW", "1 W"]
    assert (
        tiles.findChild(QLabel, "run-no-power").text()
        == "Uncertainty not known: the accuracy of the instrument is not stated."
    )


def test_the_values_of_five_trials_are_seen_whole_at_1400_px(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.window.resize(1400, 900)
    at.click("run-page-live")
    near = Interval.around(59.97e-3, 0.04e-3, 2.0, "")
    values = (59.9e-3, 59.98e-3, 60.06e-3, 60.04e-3, 60e-3)
    table = at.screen.live.metrics
    names = ("power_active", "power_preprocess")
    table.set_rows([running(name, values, near) for name in names])
    cell = table.model().index(0, 3)
    assert cell.data() == "59.90  59.98  60.06  60.04  60.00"
    room = table.visualRect(cell).intersected(table.viewport().rect()).width()
    assert room >= table.sizeHintForColumn(3)


def test_the_verdict_leads_to_trials_and_trace(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings(
        "task.null.samples=4", "scenario.single_stream.idle_s=0.1", "bench.trials=2"
    )
    at.planned()
    at.start()
    at.over()
    at.until(lambda: at.window.shell.session is not None)
    at.click("run-to-trials")
    assert at.window._stack.currentWidget().objectName() == "screen-trials"
    at.window.go("run")
    at.click("run-to-trace")
    assert at.window._stack.currentWidget().objectName() == "screen-trace"


def test_a_session_that_is_stopped_in_a_trial_and_resumed_is_as_one_in_one_piece(
    run_at: At, worlds: list[World], tmp_path: Path
) -> None:
    at = run_at(VIRTUAL_NULL)
    some = [
        f"task.null.samples={SOME}",
        "monitor.virtual.sample_hz=50000",
        "bench.trials=2",
    ]
    at.type_settings(*some)
    at.planned()
    at.start()
    at.until(lambda: at.snapshot.queries > 20)
    at.click("run-stop")
    at.over()
    assert at.snapshot.stage is RunStage.STOPPED
    assert not any(world.supply_on for world in worlds)
    assert "The supply is off" in at.screen.outcome.text
    assert "Resume goes on" in at.screen.outcome.text
    folder = at.snapshot.folder
    assert folder is not None
    done = len((folder / "trial-1" / "completions.jsonl").read_text().splitlines())
    assert 20 < done < SOME
    assert SessionFolder(folder).journal().status == "abort"

    at.click("run-resume")
    at.over()
    assert at.snapshot.stage is RunStage.FINISHED, at.screen.notice.text
    assert at.snapshot.folder == folder
    assert [row.number for row in at.screen.live.trials.rows] == [1, 2]
    assert not any(world.supply_on for world in worlds)
    assert check(folder).ok
    with open_bench(VIRTUAL_NULL, some) as bench:
        whole = bench.run(2, tmp_path / "whole")
    resumed = rig.open_session(folder)
    assert list(resumed.metrics) == list(whole.metrics)
    for name, metric in whole.metrics.items():
        if name.startswith(("latency_infer", "energy_infer", "power_active")):
            assert resumed.metrics[name].value == pytest.approx(
                metric.value, rel=0.05
            ), name
    assert len(resumed.samples()) == 2 * SOME


def test_closing_the_window_stops_the_run_with_the_supply_off(
    run_at: At, worlds: list[World]
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings(*MANY)
    at.planned()
    at.start()
    at.until(lambda: at.snapshot.queries > 20)
    assert any(world.supply_on for world in worlds)
    at.window.close()
    assert not at.flight.alive
    assert not any(world.supply_on for world in worlds)
    folder = at.snapshot.folder
    assert folder is not None and SessionFolder(folder).journal().status == "abort"


def test_another_scenario_and_a_claim_are_planned(run_at: At, tmp_path: Path) -> None:
    claim = tmp_path / "claim.toml"
    claim.write_text("energy_infer = 2e-3\n")
    at = run_at(VIRTUAL_NULL)
    at.fill("run-claim", str(claim))
    at.until(lambda: at.screen.plan.setup.value.claim == claim)
    assert "claim.energy_infer=0.002" in at.screen.plan.setup.value.overrides()
    at.until(lambda: "--set claim.energy_infer=0.002" in at.screen.plan.text)
    assert "Claim\tenergy_infer = 0.002" in at.screen.plan.text
    box = at.screen.findChild(QComboBox, "run-scenario")
    at.qtbot.keyClicks(box, "offline")
    at.until(lambda: "offline" in at.screen.plan.text or at.screen.plan.notice.text)
    # one of Single-stream, not of Offline
    assert "no such metric" in at.screen.plan.notice.text
    at.fill("run-claim", "")
    at.until(lambda: "offline" in at.screen.plan.text)
    assert at.screen.plan.setup.value.kinds == {"scenario": "offline"}


def test_keys_start_and_stop(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings(*MANY)
    at.planned()
    at.window.activateWindow()
    at.qtbot.keyClick(at.window, Qt.Key.Key_F5)
    at.until(lambda: at.screen.flight is not None and at.snapshot.queries > 5)
    at.qtbot.keyClick(at.window, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    at.over()
    assert at.snapshot.stage is RunStage.STOPPED


def test_a_stopped_session_that_is_opened_can_be_resumed(
    run_at: At, tmp_path: Path
) -> None:
    from rig.errors import Stopped
    from rig.host.stop import Stop
    from rig.store.events import Event, StepDone

    stop = Stop()

    def early(event: Event) -> None:
        if isinstance(event, StepDone) and event.done.number > 8:
            stop.request()

    few = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1", "bench.trials=1"]
    with pytest.raises(Stopped), open_bench(VIRTUAL_NULL, few, (early,), stop) as bench:
        bench.run(1, tmp_path)
    [folder] = [path for path in tmp_path.iterdir() if "virtual-null" in path.name]
    at = run_at(VIRTUAL_NULL)
    assert not at.screen.bar.resume.isEnabled()
    at.window.shell.open_session(folder)
    at.until(at.screen.bar.resume.isEnabled)
    at.click("run-resume")
    at.over()
    assert at.snapshot.stage is RunStage.FINISHED
    assert rig.open_session(folder).status == "success"


def test_the_console_filters_lines_as_they_come(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings("task.null.samples=4", "bench.trials=1")
    at.planned()
    at.start()
    at.over()
    log = at.flight.console
    log.add(WireLine(0.0, "tx", "text", "name%"))
    log.add(WireLine(0.0, "rx", "text", "m-name-[dut]"))
    console = at.screen.live.console
    at.click("run-page-live")
    console.refresh()
    assert console.lines.toPlainText().count("name") == 2
    at.fill("console-filter", "dut")
    assert "name%" not in console.lines.toPlainText()
    assert "m-name-[dut]" in console.lines.toPlainText()
    at.fill("console-filter", "")
    at.qtbot.keyClicks(console.direction, "tx")
    at.until(lambda: console.filter.direction)


def test_every_widget_that_is_acted_on_has_a_name(run_at: At) -> None:
    from PySide6.QtWidgets import (
        QAbstractButton,
        QAbstractSpinBox,
        QLineEdit,
        QPlainTextEdit,
    )

    at = run_at(VIRTUAL_NULL)
    kinds = (QAbstractButton, QComboBox, QPlainTextEdit, QLineEdit, QAbstractSpinBox)
    for kind in kinds:
        for result in at.screen.findChildren(kind):
            if result.objectName().startswith("qt_") or not result.isVisibleTo(
                at.screen
            ):
                continue
            assert result.objectName(), result
            assert result.accessibleName() or result.text(), result.objectName()
    for label in at.screen.findChildren(QLabel):
        assert label.textFormat() in (Qt.TextFormat.PlainText, Qt.TextFormat.AutoText)


def test_on_another_screen_the_run_goes_on_and_the_status_line_says_how_far(
    run_at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.run.screen._AWAY_MS", 200)
    at = run_at(VIRTUAL_NULL)
    at.type_settings(*MANY)
    at.planned()
    at.start()
    at.until(lambda: at.snapshot.queries > 5)
    painted = at.screen.live.view.frames_painted
    at.window.go("sessions")
    at.until(lambda: "running: trial 1" in at.window.statusBar().currentMessage())
    assert at.screen.live.view.frames_painted == painted
    at.window.go("run")
    at.until(lambda: at.screen.live.view.frames_painted > painted)
    at.click("run-stop")
    at.over()
    assert at.snapshot.stage is RunStage.STOPPED


def test_the_report_is_written_and_shown(
    run_at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    class Desktop:
        @staticmethod
        def openUrl(url: QUrl) -> None:  # noqa: N802
            shown.append(url.toLocalFile())

    monkeypatch.setattr("gui.run.screen.QDesktopServices", Desktop)
    at = run_at(VIRTUAL_NULL)
    at.type_settings(
        "task.null.samples=4", "scenario.single_stream.idle_s=0.1", "bench.trials=1"
    )
    at.planned()
    at.start()
    at.over()
    at.click("run-to-report")
    at.until(lambda: shown)
    assert shown == [str(at.snapshot.folder / "report.html")]
    assert Path(shown[0]).stat().st_size > 10_000


def test_a_file_is_chosen_in_a_dialog_that_stops_nothing(
    run_at: At, tmp_path: Path
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.click("run-claim-choose")
    dialog = at.screen.findChild(QFileDialog)
    assert dialog is not None and dialog.isVisible()
    claim = tmp_path / "claim.toml"
    claim.write_text("energy_infer = 2e-3\n")
    dialog.fileSelected.emit(str(claim))
    dialog.close()
    assert at.screen.plan.setup.value.claim == claim


def test_each_of_two_rails_is_shown(run_at: At, tmp_path: Path) -> None:
    bench = tmp_path / "two.toml"
    bench.write_text(
        '[bench]\nname = "two"\ntrials = 1\n[sut.virtual]\n'
        "[rail.core.virtual]\nshare = 0.75\n[rail.io.virtual]\nshare = 0.25\n"
        "[scenario.single_stream]\nidle_s = 0.2\n[task.null]\nsamples = 4\n"
    )
    at = run_at(bench)
    assert "core" in at.screen.plan.text and "io" in at.screen.plan.text
    at.start()
    at.over()
    box = at.screen.findChild(QComboBox, "run-rail")
    assert {box.itemText(row) for row in range(box.count())} == {"core", "io"}
    highest = {}
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Down):
        at.qtbot.keyClick(box, key)
        at.screen.live.refresh_curve()
        highest[box.currentText()] = at.screen.live.view.frame.highest_w
    assert highest["core"] == pytest.approx(3 * highest["io"], rel=0.05)


def test_space_holds_the_picture_and_lets_it_go_on(run_at: At) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings(*MANY)
    at.planned()
    at.start()
    view = at.screen.live.view
    at.until(lambda: not view.frame.empty)
    view.setFocus()
    at.qtbot.keyClick(view, Qt.Key.Key_Space)
    held = view.frame
    before = at.snapshot.queries
    at.until(lambda: at.snapshot.queries > before + 30)
    assert view.frame is held
    at.qtbot.keyClick(view, Qt.Key.Key_Space)
    at.until(lambda: view.frame is not held)
    at.click("run-stop")
    at.over()
