# SPDX-License-Identifier: Apache-2.0
"""A step that is done, with the device's completion."""

from __future__ import annotations

from dataclasses import dataclass

from rig.model.completion import Completion
from rig.model.scores import Score
from rig.model.steps import Step


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that is done: its number in the trial, the step, the device's
    completion.

    Of a batch, `each` of its samples has a score. `trial` is the number of the trial
    where trials were interleaved; 0: the trial of its folder, or all.
    """

    number: int
    step: Step
    completion: Completion
    score: Score | None = None
    each: tuple[Score, ...] = ()
    trial: int = 0
