# SPDX-License-Identifier: Apache-2.0
"""The inputs of MLPerf Tiny's windows."""

from __future__ import annotations

import random

from rig.errors import ConfigError
from rig.interfaces.task import Task
from rig.units import plural

#: MLPerf Tiny: "five different inputs", their median is the score.
INPUTS = 5


def different_inputs(task: Task, seed: int) -> list[int]:
    """Draw INPUTS samples of different content; raises ConfigError where there are
    fewer."""
    order = list(range(len(task)))
    random.Random(seed).shuffle(order)
    drawn: dict[bytes, int] = {}
    for index in order:
        drawn.setdefault(task.payload(index), index)
        if len(drawn) == INPUTS:
            return list(drawn.values())
    raise ConfigError(
        f"{plural(len(drawn), 'different input')} among {len(task)}",
        path=f"task.{task.name}",
        try_next=f"data with {INPUTS} or more",
    )
