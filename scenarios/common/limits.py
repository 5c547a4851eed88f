# SPDX-License-Identifier: Apache-2.0
"""Limits of requests that the protocol can carry, and settings with these limits."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval, Unit, doc

from rig.settings.declare import Ratio, Why

#: An idle time is counted in 32 bits of microseconds.
IDLE_MAX_S = 3600.0
#: Longest delay of a device beyond the expected time: a day.
LIMIT_MAX_S = 86_400.0
#: Repetitions are counted in 32 bits.
REPEAT_MAX = 2**32 - 1
#: An idle time of a scenario, long enough for its power.
IdleTime = Annotated[float, Interval(ge=0.1, le=IDLE_MAX_S), Unit("s")]
#: The same before and after the whole plan.
IdleAround = Annotated[IdleTime, doc("Idle time before and after all.")]
#: Excess of calibrated windows over their required length.
Margin = Annotated[
    Ratio,
    Interval(ge=0.01, le=1),
    Why("a window must not end early because a clock is fast"),
    doc("How much longer than that a window is made."),
]
#: A time limit of a scenario.
TimeLimit = Annotated[float, Interval(gt=0, le=LIMIT_MAX_S), Unit("s")]
