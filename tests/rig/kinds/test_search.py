# SPDX-License-Identifier: Apache-2.0
"""The marks of a search: the valid ones, the thresholds that they prove, and agreement
with the answer.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.kinds.search import SearchKind
from rig.kinds.thresholds import crossings, known_fault, late_mark, mark_fault
from rig.model.completion import END, REACHED, Completion, Mark
from rig.model.scores import Costs, Score
from rig.model.step_record import StepRecord
from rig.model.steps import Solve
from rig.problems import Problem

STEP = Solve(0, 1.0, 1, -9, (-5, -7, -9))


def problems(number: int, step: Solve, said: Completion, score: Score) -> list[Problem]:
    return SearchKind().problems(StepRecord(number, step, said, score), step)


def marks(*phases: int) -> list[Mark]:
    return [Mark(phase, 100 * position) for position, phase in enumerate(phases)]


@given(reached=st.sets(st.integers(0, 2)))
def test_a_threshold_is_reported_by_the_first_mark_of_it_or_of_a_later_one(
    reached: set[int],
) -> None:
    reported = marks(1, *[REACHED + number for number in sorted(reached)], END)
    assert mark_fault(reported, STEP) == ""
    for number, result in enumerate(crossings(Completion(tuple(reported)), STEP)):
        later = [mark.tick for mark in reported if mark.phase >= REACHED + number]
        assert result == ((0, later[0]) if later else None)


@pytest.mark.parametrize(
    "phases",
    [
        (),
        (1,),
        (END,),
        (2, END),
        (1, 2),
        (1, REACHED + 1, REACHED, END),
        (1, REACHED, REACHED, END),
        (1, REACHED + 3, END),
        (1, 0x40, END),
    ],
)
def test_marks_that_are_not_those_of_a_search_are_a_fault(
    phases: tuple[int, ...],
) -> None:
    assert mark_fault(marks(*phases), STEP)


def scored(cost: int, claimed: int) -> Score:
    return Score(cost <= -9, "-9", str(cost), costs=Costs(cost, -9, claimed))


def test_the_answer_must_cost_what_the_device_claims_and_marks() -> None:
    reported = Completion(tuple(marks(1, REACHED + 1, END)))
    assert problems(3, STEP, reported, scored(-7, -7)) == []
    assert problems(3, STEP, reported, scored(-8, -8)) == [], (
        "better than the last mark is no fault"
    )
    (claim,) = problems(3, STEP, reported, scored(-7, -8))
    assert claim.code == "cost" and "claims -8, its vector costs -7" in claim.detail
    (mark,) = problems(3, STEP, reported, scored(-6, -6))
    assert (
        mark.code == "cost"
        and "marks -7 as reached, its vector costs -6" in mark.detail
    )


def test_a_vector_of_another_length_is_a_problem_in_the_tasks_words() -> None:
    (result,) = problems(
        3,
        STEP,
        Completion(tuple(marks(1, END))),
        Score(False, "-9", "", fault="a vector of 9 nodes, the workload has 10"),
    )
    assert result.code == "cost" and "a vector of 9 nodes" in result.detail


def test_the_devices_own_ticks_tell_when_it_knew_what_a_mark_told_later() -> None:
    reported = Completion(
        (Mark(1, 100), Mark(REACHED + 1, 160), Mark(END, 900)), known=(110, 120)
    )
    assert known_fault(reported, STEP) == ""
    assert crossings(reported, STEP) == [(100, 110), (100, 120), None]
    assert crossings(Completion(reported.marks), STEP) == [
        (100, 160),
        (100, 160),
        None,
    ], "firmware that tells none"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((110,), "when it knew 1 thresholds and marks 2"),
        ((110, 120, 130), "when it knew 3 thresholds and marks 2"),
        ((99, 120), "knew threshold 0 at tick 99"),
        ((110, 161), "knew threshold 1 at tick 161, and marks it at 160"),
        ((120, 110), "knew threshold 1 at tick 110"),
    ],
)
def test_own_ticks_that_contradict_the_marks_are_a_problem_and_not_believed(
    known: tuple[int, ...], said: str
) -> None:
    reported = Completion(
        (Mark(1, 100), Mark(REACHED + 1, 160), Mark(END, 900)), known=known
    )
    (problem,) = problems(3, STEP, reported, scored(-7, -7))
    assert problem.code == "clock" and said in problem.detail
    assert crossings(reported, STEP) == [(100, 160), (100, 160), None]


def test_a_mark_may_wait_for_the_pulse_before_it_and_for_no_more() -> None:
    waited = Completion(
        (Mark(1, 100), Mark(REACHED, 200), Mark(END, 900)), known=(110,)
    )
    assert late_mark(waited, STEP, hold_ticks=50, slack_ticks=5) == ""
    output = late_mark(waited, STEP, hold_ticks=40, slack_ticks=5)
    assert "threshold 0 20 ticks later than it says that it knew it" in output
    free = Completion((Mark(1, 100), Mark(REACHED, 500), Mark(END, 900)), known=(480,))
    assert "20 ticks later" in late_mark(free, STEP, hold_ticks=50, slack_ticks=5)
