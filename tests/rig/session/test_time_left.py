# SPDX-License-Identifier: Apache-2.0
"""Progress and time left of a session, from steps with times that are given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rig.model.steps import Idle, Load, Query, Step
from rig.session.estimate import Estimate, StepGroup
from rig.session.time_left import TimeLeft

#: A trial of 12 steps: idle times of 5 s around loads of 1 s and queries of 3 s.
TIMES_S = {"idle": 5.0, "load": 1.0, "query": 3.0}
TRIAL = (Idle(5.0), *[Load(0), Query((0,))] * 5, Idle(5.0))
TRIAL_S = 2 * 5 + 5 * 1 + 5 * 3


def estimate(trials: int = 2, *, interleaved: bool = False) -> Estimate:
    rows = []
    for kind, count in (("idle", 2), ("load", 5), ("query", 5)):
        row = StepGroup(
            kind=kind,
            text="",
            count=count,
            known_s=0.0,
            is_whole=False,
            once=kind == "load",
        )
        rows.append(row)
    return Estimate(
        task="t",
        scenario="s",
        trials=trials,
        rows=tuple(rows),
        rails=(),
        virtual=False,
        free_b=None,
        claim={},
        interleaved=interleaved,
    )


class Told:
    """A session whose steps take TIMES_S, and the shares and times left before each."""

    def __init__(self, left: TimeLeft) -> None:
        self._left = left
        self.now_s = 0.0
        self.shares = [left.share]
        self.left_s: list[float | None] = []

    def do(self, steps: Sequence[Step]) -> None:
        """Do steps of the trial at hand."""
        for step in steps:
            self._left.begin(step, self.now_s)
            self.shares.append(self._left.share)
            self.left_s.append(self._left.left_s())
            self.now_s += TIMES_S[step.kind]
        self._left.end(self.now_s)


def test_the_time_left_is_unknown_until_the_first_trial_and_then_that_of_its_steps() -> (
    None
):
    left = TimeLeft(estimate(3))
    told = Told(left)
    left.trial(1)
    told.do(TRIAL)
    assert told.left_s == [None] * len(TRIAL)
    left.finish()
    assert left.left_s() == 2 * TRIAL_S
    left.trial(2)
    told.do(TRIAL[:4])
    assert left.left_s() == 2 * TRIAL_S - (5 + 1 + 3 + 1)
    assert left.share == pytest.approx((TRIAL_S + 10) / (3 * TRIAL_S))


def test_the_step_at_hand_is_left_as_a_whole() -> None:
    left = TimeLeft(estimate())
    told = Told(left)
    left.trial(1)
    told.do(TRIAL)
    left.finish()
    left.trial(2)
    left.begin(Idle(5.0), told.now_s)
    assert left.left_s() == TRIAL_S


def test_the_share_goes_from_nothing_to_all() -> None:
    left = TimeLeft(estimate())
    told = Told(left)
    for number in (1, 2):
        left.trial(number)
        told.do(TRIAL)
        left.finish()
        told.shares.append(left.share)
    assert told.shares[0] == 0.0 and told.shares[-1] == 1.0
    assert told.shares == sorted(told.shares)


def test_interleaved_trials_know_the_time_left_once_a_trial_of_steps_is_done() -> None:
    left = TimeLeft(estimate(3, interleaved=True))
    told = Told(left)
    left.trial(1)
    turns = [Idle(5.0)] * 3 + [Load(0), *[Query((0,))] * 3] * 5 + [Idle(5.0)] * 3
    told.do(turns)
    part = len(turns) // 3
    known = [place for place, left_s in enumerate(told.left_s) if left_s is not None]
    assert known[0] in (part, part + 1)
    # Idle times are no measure of the other steps.
    after_s = sum(TIMES_S[step.kind] for step in turns[known[0] :])
    assert told.left_s[known[0]] == pytest.approx(after_s)
    left.finish()
    assert left.left_s() == 0.0 and left.share == 1.0


def test_steps_of_before_count_in_a_resumed_trial() -> None:
    left = TimeLeft(estimate())
    told = Told(left)
    left.trial(1)
    for step in TRIAL[:6]:
        left.skip(step)
    assert left.share == pytest.approx(6 / 12 / 2)
    told.do(TRIAL[6:])
    left.finish()
    assert left.left_s() == TRIAL_S


def test_a_part_of_a_trial_without_one_of_its_kinds_of_steps_is_no_measure() -> None:
    left = TimeLeft(estimate())
    told = Told(left)
    left.trial(1)
    for step in TRIAL[:11]:
        left.skip(step)
    told.do(TRIAL[11:])
    left.finish()
    assert left.left_s() is None


def test_a_plan_that_turns_out_longer_is_that_of_the_next_trials() -> None:
    left = TimeLeft(estimate())
    told = Told(left)
    left.trial(1)
    told.do([*TRIAL[:-1], *[Query((0,))] * 5, TRIAL[-1]])
    assert 0.0 <= left.share <= 0.5
    left.finish()
    assert left.left_s() == TRIAL_S + 5 * 3
