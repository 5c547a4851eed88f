# SPDX-License-Identifier: Apache-2.0
"""Marks in device ticks x edges in monitor time -> pairs, time base, problems. Pure.

Every mark is one falling edge. Counts should agree and order gives the pairs; the
intervals confirm them, and where they do not, the pattern of the intervals says which
mark has no edge, which edge no mark, and how fast the clocks run
(rig/timebase/pairing.py). Device time, edge time and counts are compared in every
trial: what disagrees is named, and nothing is corrected silently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rig.problems import Problem
from rig.timebase import pairing
from rig.timebase.pairing import Pairing
from rig.timebase.pairing_seeds import CLOCK_LIMIT, Floats, Indices
from rig.timebase.timebase import Timebase

#: An edge lies within half a sample of where it was seen; twice a whole one leaves room
#: for the jitter of the SYNC input. A tick of the device comes on top: its mark was
#: made somewhere within it.
RESIDUAL_LIMIT_PERIODS = 2.0
#: A line bounces about its fall, and about its rise one hold later; the next mark is
#: two holds away or further (docs/PROTOCOL.md section 5): a fall within so many holds
#: of another is a bounce.
DEBOUNCE_HOLDS = 1.25
#: Where fewer than three quarters lie within the limit, so many times the limit is
#: tried, until nearly all do: edges that scatter are not missing.
_SCALES = (3.0, 8.0, 24.0, 64.0)
_ENOUGH = 0.75
_NEARLY_ALL = 0.95
#: A single edge so many limits, or so many times the reach, away still belongs to its
#: mark, where nothing else is near.
_STRAY_LIMITS = 8.0
_STRAY_REACHES = 3.0
#: How often the fit foretells edges and is made again.
_ROUNDS = 4
#: However the errors of the edges, half a resolution each, conspire: the rate is off by
#: less than so many resolutions in the span.
_ERROR_SPANS = 1.5
#: What makes a monitor's time run at these rates.
_STRETCHES = ((4 / 3, "4/3"), (2.0, "2"), (3 / 4, "3/4"), (1 / 2, "1/2"))


@dataclass(frozen=True, slots=True)
class Alignment:
    """The fitted time base (None when there is nothing to fit) and what is wrong with
    it.

    `links` are the pairs (number of mark, number of edge, from 0); `in_gaps` counts the
    marks whose edges fell where the monitor lost samples, `bounced` the edges that
    repeat the one before.
    """

    timebase: Timebase | None
    problems: tuple[Problem, ...]
    marks: int
    edges: int
    pairs: int
    links: tuple[tuple[int, int], ...] = ()
    in_gaps: int = 0
    bounced: int = 0


@dataclass(frozen=True, slots=True)
class _Seen:
    """The marks and edges to align, the limits, and the numbers of the edges that are
    no bounces.
    """

    ticks: Sequence[int]
    marks_s: Floats
    falls_s: Floats
    leads: Indices
    period_s: float
    tick_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class _Reading:
    """A hypothesis of the alignment: a time base (None when they may mean anything:
    `why`), its pairs, how many lie within reach of it.
    """

    timebase: Timebase | None
    found: Pairing
    fitting: int
    why: str


@dataclass(frozen=True, slots=True)
class _Unpaired:
    """The numbers of marks without an edge, of edges without a mark, and of bounces."""

    marks: list[int]
    edges: list[int]
    bounces: list[int]


_NONE = Pairing(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def align(
    ticks: Sequence[int],
    tick_hz: float,
    falls_s: NDArray[np.float64],
    edge_hz: float,
    *,
    debounce_s: float = 0.0,
    gaps_s: Sequence[tuple[float, float]] = (),
    open_end: bool = False,
) -> Alignment:
    """Pair marks with falling edges and fit the time base.

    `open_end`: the marks are those of a beginning, and edges behind the last of them
    count for nothing. An edge less than `debounce_s` after another is a bounce of it
    (the function of this name). `gaps_s` are the spans, in the monitor's time, in which
    it lost samples: a mark there has no edge for a known reason, which the caller
    names.
    """
    marks = len(ticks)
    edges = len(falls_s)
    if backwards(ticks):
        return Alignment(None, backwards(ticks), marks, edges, 0)
    period_s = 1.0 / edge_hz
    tick_s = 1.0 / tick_hz
    limit_s = RESIDUAL_LIMIT_PERIODS * period_s + tick_s
    marks_s = np.array([tick - ticks[0] for tick in ticks], dtype=np.float64) / tick_hz
    seen = _Seen(
        ticks, marks_s, falls_s, _leads(falls_s, debounce_s), period_s, tick_s, limit_s
    )
    reading = _best_reading(seen)
    timebase = reading.timebase
    pairing = reading.found
    if timebase is None:
        problem = _lost(marks_s, edges, gaps_s) or _unaligned(marks, edges, reading.why)
        return Alignment(None, (problem,), marks, edges, 0)
    missing = np.setdiff1d(np.arange(marks), pairing.marks)
    dark = _inside(timebase.all_seconds([ticks[i] for i in missing]), gaps_s, limit_s)
    extra = np.setdiff1d(
        np.arange(pairing.edges.max() + 1 if open_end and len(pairing) else edges),
        pairing.edges,
    )
    bounced = ~np.isin(extra, seen.leads)
    unpaired = _Unpaired(
        marks=missing[~dark].tolist(),
        edges=extra[~bounced].tolist(),
        bounces=extra[bounced].tolist(),
    )
    counts = marks, edges, len(pairing)
    span_s = float(np.ptp(falls_s[pairing.edges]))
    problems = [
        *_edges_problem(counts, unpaired, timebase, ticks),
        *_judge(timebase, tick_hz, limit_s, math.hypot(period_s, tick_s), span_s),
    ]
    links = tuple(zip(pairing.marks.tolist(), pairing.edges.tolist(), strict=True))
    return Alignment(
        timebase,
        tuple(problems),
        marks,
        edges,
        len(links),
        links,
        int(dark.sum()),
        int(bounced.sum()),
    )


def _lost(
    marks_s: NDArray[np.float64], edges: int, gaps_s: Sequence[tuple[float, float]]
) -> Problem | None:
    """Return the problem of a monitor that lost all edges with its samples; None where
    it did not.
    """
    lost_s = math.fsum(stop_s - start_s for start_s, stop_s in gaps_s)
    if edges or not len(marks_s) or lost_s <= marks_s[-1] / 2:
        return None
    detail = f"{lost_s:.3g} s of the monitor's samples, and with them all edges of SYNC"
    return Problem("gap", detail)


def backwards(
    ticks: Sequence[int], timebase: Timebase | None = None
) -> tuple[Problem, ...]:
    """Find the first tick that is less than the one before; the problem has its time
    where a time base is known.
    """
    back = next((k for k in range(1, len(ticks)) if ticks[k] < ticks[k - 1]), 0)
    if not back:
        return ()
    detail = (
        f"mark {back + 1} has tick {ticks[back]}, less than the one before, "
        f"{ticks[back - 1]}: did the device start anew?"
    )
    at_s = None if timebase is None else timebase.seconds(ticks[back])
    return (Problem("clock", detail, start_s=at_s, stop_s=at_s),)


def debounce_s(hold_s: float, edge_hz: float) -> float:
    """Return within which time of an edge another one is a bounce, for pulses of
    `hold_s`; 0 where the monitor cannot tell.

    Marks are two holds apart or more; what an instrument times more coarsely than that
    looks like a bounce and is none.
    """
    return max(min(DEBOUNCE_HOLDS * hold_s, 2 * hold_s - 2 / edge_hz), 0.0)


def _leads(falls_s: Floats, debounce_s: float) -> Indices:
    """Return the numbers of the edges that do not follow another within the debouncing
    time."""
    if len(falls_s) < 2 or not np.any(np.diff(falls_s) < debounce_s):
        return np.arange(len(falls_s))
    leads: list[int] = []
    for number, at_s in enumerate(falls_s.tolist()):
        if not leads or at_s - falls_s[leads[-1]] >= debounce_s:
            leads.append(number)
    return np.array(leads, dtype=np.int64)


def _best_reading(seen: _Seen) -> _Reading:
    """Return the reading at the narrowest reach that explains the edges."""
    most = min(len(seen.marks_s), len(seen.leads))
    intervals_s = np.diff(seen.marks_s)
    shortest_s = float(np.min(intervals_s, initial=np.inf, where=intervals_s > 0))
    best = _aligned_within(seen, seen.limit_s)
    if best.fitting > _ENOUGH * most:
        return best
    for scale in _SCALES:
        if best.fitting > _NEARLY_ALL * most or 2 * scale * seen.limit_s > shortest_s:
            break
        wider = _aligned_within(seen, scale * seen.limit_s)
        # Scatter is accepted where it explains many more edges than the limit does.
        if wider.timebase is not None and wider.fitting > best.fitting + most / 8:
            best = wider
    return best


def _aligned_within(seen: _Seen, reach_s: float) -> _Reading:
    edges_s = seen.falls_s[seen.leads]
    ordered = pairing.in_order(seen.marks_s, edges_s, reach_s)
    if ordered is not None:
        reading = _settled(seen, ordered, reach_s)
        if reading.fitting == len(ordered):
            return reading
    start = pairing.search(seen.marks_s, edges_s, reach_s, reach_s / 4)
    reading = _settled(
        seen,
        ordered if ordered is not None and len(ordered) >= len(start) else start,
        reach_s,
    )
    if reading.timebase is not None and start.rival:
        why = (
            f"the edges fit the marks in more than one way, with {len(start)} pairs and"
            f" with {start.rival}"
        )
        return replace(reading, timebase=None, why=why)
    return reading


def _settled(seen: _Seen, start: Pairing, reach_s: float) -> _Reading:
    """Fit the pairs, foretell the edge of every mark, pair again, until nothing
    changes; `start` counts leading edges only.
    """
    found = Pairing(start.marks, seen.leads[start.edges])
    for _ in range(_ROUNDS):
        timebase = _fit(seen, found, reach_s)
        if timebase is None:
            return _Reading(None, _NONE, 0, "")
        again = _matched(seen, timebase, reach_s)
        if np.array_equal(again.marks, found.marks) and np.array_equal(
            again.edges, found.edges
        ):
            break
        found = again
    else:
        timebase = _fit(seen, found, reach_s)
    if timebase is None:
        return _Reading(None, _NONE, 0, "")
    off_s = timebase.residuals_s(
        [seen.ticks[i] for i in found.marks.tolist()],
        seen.falls_s[found.edges].tolist(),
    )
    # Unmatched edges are no evidence: they were sought in a wider reach.
    fitting = int(np.count_nonzero(np.abs(off_s) <= reach_s))
    rate = timebase.s_per_tick / seen.tick_s
    if not pairing.convincing(
        fitting,
        timebase.all_seconds(seen.ticks),
        seen.falls_s[seen.leads],
        rate,
        reach_s,
    ):
        return _Reading(
            None,
            _NONE,
            fitting,
            f"no more than {fitting} fit together, as many as unrelated edges may",
        )
    return _Reading(timebase, found, fitting, "")


def _fit(seen: _Seen, pairing: Pairing, reach_s: float) -> Timebase | None:
    ticks = [seen.ticks[i] for i in pairing.marks.tolist()]
    if len(set(ticks)) < 2:
        return None
    timebase = Timebase.fit(
        ticks, seen.falls_s[pairing.edges].tolist(), seen.period_s, seen.tick_s, reach_s
    )
    return timebase if timebase.s_per_tick > 0 else None


def _matched(seen: _Seen, timebase: Timebase, reach_s: float) -> Pairing:
    due_s = timebase.all_seconds(seen.ticks)
    marks, edges = pairing.match(due_s, seen.falls_s[seen.leads], reach_s)
    edges = seen.leads[edges]
    # What looked like a bounce may be the edge of a mark, and the one before a stray
    # pulse.
    bounces = np.setdiff1d(np.arange(len(seen.falls_s)), seen.leads)
    free = np.setdiff1d(np.arange(len(due_s)), marks)
    if len(bounces) and len(free):
        more = pairing.match(due_s[free], seen.falls_s[bounces], reach_s)
        marks, edges = _joined(marks, edges, free[more[0]], bounces[more[1]])
    lit = np.union1d(edges, seen.leads)
    stray_marks, stray_edges = pairing.unmatched(
        due_s,
        seen.falls_s[lit],
        marks,
        np.searchsorted(lit, edges),
        max(_STRAY_LIMITS * seen.limit_s, _STRAY_REACHES * reach_s),
    )
    return Pairing(*_joined(marks, edges, stray_marks, lit[stray_edges]))


def _joined(
    marks: Indices, edges: Indices, more_marks: Indices, more_edges: Indices
) -> tuple[Indices, Indices]:
    # Sorted apart: of two pairs that cross, the order is right.
    return np.sort(np.concatenate([marks, more_marks])), np.sort(
        np.concatenate([edges, more_edges])
    )


def _inside(
    times_s: Floats, spans_s: Sequence[tuple[float, float]], margin_s: float
) -> NDArray[np.bool_]:
    inside = np.zeros(len(times_s), dtype=bool)
    for start_s, stop_s in spans_s:
        inside |= (times_s >= start_s - margin_s) & (times_s <= stop_s + margin_s)
    return inside


def _judge(
    timebase: Timebase, tick_hz: float, limit_s: float, known_s: float, span_s: float
) -> list[Problem]:
    """Return what the fitted line says against the clocks, where edges are known to
    `known_s` over `span_s`.
    """
    problems = []
    ratio = timebase.s_per_tick * tick_hz
    # Where either clock is so wrong, a period is not what it is said to be, and edges
    # are known less well.
    off = timebase.residual_max_s > limit_s * max(ratio, 1 / ratio, 1.0)
    # A step among the edges tilts the line, and says nothing of a rate.
    rate_error = (
        _ERROR_SPANS * known_s + (3 * timebase.residual_max_s if off else 0.0)
    ) / span_s
    # 500 ppm are seen as 500.25 from the other clock's side, and no rate is known
    # better than its uncertainty.
    if (
        min(abs(ratio - 1), abs(1 / ratio - 1))
        > CLOCK_LIMIT + rate_error + 3 * timebase.slope_u
    ):
        known = next(
            (
                f", close to {name}"
                for stretch, name in _STRETCHES
                if abs(ratio / stretch - 1) < 0.01
            ),
            "",
        )
        limit = f"limit {CLOCK_LIMIT * 1e6:.0f} ppm"
        detail = (
            f"the monitor sees device time stretched {ratio:.4f} times{known}"
            f" ({limit}): one clock is wrong by that much"
        )
        if known:
            detail += (
                ", as of an instrument that logs more channels than it can at its rate"
            )
        problems.append(Problem("clock", detail))
    if off:
        spread = f"limit {limit_s * 1e6:.2f} us, rms {timebase.residual_s * 1e6:.2f} us"
        detail = (
            f"an edge lies {timebase.residual_max_s * 1e6:.2f} us off the line"
            f" ({spread})"
        )
        problems.append(Problem("sync", detail))
    return problems


def _edges_problem(
    counts: tuple[int, int, int],
    unpaired: _Unpaired,
    timebase: Timebase,
    ticks: Sequence[int],
) -> list[Problem]:
    """Return the problem of marks and edges that are in no pair; `counts` are those of
    marks, edges and pairs. Its place is the first such mark and the first such edge.
    """
    kinds = [
        (unpaired.marks, "no edge for mark"),
        (unpaired.edges, "no mark for edge"),
        (unpaired.bounces, "bounced: edge"),
    ]
    parts = [f"{words} {_some(numbers)}" for numbers, words in kinds if numbers]
    if not parts:
        return []
    marks, edges, pairs = counts
    counted = f"{marks} marks, {edges} falling edges, {pairs} pairs"
    at_s = timebase.seconds(ticks[unpaired.marks[0]]) if unpaired.marks else None
    unpaired_edges = unpaired.edges or unpaired.bounces
    edge = unpaired_edges[0] + 1 if unpaired_edges else None
    detail = "; ".join([counted, *parts])
    return [Problem("edges", detail, start_s=at_s, stop_s=at_s, edge=edge)]


def _unaligned(marks: int, edges: int, why: str) -> Problem:
    detail = f"{marks} marks, {edges} falling edges, 0 pairs"
    if not edges:
        detail += (
            "; is SYNC wired to the monitor's input, and its reference voltage set?"
        )
    elif why:
        detail += f"; {why}; is it this device's SYNC?"
    return Problem("edges", detail)


def _some(numbers: list[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:5])
    return shown + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")
