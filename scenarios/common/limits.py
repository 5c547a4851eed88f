# SPDX-License-Identifier: Apache-2.0
"""Limits of requests that the protocol can carry, and settings with these limits."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval, Unit

#: An idle time is counted in 32 bits of microseconds.
IDLE_MAX_S = 3600.0
#: Longest delay of a device beyond the expected time: a day.
LIMIT_MAX_S = 86_400.0
#: Repetitions are counted in 32 bits.
REPEAT_MAX = 2**32 - 1
#: An idle time of a scenario, long enough for its power.
IdleTime = Annotated[float, Interval(ge=0.1, le=IDLE_MAX_S), Unit("s")]
#: A time limit of a scenario.
TimeLimit = Annotated[float, Interval(gt=0, le=LIMIT_MAX_S), Unit("s")]
