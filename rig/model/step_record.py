# SPDX-License-Identifier: Apache-2.0
"""A step that is done, and what the device said."""

from __future__ import annotations

from dataclasses import dataclass

from rig.model.completion import Completion
from rig.model.scores import Score
from rig.model.steps import Step


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that is done: its number in the trial, what was asked, what the device
    said.

    Of a batch, `each` of its samples has a score. `trial` is whose step it is where
    trials were interleaved; 0: of the trial that its folder is of, or of all.
    """

    number: int
    step: Step
    completion: Completion
    score: Score | None = None
    each: tuple[Score, ...] = ()
    trial: int = 0
