# SPDX-License-Identifier: Apache-2.0
"""Progress and time left of a session, from steps with times that are given."""

from __future__ import annotations

import dataclasses

import pytest

from rig.model.pace import Duration
from rig.model.steps import Idle, Load, Query
from rig.session.estimate import Estimate, StepGroup
from rig.session.time_left import TimeLeft

UNKNOWN = Duration(0.0, 20.0, expected=False)
IDLE_S = Duration(1.0, 1.2)
LOAD_S = Duration(1.0, 2.0)


def estimate(trials: int = 2) -> Estimate:
    rows = (
        StepGroup("load", "load", 10, LOAD_S.times(10)),
        StepGroup("query", "query", 10, UNKNOWN.times(10)),
        StepGroup("idle 1 s", "idle", 2, IDLE_S.times(2)),
    )
    return Estimate(
        name="b",
        task="t",
        scenario="s",
        trials=trials,
        rows=rows,
        rails=(),
        virtual=False,
        step_b=0,
        free_b=None,
    )


def test_nothing_is_reported_before_a_step_of_each_unknown_kind_was_seen() -> None:
    left = TimeLeft(estimate())
    left.trial(1)
    assert left.left_s() is None
    left.begin(Query((0,)), 0.0)
    left.end(3.0)
    # 9 + 10 queries of 3 s as seen, 20 loads and 4 idle times of 1 s as estimated
    assert left.left_s() == pytest.approx(19 * 3 + 20 + 4)


def test_what_was_seen_takes_the_place_of_the_estimate() -> None:
    left = TimeLeft(estimate(1))
    left.trial(1)
    left.begin(Load(0), 0.0)
    left.begin(Query((0,)), 0.5)  # ends the load, which is not reported
    left.end(2.5)
    assert left.left_s() == pytest.approx(9 * 0.5 + 9 * 2.0 + 2 * 1.0)


def test_the_step_at_hand_is_left_as_a_whole() -> None:
    left = TimeLeft(estimate(1))
    left.trial(1)
    left.begin(Query((0,)), 0.0)
    left.end(2.0)
    before = left.left_s()
    left.begin(Idle(1.0), 2.0)
    assert left.left_s() == before
    left.end(9.0)
    assert before is not None
    # both idle times were expected to take 1 s each, and the second now takes 7 s
    assert left.left_s() == pytest.approx(before - 2.0 + 7.0)


def test_the_share_goes_from_nothing_to_all_and_never_back() -> None:
    left = TimeLeft(estimate())
    shares = [left.share]
    at_s = 0.0
    for trial in (1, 2):
        left.trial(trial)
        for step in (Idle(1.0), *[Load(0), Query((0,))] * 10, Idle(1.0)):
            left.begin(step, at_s)
            at_s += 1.0
            left.end(at_s)
            shares.append(left.share)
        left.finish()
        shares.append(left.share)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_steps_of_before_count_in_a_resumed_trial() -> None:
    left = TimeLeft(estimate(1))
    left.trial(1)
    for _ in range(10):
        left.skip(Load(0))
        left.skip(Query((0,)))
    assert left.left_s() == pytest.approx(2.0)


def test_virtual_time_is_not_taken_for_real() -> None:
    left = TimeLeft(dataclasses.replace(estimate(), virtual=True))
    left.trial(1)
    left.begin(Query((0,)), 0.0)
    left.end(0.001)
    assert left.left_s() is None  # loads and idle times were not seen yet
    left.begin(Load(0), 0.001)
    left.begin(Idle(1.0), 0.002)
    left.end(0.003)
    assert left.left_s() == pytest.approx((19 + 19 + 3) * 0.001)


def test_a_plan_that_turns_out_longer_does_no_harm() -> None:
    left = TimeLeft(estimate(1))
    left.trial(1)
    for at_s in range(30):
        left.begin(Query((0,)), float(at_s))
        left.end(at_s + 1.0)
    left.begin(Query((0, 1), batch=True), 30.0)
    left.end(31.0)
    assert left.left_s() == pytest.approx(12.0)
    assert 0.0 <= left.share <= 1.0
