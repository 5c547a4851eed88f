# SPDX-License-Identifier: Apache-2.0
"""Marks in device ticks x edges in monitor time -> pairs, time base, problems. Pure.

Every mark is one falling edge. Counts should agree and order gives the pairs; the intervals confirm them, and where the counts
differ they say which mark has no edge and which edge no mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.clock import Timebase
from rig.trial import Problem

#: Two crystals differ by less than this; 1.33x and 2x (a monitor that logs too many channels) differ by far more.
CLOCK_LIMIT = 500e-6
#: An edge lies within half a sample of where it was seen; twice a whole one leaves room for the jitter of the SYNC input. A tick of
#: the device comes on top: its mark was made somewhere within it.
RESIDUAL_LIMIT_PERIODS = 2.0
#: How many marks or edges at the start may be missing or extra before alignment gives up.
_ANCHORS = 8


@dataclass(frozen=True, slots=True)
class Alignment:
    """The fitted time base (None when there is nothing to fit) and what is wrong with it."""

    timebase: Timebase | None
    problems: tuple[Problem, ...]
    marks: int
    edges: int
    pairs: int


def align(ticks: Sequence[int], tick_hz: int, falls_s: NDArray[np.float64], edge_hz: float) -> Alignment:
    """Pair marks with falling edges and fit the time base."""
    period_s, tick_s = 1.0 / edge_hz, 1.0 / tick_hz
    limit_s = RESIDUAL_LIMIT_PERIODS * period_s + tick_s
    marks_s = np.array([tick - ticks[0] for tick in ticks], dtype=np.float64) / tick_hz if len(ticks) else np.zeros(0)
    pairs = _in_order(marks_s, falls_s) or _by_interval(marks_s, falls_s, limit_s)
    if len({ticks[i] for i, _ in pairs}) < 2:
        return Alignment(None, (_edges_problem(len(marks_s), len(falls_s), []),), len(marks_s), len(falls_s), 0)
    timebase = Timebase.fit([ticks[i] for i, _ in pairs], [float(falls_s[j]) for _, j in pairs], period_s, tick_s)
    problems = list(_judge(timebase, tick_hz, limit_s))
    if len(pairs) != len(marks_s) or len(pairs) != len(falls_s):
        problems.insert(0, _edges_problem(len(marks_s), len(falls_s), pairs))
    return Alignment(timebase, tuple(problems), len(marks_s), len(falls_s), len(pairs))


def _judge(timebase: Timebase, tick_hz: int, limit_s: float) -> list[Problem]:
    ratio = timebase.s_per_tick * tick_hz
    if abs(ratio - 1) > CLOCK_LIMIT:
        limit = f"limit {CLOCK_LIMIT * 1e6:.0f} ppm"
        detail = f"the monitor sees device time stretched {ratio:.4f} times ({limit}): one clock is wrong by that much"
        return [Problem("clock", detail)]
    if timebase.residual_max_s > limit_s:
        spread = f"limit {limit_s * 1e6:.2f} us, rms {timebase.residual_s * 1e6:.2f} us"
        detail = f"an edge lies {timebase.residual_max_s * 1e6:.2f} us off the line ({spread})"
        return [Problem("sync", detail)]
    return []


def _edges_problem(marks: int, edges: int, pairs: list[tuple[int, int]]) -> Problem:
    detail = f"{marks} marks, {edges} falling edges, {len(pairs)} pairs"
    missing = sorted(set(range(marks)) - {i for i, _ in pairs})
    extra = sorted(set(range(edges)) - {j for _, j in pairs})
    if pairs and missing:
        detail += f"; no edge for {_some('mark', missing)}"
    if pairs and extra:
        detail += f"; no mark for {_some('edge', extra)}"
    if not edges:
        detail += "; is SYNC wired to the monitor's input, and its reference voltage set?"
    return Problem("edges", detail)


def _some(noun: str, numbers: list[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:5])
    return f"{noun} {shown}" + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")


def _in_order(marks_s: NDArray[np.float64], edges_s: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the pairs that order gives when the counts agree and the intervals confirm it; else none.

    An edge too few here and one too many there would move some edges by whole intervals: nothing else moves one by half of the
    shortest. A clock that runs at another rate changes all intervals alike, and is for the caller to judge.
    """
    if len(marks_s) != len(edges_s) or len(marks_s) < 3:
        return []
    slope, origin = np.polyfit(marks_s, edges_s, 1)
    off_s = np.max(np.abs(edges_s - (slope * marks_s + origin)))
    return [(i, i) for i in range(len(marks_s))] if off_s < np.min(np.diff(marks_s)) * slope / 2 else []


def _by_interval(marks_s: NDArray[np.float64], edges_s: NDArray[np.float64], limit_s: float) -> list[tuple[int, int]]:
    """Return the pairs (mark, edge) of the best anchor; none when most of the marks, or of the edges, find no partner."""
    best: list[tuple[int, int]] = []
    for anchor in range(_ANCHORS):
        for i, j in {(0, anchor), (anchor, 0)}:
            if i < len(marks_s) and j < len(edges_s):
                pairs = _walk(marks_s, edges_s, i, j, limit_s)
                best = pairs if len(pairs) > len(best) else best
        if len(best) == min(len(marks_s), len(edges_s)):
            break
    return best if 2 * len(best) >= min(len(marks_s), len(edges_s)) else []


def _walk(marks_s: NDArray[np.float64], edges_s: NDArray[np.float64], i: int, j: int, limit_s: float) -> list[tuple[int, int]]:
    pairs = [(i, j)]
    last_i, last_j = i, j
    i, j = i + 1, j + 1
    while i < len(marks_s) and j < len(edges_s):
        interval_s = marks_s[i] - marks_s[last_i]
        late_s = (edges_s[j] - edges_s[last_j]) - interval_s
        tolerance_s = 2 * limit_s + CLOCK_LIMIT * interval_s
        if abs(late_s) <= tolerance_s:
            pairs.append((i, j))
            last_i, last_j = i, j
            i, j = i + 1, j + 1
        elif late_s > 0:
            i += 1
        else:
            j += 1
    return pairs
