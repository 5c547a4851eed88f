# SPDX-License-Identifier: Apache-2.0
"""The state of a running session: after the last trial its metrics are those of
results.json."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.live.running import RunningSession, RunState
from rig.model.steps import Idle
from rig.session import session
from rig.session.session import open_bench
from rig.store.events import (
    Event,
    SessionResumed,
    SessionStarted,
    StepBegun,
    TrialFinished,
)
from tests.conftest import VIRTUAL_NULL

QUICK = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]


class Watched:
    """A running session, and its state after each event of a kind."""

    def __init__(self, kind: type) -> None:
        self.running = RunningSession()
        self.states: list[RunState] = []
        self._kind = kind

    def __call__(self, event: Event) -> None:
        self.running(event)
        if isinstance(event, self._kind):
            self.states.append(self.running.state)


def test_metrics_so_far_become_those_of_the_results(tmp_path: Path) -> None:
    watched = Watched(TrialFinished)
    with open_bench(VIRTUAL_NULL, QUICK, (watched,)) as bench:
        result = bench.run(3, tmp_path)
    assert [state.finished for state in watched.states] == [1, 2, 3]
    stated = result.results.metrics
    last = {metric.name: metric for metric in watched.states[-1].metrics}
    assert set(last) == set(stated)
    for name, row in stated.items():
        if row.value is not None:
            assert last[name].value == pytest.approx(row.value, rel=1e-12), name
        if row.same_samples.low is not None:
            assert last[name].interval.low == pytest.approx(
                row.same_samples.low, rel=1e-12
            ), name
    first = {metric.name: metric for metric in watched.states[0].metrics}
    assert len(first["latency_infer"].values) == 1
    assert (
        watched.running.state.status == "success" and watched.running.state.share == 1
    )


def test_the_share_never_falls_and_the_time_that_is_left_runs_on(
    tmp_path: Path,
) -> None:
    watched = Watched(StepBegun)
    with open_bench(VIRTUAL_NULL, QUICK, (watched,)) as bench:
        bench.run(2, tmp_path)
    shares = [state.share for state in watched.states]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] > 0.8
    assert watched.states[-1].left_s is not None
    assert watched.running.state.left_s is None  # it is over


def test_the_time_left_is_less_by_what_the_step_at_hand_took():
    now_s = [100.0]
    running = RunningSession(clock=lambda: now_s[0])
    running(StepBegun(1, 1, Idle(2.0), share=0.5, left_s=10.0))
    assert running.state.left_s == 10.0
    now_s[0] += 1.5
    assert running.state.left_s == 8.5
    now_s[0] += 100
    assert running.state.left_s == 0.0


def test_a_resumed_session_counts_on(tmp_path: Path) -> None:
    class Enough:
        done = 0

        def __call__(self, event: Event) -> None:
            if isinstance(event, StepBegun):
                self.done += 1
                if self.done == 25:
                    raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        open_bench(VIRTUAL_NULL, QUICK, (Enough(),)) as bench,
    ):
        bench.run(2, tmp_path)
    (folder,) = tmp_path.iterdir()
    watched = Watched(SessionResumed)
    session.resume(folder, (watched,))
    begun = watched.states[0]
    assert (begun.trials_due, begun.finished) == (2, 1)
    end = watched.running.state
    assert all(len(metric.values) == 2 for metric in end.metrics)
    assert (end.finished, end.trial, end.queries, end.status) == (
        2,
        2,
        end.queries_due,
        "success",
    )


def test_a_new_session_on_the_same_bench_begins_again(tmp_path: Path) -> None:
    watched = Watched(SessionStarted)
    with open_bench(VIRTUAL_NULL, QUICK, (watched,)) as bench:
        bench.run(1, tmp_path / "one")
        bench.run(1, tmp_path / "two")
    assert [state.finished for state in watched.states] == [0, 0]
    assert watched.running.state.finished == 1
