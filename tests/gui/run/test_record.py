# SPDX-License-Identifier: Apache-2.0
"""The record of a run in progress, and its texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gui.run import run_text
from gui.run.record import (
    RunningMean,
    RunRecord,
    RunSnapshot,
    RunStage,
    TrialRow,
    powers,
    shown_metrics,
)
from rig.errors import BenchError, Stopped
from rig.live.running import RunningMetric
from rig.model.completion import END, Completion, Mark
from rig.model.metric import Prominence
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Query
from rig.stats.interval import Interval
from rig.store.events import (
    Opening,
    PartOpened,
    RailState,
    SessionFinished,
    SessionStarted,
    StepBegun,
    StepDone,
    TrialStarted,
)

ABOUT = {
    "simulated": True,
    "task": {
        "phases": ["preprocess", "infer"],
        "name": "t",
        "samples": 3,
        "source": "random",
    },
}


def started(record: RunRecord) -> None:
    record.take(Opening("sut", "virtual"))
    record.take(RailState("", True))
    record.take(SessionStarted(Path("s"), 2, 10, ABOUT))
    record.take(TrialStarted(1, 7, Path("s/trial-1")))


def answered(number: int, right: bool, ticks: int) -> StepDone:
    completion = Completion(
        (Mark(1, 0), Mark(2, 5), Mark(END, ticks)), retransmissions=1
    )
    return StepDone(
        1, StepRecord(number, Query((0,)), completion, Score(right, "a", "b"))
    )


def test_a_run_is_reported_from_opening_to_its_end() -> None:
    now = [100.0]
    record = RunRecord(lambda: now[0])
    record.take(Opening("monitor", "joulescope", "core"))
    assert record.snapshot().stage is RunStage.OPENING
    assert (
        run_text.progress(record.snapshot())
        == "opening monitor joulescope of rail core"
    )
    started(record)
    assert record.phases == ("preprocess", "infer")
    assert "SIMULATED" in record.snapshot().labels
    record.take(StepBegun(1, 4, Query((3,)), share=0.25, left_s=60.0))
    now[0] += 1.5
    snapshot = record.snapshot()
    assert snapshot.left_s == pytest.approx(58.5)
    assert "trial 1 of 2" in run_text.progress(snapshot)
    assert "59 s left" in run_text.progress(snapshot)
    now[0] += 100.0
    assert record.snapshot().left_s == 0.0
    assert run_text.supply(snapshot) == ("on", "ok")
    record.take(SessionFinished("success"))
    record.take(RailState("", False))
    record.ended(None)
    snapshot = record.snapshot()
    assert (snapshot.stage, snapshot.share, snapshot.left_s) == (
        RunStage.FINISHED,
        1.0,
        None,
    )
    assert run_text.supply(snapshot) == ("off", "")


def test_of_the_trial_at_hand_the_running_mean_and_its_error_are_kept() -> None:
    record = RunRecord(lambda: 0.0)

    class Info:
        tick_hz = 1000

    record.take(PartOpened("sut", "virtual", Info()))  # type: ignore[arg-type]
    started(record)
    for number, (right, ticks) in enumerate(
        [(True, 10), (True, 12), (False, 14), (True, 12)]
    ):
        record.take(answered(number, right, ticks))
    snapshot = record.snapshot()
    assert snapshot.queries == 4
    assert snapshot.right.mean == pytest.approx(0.75)
    assert snapshot.latency.mean == pytest.approx(0.012)
    assert snapshot.latency.error == pytest.approx(0.0008165, rel=1e-3)
    assert run_text.right_share(snapshot) == "75.0 % (19 to 99)", (
        "Clopper and Pearson of 3 in 4"
    )
    assert run_text.latency(snapshot) == "12.0 ± 2.6 ms", (
        "3.18 standard errors: Student's t of four values"
    )
    assert snapshot.retransmissions == 4
    record.take(StepDone(1, StepRecord(9, Idle(1.0), Completion(()))))
    warm = Query((0,), warmup=True)
    record.take(
        StepDone(1, StepRecord(9, warm, Completion((Mark(1, 0), Mark(END, 999)))))
    )
    assert record.snapshot().latency.count == 4, "neither idle times nor warm-up count"


def test_running_is_exact() -> None:
    running = RunningMean()
    for value in (1e9 + 1, 1e9 + 2, 1e9 + 3):
        running = running.with_value(value)
    assert running.error == pytest.approx(1 / 3**0.5)
    assert RunningMean().with_value(3.0).error is None


def test_stop_is_reported_at_once_and_stays() -> None:
    record = RunRecord(lambda: 0.0)
    started(record)
    record.stopping()
    record.take(TrialStarted(2, 7, Path("s/trial-2")))
    assert record.snapshot().stage is RunStage.STOPPING
    record.take(RailState("", False))
    record.ended(Stopped())
    assert record.snapshot().stage is RunStage.STOPPED
    assert "Resume goes on" in run_text.outcome(record.snapshot())


def test_a_supply_is_off_where_the_engine_said_so_and_not_because_it_has_ended():
    record = RunRecord(lambda: 0.0)
    started(record)
    record.ended(BenchError("the instrument is gone"))
    snapshot = record.snapshot()
    assert snapshot.powered
    assert run_text.supply(snapshot) == ("MAY STILL BE ON", "bad")
    assert "SUPPLY MAY STILL BE ON" in run_text.outcome(snapshot)
    other = RunRecord(lambda: 0.0)
    started(other)
    other.take(RailState("", False))
    other.ended(BenchError("the device is gone"))
    assert not other.snapshot().powered
    assert run_text.outcome(other.snapshot()).startswith(
        "The supply is off; the session is kept"
    )


def test_an_error_that_knows_the_supply_to_be_off_is_believed() -> None:
    class KnownOffError(BenchError):
        supply_is_off = True

    record = RunRecord(lambda: 0.0)
    started(record)
    record.ended(KnownOffError("the instrument does not answer"))
    assert run_text.supply(record.snapshot()) == ("off", "")


def metric(
    name: str, interval: Interval, prominence: Prominence = Prominence.MAIN
) -> RunningMetric:
    return RunningMetric(
        name, "W", (0.99, 1.0, 1.01), 1.0, interval=interval, prominence=prominence
    )


def test_a_metric_is_reported_with_its_interval_whatever_form_that_has() -> None:
    around = metric("power_idle", Interval.around(1.0, 0.0125, 2.0, "GUM"))
    assert run_text.metric_mean(around) == "1.000 ± 0.025 W"
    assert run_text.metric_farthest(around) == "1 %"
    assert run_text.metric_values(around) == "0.990  1.000  1.010"
    apart = metric("power_idle", Interval(0.9, 1.2, "binomial"))
    assert run_text.metric_mean(apart) == "1 W  (0.90 to 1.20)"
    none = metric("power_idle", Interval.missing("one trial"))
    assert run_text.metric_mean(none) == "1 W  (not known: one trial)"


def test_headlines_come_first_and_details_are_left_out() -> None:
    none = Interval.missing("one trial")
    rows = shown_metrics(
        [
            metric("energy_infer", none),
            metric("latency_p50", none, Prominence.DETAIL),
            metric("power_idle", none),
            metric("accuracy", none, Prominence.HEADLINE),
        ]
    )
    assert [row.name for row in rows] == ["accuracy", "energy_infer", "power_idle"]
    joules = replace(rows[0], unit="J")
    assert powers((joules, *rows[1:])) == rows[1:]


def test_a_trial_is_valid_or_says_why_not() -> None:
    lacking = TrialRow(2, ("sync: no edge",), None)
    assert run_text.trial_state(lacking) == "sync: no edge"
    assert run_text.trial_time(lacking) == "before"
    assert run_text.trial_state(TrialRow(1, (), 61.0)) == "valid"
    assert run_text.trial_time(TrialRow(1, (), 61.0)) == "1 min 1 s"


def test_ready_makes_no_statement_about_an_outcome() -> None:
    assert run_text.outcome(RunSnapshot()) == ""
    assert run_text.supply(RunSnapshot()) == ("not switched", "")


def test_of_a_supply_that_the_rig_does_not_switch_nothing_is_claimed() -> None:
    class Counter:
        switches = False

    record = RunRecord(lambda: 0.0)
    record.take(PartOpened("monitor", "rapl", Counter()))  # type: ignore[arg-type]
    started(record)
    assert record.snapshot().rails == {}
    record.ended(BenchError("the counter is gone"))
    assert run_text.outcome(record.snapshot()).startswith(
        "Nothing was switched on; the session"
    )
    assert run_text.supply(record.snapshot()) == ("not switched", "")


def test_interleaved_trials_are_reported_as_the_one_recording_that_they_are() -> None:
    record = RunRecord(lambda: 0.0)
    record.take(SessionStarted(Path("s"), 5, 10, ABOUT | {"interleaved": True}))
    record.take(TrialStarted(1, 7, Path("s/trial-1")))
    for trial in (1, 2):
        record.take(StepBegun(trial, trial, Query((0,)), share=0.25, left_s=60.0))
        record.take(answered(trial, True, 9))
    output = run_text.progress(record.snapshot())
    assert "5 interleaved trials" in output and "2 of 50 queries" in output
    record.take(TrialStarted(2, 7, Path("s/trial-2"), recorded=True))
    assert run_text.progress(record.snapshot()) == output
