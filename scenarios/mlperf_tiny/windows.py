# SPDX-License-Identifier: Apache-2.0
"""Windows that last long enough: measure one inference first, then ask for as many as
the rule's time needs.
"""

from __future__ import annotations

from functools import partial

from rig.interfaces.task import Task
from rig.model.completion import Completion
from rig.model.steps import Idle, Load, Plan, Query
from scenarios.common.calibration import InferencePace, Length, calibrate, rate_of
from scenarios.common.different_inputs import different_inputs

#: How often a window that came out too short is asked for again; by the device's clock,
#: which may be off by so much.
_AGAIN = 3
_CLOCKS = 1e-3


def windows(task: Task, seed: int, length: Length, tick_hz: float = 0.0) -> Plan:
    """Yield idle time, then for each input a load, calibrations, and the window itself,
    again where it came out too short.

    `tick_hz` is the rate that the device states of its clock, 0 where there is no
    device yet.
    """
    chosen = different_inputs(task, seed)
    idle = yield Idle(length.idle_s)
    rate_hz = (
        tick_hz
        if idle is not None and idle.marks and tick_hz
        else rate_of(idle, length.idle_s)
    )
    repeat = 1
    for index in chosen:
        yield Load(index)
        ask = partial(Query, (index,), length.limit_s, warmup=True)
        pace = yield from calibrate(ask, repeat, rate_hz)
        repeat = pace.repeat
        count = pace.runs(length)
        for _ in range(1 + _AGAIN):
            limit_s = length.limit_s + 2 * count * pace.whole_s
            done = yield Query((index,), limit_s, count)
            took_s = _last_s(done, rate_hz)
            if not took_s or took_s >= length.window_s * (1 + _CLOCKS):
                break
            pace = InferencePace(
                repeat, took_s / count, max(pace.whole_s, took_s / count)
            )
            count = max(pace.runs(length), count + 1)
    yield Idle(length.idle_s)


def _last_s(completion: Completion | None, rate_hz: float) -> float:
    """Return how long the last phase of a window lasted by the device's clock; 0 where
    that is not known.
    """
    ticks = [mark.tick for mark in completion.marks] if completion is not None else []
    return (ticks[-1] - ticks[-2]) / rate_hz if len(ticks) > 1 and rate_hz else 0.0
