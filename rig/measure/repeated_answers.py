# SPDX-License-Identifier: Apache-2.0
"""Answers of interleaved trials to the same load of a sample: if they differ, the
device may not have kept it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rig.kinds import registry as kinds
from rig.model.step_record import StepRecord
from rig.problems import Problem


def changed(done: Sequence[StepRecord], trial: int) -> list[Problem]:
    """Return the problem of a trial whose answers differ from those of the first one to
    the same loads.
    """
    if trial < 2:
        return []
    first = _measured(done, 1)
    repeated = _measured(done, trial)
    pairs = zip(first, repeated, strict=False)
    differing = [
        later.number
        for early, later in pairs
        if later.completion.output != early.completion.output
    ]
    if not differing:
        return []
    return [
        Problem(
            "answers",
            f"{len(differing)} of {len(repeated)} answers are not those of trial 1 to"
            f" the same load of the sample, first step {differing[0]}: the device may"
            " change its input; with interleaved = false each trial loads it",
            step=differing[0],
        )
    ]


def _measured(done: Sequence[StepRecord], trial: int) -> list[StepRecord]:
    steps = [item for item in done if item.trial == trial]
    return [item for item in steps if kinds.of(item.step).measured]
