# SPDX-License-Identifier: Apache-2.0
"""The marks of a search: which are right, what they tell of its thresholds, and what its answer must agree with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.plan import Costs, Score, Solve
from rig.searching import crossings, mark_fault, problems
from rig.sut import END, REACHED, Mark

STEP = Solve(0, 1.0, 1, -9, (-5, -7, -9))


def marks(*phases: int) -> list[Mark]:
    return [Mark(phase, 100 * place) for place, phase in enumerate(phases)]


@given(reached=st.sets(st.integers(0, 2)))
def test_a_threshold_is_told_by_the_first_mark_of_it_or_of_one_behind_it(reached: set[int]) -> None:
    told = marks(1, *[REACHED + number for number in sorted(reached)], END)
    assert mark_fault(told, STEP) == ""
    for number, found in enumerate(crossings(told, STEP)):
        later = [mark.tick for mark in told if mark.phase >= REACHED + number]
        assert found == ((0, later[0]) if later else None)


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
def test_marks_that_are_not_those_of_a_search_are_a_fault(phases: tuple[int, ...]) -> None:
    assert mark_fault(marks(*phases), STEP)


def scored(cost: int, claimed: int) -> Score:
    return Score(cost <= -9, "-9", str(cost), costs=Costs(cost, -9, claimed))


def test_the_answer_must_cost_what_the_device_claims_and_marks() -> None:
    told = marks(1, REACHED + 1, END)
    assert problems(3, STEP, told, scored(-7, -7)) == []
    assert problems(3, STEP, told, scored(-8, -8)) == [], "better than the last mark is no fault"
    (claim,) = problems(3, STEP, told, scored(-7, -8))
    assert claim.code == "cost" and "claims -8, its vector costs -7" in claim.detail
    (mark,) = problems(3, STEP, told, scored(-6, -6))
    assert mark.code == "cost" and "marks -7 as reached, its vector costs -6" in mark.detail


def test_a_vector_of_another_length_is_a_problem_in_the_tasks_words() -> None:
    (found,) = problems(3, STEP, marks(1, END), Score(False, "-9", "", fault="a vector of 9 nodes, the workload has 10"))
    assert found.code == "cost" and "a vector of 9 nodes" in found.detail
