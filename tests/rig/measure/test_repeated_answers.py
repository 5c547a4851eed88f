# SPDX-License-Identifier: Apache-2.0
"""Answers of interleaved trials to one load of a sample."""

from __future__ import annotations

from rig.measure import repeated_answers
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.model.steps import Load, Query


def done(answers: dict[int, bytes]) -> list[StepRecord]:
    """Return the steps of one sample: its load, and a query of each trial."""
    queries = [
        StepRecord(number, Query((0,)), Completion((), output=answer), trial=trial)
        for number, (trial, answer) in enumerate(answers.items(), start=1)
    ]
    return [StepRecord(0, Load(0), Completion(())), *queries]


def test_only_the_trial_that_answers_otherwise_than_the_first_has_the_problem() -> None:
    steps = done({1: b"a", 2: b"a", 3: b"b"})
    assert [repeated_answers.changed(steps, trial) for trial in (1, 2)] == [[], []]
    [problem] = repeated_answers.changed(steps, 3)
    assert problem.step == 3
    assert "1 of 1 answers" in problem.detail


def test_a_first_trial_that_differs_from_the_others_is_the_one_they_are_held_to() -> (
    None
):
    steps = done({1: b"b", 2: b"a", 3: b"a"})
    places = [repeated_answers.changed(steps, trial)[0].step for trial in (2, 3)]
    assert places == [2, 3]
