# SPDX-License-Identifier: Apache-2.0
"""The steps of a recording: those of one trial's plan, or those of all trials' plans,
which take turns (interleaved).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from rig.errors import BenchError, DataError
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.completion import Completion
from rig.model.steps import Plan, Step
from rig.session.planning import trial_seed


@dataclass(frozen=True, slots=True)
class Turn:
    """A step, and the number of its trial where trials are interleaved; 0: of all of
    them, or of the only one.
    """

    step: Step
    trial: int = 0


Turns = Generator[Turn, Completion | None, None]


def interleaved(scenario: Scenario) -> bool:
    """Check whether a scenario's trials take turns."""
    return bool(scenario.interleaved)


def seed_of(scenario: Scenario, seed: int, number: int) -> int:
    """Return the seed of a trial; trials that take turns have that of the first one, as
    they share its loads.
    """
    return trial_seed(seed, 1 if interleaved(scenario) else number)


def turns(scenario: Scenario, task: Task, seed: int, trials: int) -> Turns:
    """Yield the steps of a recording from the seed of its plan: of a trial, or of all
    `trials` where the scenario has them interleaved.
    """
    if not interleaved(scenario):
        return _alone(scenario.plan(task, seed))
    return _together([scenario.plan(task, seed) for _ in range(trials)])


def _alone(plan: Plan) -> Turns:
    completion = None
    while True:
        try:
            step = plan.send(completion)
        except StopIteration:
            return
        completion = yield Turn(step)


def _together(plans: Sequence[Plan]) -> Turns:
    """Yield a load once for all plans, every other step once for each; raise DataError
    where the plans differ, as those do that depend on answers.
    """
    answers: list[Completion | None] = [None] * len(plans)
    while True:
        asked = [
            _next(plan, answer) for plan, answer in zip(plans, answers, strict=True)
        ]
        step = asked[0]
        if any(other != step for other in asked):
            raise DataError(f"plans of interleaved trials differ: {str(asked)[:200]}")
        if step is None:
            return
        if kinds.of(step).loads:
            answers = [(yield Turn(step))] * len(plans)
        else:
            for place in range(len(plans)):
                answers[place] = yield Turn(step, place + 1)


def _next(plan: Plan, answer: Completion | None) -> Step | None:
    try:
        return plan.send(answer)
    except StopIteration:
        return None


class KeptSample:
    """Proof, at the first sample that all trials query, that the device still holds it
    as it was loaded: the answers are the same.

    One sample is enough at first: later answers are compared when trials are measured
    (rig/measure/repeated_answers.py), where a difference costs a trial and not the
    session.
    """

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self._first: bytes | None = None
        self._proven = False

    def take(self, turn: Turn, completion: Completion) -> None:
        """Take a completion; raise BenchError where the answer differs from the first
        trial's.
        """
        if self._proven or not turn.trial or not kinds.of(turn.step).measured:
            return
        if turn.trial == 1:
            self._first = completion.output
        # A segment that begins in the midst of a sample has not heard its first answer.
        elif self._first is not None and completion.output != self._first:
            raise BenchError(
                "the device gives another answer to a sample that it was to keep",
                evidence=(
                    f"trial 1 {self._first.hex()[:32]}, trial {turn.trial} "
                    f"{completion.output.hex()[:32]}"
                ),
                try_next=(
                    "interleaved = false: a device that changes its input, or whose"
                    " answers vary, has each sample loaded in each trial"
                ),
            )
        self._proven = self._first is not None and turn.trial == self._trials
