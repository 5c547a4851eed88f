# SPDX-License-Identifier: Apache-2.0
"""Calibration: measure one inference first, then say how many make a window long
enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

from rig.model.completion import Completion
from rig.model.steps import Query, Step
from scenarios.common.limits import REPEAT_MAX

#: A window of so many seconds gives a good estimate of how long one inference takes; it
#: is the warm-up as well.
_CALIBRATION_S = 0.25
_ENOUGH = 0.8
#: How much more often a next calibration may run than the one before, and how often one
#: is tried.
_FASTER_MAX = 100
_ATTEMPTS = 12
#: Two calibrations that differ by so many seconds determine what one inference takes
#: beside the fixed time of a window: on a slow UART the message of its start drains
#: inside it, 40 ms at 9600 baud. Where one lasts so long, that is within any margin.
_APART_S = 0.1
_SLOW_S = 5.0


@dataclass(frozen=True, slots=True)
class Length:
    """Required length of windows: `window_s`, longer by `margin` (relative), and at
    least `iterations`; `idle_s` of idle time before and after all; `limit_s` is the
    allowance of a device beyond its expected time."""

    window_s: float
    iterations: int
    margin: float
    idle_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class InferencePace:
    """Pace of a calibration of `repeat` runs: seconds of one inference (of a batch: of
    one round), and of all its phases; 0 where it showed none."""

    repeat: int
    infer_s: float
    whole_s: float

    def runs(self, length: Length) -> int:
        """Return how many inferences make a window long enough."""
        if self.infer_s <= 0.0:
            return length.iterations
        in_window = math.ceil(length.window_s * (1 + length.margin) / self.infer_s)
        return min(max(in_window, length.iterations), REPEAT_MAX)


def calibrate(
    ask: Callable[..., Query], repeat: int, rate_hz: float
) -> Generator[Step, Completion | None, InferencePace]:
    """Ask for windows of `repeat` runs, then of more, until two windows determine the
    time of a run; none of them counts.

    The time of a run is the difference of two windows over the difference of their
    runs, so the constant cost of a window cancels.
    """
    pace = yield from _long_enough(ask, repeat, rate_hz)
    for _ in range(_ATTEMPTS):
        more = min(2 * pace.repeat, REPEAT_MAX)
        if (
            pace.infer_s <= 0.0
            or pace.infer_s * pace.repeat >= _SLOW_S
            or more == pace.repeat
        ):
            break
        longer = _pace((yield ask(repeat=more)), more, rate_hz)
        apart_s = longer.infer_s * more - pace.infer_s * pace.repeat
        if apart_s >= _APART_S:
            return InferencePace(
                pace.repeat, apart_s / (more - pace.repeat), longer.whole_s
            )
        faster = (
            min(_CALIBRATION_S / apart_s, _FASTER_MAX) if apart_s > 0 else _FASTER_MAX
        )
        repeat = min(math.ceil(pace.repeat * faster), REPEAT_MAX)
        pace = _pace((yield ask(repeat=repeat)), repeat, rate_hz)
    return pace


def _long_enough(
    ask: Callable[..., Query], repeat: int, rate_hz: float
) -> Generator[Step, Completion | None, InferencePace]:
    """Ask for windows of `repeat` runs, and of more and more, until one lasts long
    enough."""
    for attempt in range(1, _ATTEMPTS + 1):
        pace = _pace((yield ask(repeat=repeat)), repeat, rate_hz)
        took_s = pace.infer_s * repeat
        if not rate_hz or took_s >= _ENOUGH * _CALIBRATION_S or attempt == _ATTEMPTS:
            break
        faster = _CALIBRATION_S / took_s if took_s > 0 else _FASTER_MAX
        repeat = min(math.ceil(repeat * min(faster, _FASTER_MAX)), REPEAT_MAX)
    return pace


def _pace(completion: Completion | None, repeat: int, rate_hz: float) -> InferencePace:
    ticks = [mark.tick for mark in completion.marks] if completion is not None else []
    if len(ticks) < 2 or not rate_hz:
        return InferencePace(repeat, 0.0, 0.0)
    # Inference is the last phase: before it there may be marks of pre-processing, which
    # is not timed here.
    whole_s = (ticks[-1] - ticks[0]) / rate_hz / repeat
    return InferencePace(
        repeat,
        (ticks[-1] - ticks[-2]) / rate_hz / repeat,
        whole_s,
    )


def rate_of(completion: Completion | None, idle_s: float) -> float:
    """Estimate the rate of the device's ticks from an idle time of known length; 0
    where that shows none.

    In the text layer the line's own time is added: the rate is too high, and windows
    are a little longer than requested.
    """
    ticks = [mark.tick for mark in completion.marks] if completion is not None else []
    return max(ticks[-1] - ticks[0], 0) / idle_s if len(ticks) > 1 else 0.0
