# SPDX-License-Identifier: Apache-2.0
"""Pair the device's marks with the monitor's edges and fit the time base. Pure.

Every mark is one falling edge. If the counts agree, the order gives the pairs and the
intervals confirm them. Otherwise the pattern of the intervals shows which mark has no
edge, which edge has no mark, and how fast the clocks run (rig/timebase/pairing.py).
Device time, edge time and counts are compared in every trial; each disagreement is a
problem, and no value is corrected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rig.arrays import Bools, Float64s, Int64s
from rig.problems import Problem
from rig.timebase import pairing
from rig.timebase.pairing import Pairing
from rig.timebase.pairing_seeds import CLOCK_LIMIT
from rig.timebase.timebase import Timebase

#: An edge lies within half a sample of its position in the trace; two whole samples
#: leave room for the jitter of the SYNC input. One tick of the device is added, as its
#: mark was made somewhere within it.
RESIDUAL_LIMIT_PERIODS = 2.0
#: A line bounces about its fall, and about its rise one hold later; the next mark is
#: two holds away or further (docs/reference/PROTOCOL.md section 5): a fall within so
#: many holds of another is a bounce.
DEBOUNCE_HOLDS = 1.25
#: Multiples of the limit that are tried while fewer than `_ENOUGH` of the edges lie
#: within it, until `_NEARLY_ALL` do: edges that scatter are not missing.
_SCALES = (3.0, 8.0, 24.0, 64.0)
_ENOUGH = 0.75
_NEARLY_ALL = 0.95
#: A single edge this many limits, or this many times the reach, away still belongs to
#: its mark if no other mark or edge is near.
_STRAY_LIMITS = 8.0
_STRAY_REACHES = 3.0
#: Rounds of fitting the time base and pairing again with its expected times.
_ROUNDS = 4
#: Bound of the error of the rate, in resolutions over the span: each edge is off by
#: half a resolution at most, and the errors may all add up.
_ERROR_SPANS = 1.5
#: Known ratios of an instrument's stretched time, as factor and as text.
_STRETCHES = ((4 / 3, "4/3"), (2.0, "2"), (3 / 4, "3/4"), (1 / 2, "1/2"))


@dataclass(frozen=True, slots=True)
class Alignment:
    """The fitted time base (None if no fit is possible) and its problems.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """Marks and edges of a trial with the limits of their distance.

    `leads` are the numbers of the edges that are no bounces.
    """

    ticks: Sequence[int]
    marks_s: Float64s
    falls_s: Float64s
    leads: Int64s
    period_s: float
    tick_s: float
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hypothesis:
    """One way to pair marks with edges.

    `timebase` is None, for the reason `why`, if the pairs may be accidental. `fitting`
    counts the pairs within reach of the time base.
    """

    timebase: Timebase | None
    pairs: Pairing
    fitting: int
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matching:
    """Counts and numbers of the marks and edges that were paired and not paired.

    Marks in gaps of the monitor are counted by `in_gaps` and are not `missing`.
    """

    marks: int
    edges: int
    links: tuple[tuple[int, int], ...]
    missing: list[int]
    in_gaps: int
    extra: list[int]
    bounced: list[int]


_NO_PAIRS = Pairing(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def align(
    ticks: Sequence[int],
    tick_hz: float,
    falls_s: Float64s,
    edge_hz: float,
    *,
    debounce_s: float = 0.0,
    gaps_s: Sequence[tuple[float, float]] = (),
    open_end: bool = False,
) -> Alignment:
    """Pair marks with falling edges and fit the time base.

    ticks, tick_hz: marks of the device, and the rate of its clock
    falls_s, edge_hz: falling edges in the monitor's time, and their resolution
    debounce_s: an edge that follows another within this time is a bounce of it
    gaps_s: spans, in the monitor's time, in which it lost samples; a mark there has no
        edge for a known reason, which the caller reports
    open_end: the marks are only the first ones, and edges after the last of them are
        ignored
    """
    marks = len(ticks)
    edges = len(falls_s)
    not_rising = backwards(ticks)
    if not_rising:
        return Alignment(None, not_rising, marks, edges, 0)
    period_s = 1.0 / edge_hz
    tick_s = 1.0 / tick_hz
    limit_s = RESIDUAL_LIMIT_PERIODS * period_s + tick_s
    marks_s = np.array([tick - ticks[0] for tick in ticks], dtype=np.float64) / tick_hz
    data = _Input(
        ticks=ticks,
        marks_s=marks_s,
        falls_s=falls_s,
        leads=_leads(falls_s, debounce_s),
        period_s=period_s,
        tick_s=tick_s,
        limit_s=limit_s,
    )
    best = _best_hypothesis(data)
    timebase = best.timebase
    if timebase is None:
        problem = _lost(marks_s, edges, gaps_s) or _unaligned(marks, edges, best.why)
        return Alignment(None, (problem,), marks, edges, 0)
    matching = _matching(data, timebase, best.pairs, gaps_s, open_end)
    span_s = float(np.ptp(falls_s[best.pairs.edges]))
    edge_u_s = math.hypot(period_s, tick_s)
    problems = _unpaired_problems(matching, timebase, ticks)
    problems += _clock_problems(timebase, tick_hz, limit_s, edge_u_s, span_s)
    return Alignment(
        timebase,
        tuple(problems),
        marks,
        edges,
        pairs=len(matching.links),
        links=matching.links,
        in_gaps=matching.in_gaps,
        bounced=len(matching.bounced),
    )


def _matching(
    data: _Input,
    timebase: Timebase,
    pairs: Pairing,
    gaps_s: Sequence[tuple[float, float]],
    open_end: bool,
) -> _Matching:
    missing = np.setdiff1d(np.arange(len(data.ticks)), pairs.marks)
    missing_s = timebase.all_seconds([data.ticks[mark] for mark in missing])
    in_gap = _inside(missing_s, gaps_s, data.limit_s)
    edges = len(data.falls_s)
    stop = pairs.edges.max() + 1 if open_end and len(pairs) else edges
    extra = np.setdiff1d(np.arange(stop), pairs.edges)
    bounces = ~np.isin(extra, data.leads)
    links = zip(pairs.marks.tolist(), pairs.edges.tolist(), strict=True)
    return _Matching(
        marks=len(data.ticks),
        edges=edges,
        links=tuple(links),
        missing=missing[~in_gap].tolist(),
        in_gaps=int(in_gap.sum()),
        extra=extra[~bounces].tolist(),
        bounced=extra[bounces].tolist(),
    )


def _lost(
    marks_s: Float64s, edges: int, gaps_s: Sequence[tuple[float, float]]
) -> Problem | None:
    """Return the problem of a monitor that lost all edges with its samples, or None."""
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
    falling = (k for k in range(1, len(ticks)) if ticks[k] < ticks[k - 1])
    back = next(falling, 0)
    if not back:
        return ()
    detail = (
        f"mark {back + 1} has tick {ticks[back]}, less than the one before, "
        f"{ticks[back - 1]}: did the device start anew?"
    )
    at_s = None if timebase is None else timebase.seconds(ticks[back])
    return (Problem("clock", detail, start_s=at_s, stop_s=at_s),)


def debounce_s(hold_s: float, edge_hz: float) -> float:
    """Return the time after an edge during which another edge is a bounce.

    It is 0 if the monitor's resolution is too coarse to tell: marks are two holds apart
    or more, and coarsely timed edges of two marks would look like a bounce.
    """
    return max(min(DEBOUNCE_HOLDS * hold_s, 2 * hold_s - 2 / edge_hz), 0.0)


def _leads(falls_s: Float64s, debounce_s: float) -> Int64s:
    """Return the numbers of the edges that are no bounces of an earlier edge."""
    if len(falls_s) < 2 or not np.any(np.diff(falls_s) < debounce_s):
        return np.arange(len(falls_s))
    leads: list[int] = []
    for number, at_s in enumerate(falls_s.tolist()):
        if not leads or at_s - falls_s[leads[-1]] >= debounce_s:
            leads.append(number)
    return np.array(leads, dtype=np.int64)


def _best_hypothesis(data: _Input) -> _Hypothesis:
    """Return the hypothesis at the narrowest reach that explains the edges."""
    pairs_max = min(len(data.marks_s), len(data.leads))
    intervals_s = np.diff(data.marks_s)
    shortest_s = float(np.min(intervals_s, initial=np.inf, where=intervals_s > 0))
    best = _within(data, data.limit_s)
    if best.fitting > _ENOUGH * pairs_max:
        return best
    for scale in _SCALES:
        ambiguous = 2 * scale * data.limit_s > shortest_s
        if ambiguous or best.fitting > _NEARLY_ALL * pairs_max:
            break
        wider = _within(data, scale * data.limit_s)
        # Scatter is accepted where it explains many more edges than the limit does.
        explains_more = wider.fitting > best.fitting + pairs_max / 8
        if wider.timebase is not None and explains_more:
            best = wider
    return best


def _within(data: _Input, reach_s: float) -> _Hypothesis:
    """Return the best hypothesis with edges up to `reach_s` away from their marks."""
    edges_s = data.falls_s[data.leads]
    ordered = pairing.in_order(data.marks_s, edges_s, reach_s)
    if ordered is not None:
        by_order = _settled(data, ordered, reach_s)
        if by_order.fitting == len(ordered):
            return by_order
    by_search = pairing.search(data.marks_s, edges_s, reach_s, reach_s / 4)
    # Pairs by order are all marks: a search finds no more.
    start = by_search if ordered is None else ordered
    hypothesis = _settled(data, start, reach_s)
    if hypothesis.timebase is not None and by_search.rival:
        why = (
            f"the edges fit the marks in more than one way, with {len(by_search)} pairs"
            f" and with {by_search.rival}"
        )
        return replace(hypothesis, timebase=None, why=why)
    return hypothesis


def _settled(data: _Input, start: Pairing, reach_s: float) -> _Hypothesis:
    """Fit the pairs and pair again with the expected times until the pairs stay.

    `start` numbers only the edges that are no bounces.
    """
    pairs = Pairing(start.marks, data.leads[start.edges])
    for _ in range(_ROUNDS):
        timebase = _fit(data, pairs, reach_s)
        if timebase is None:
            return _Hypothesis(timebase=None, pairs=_NO_PAIRS, fitting=0)
        again = _matched(data, timebase, reach_s)
        same_marks = np.array_equal(again.marks, pairs.marks)
        if same_marks and np.array_equal(again.edges, pairs.edges):
            break
        pairs = again
    else:
        timebase = _fit(data, pairs, reach_s)
    if timebase is None:
        return _Hypothesis(timebase=None, pairs=_NO_PAIRS, fitting=0)
    ticks = [data.ticks[mark] for mark in pairs.marks.tolist()]
    off_s = timebase.residuals_s(ticks, data.falls_s[pairs.edges].tolist())
    # Edges paired by `unmatched` are no evidence: they were sought in a wider reach.
    fitting = int(np.count_nonzero(np.abs(off_s) <= reach_s))
    due_s = timebase.all_seconds(data.ticks)
    rate = timebase.s_per_tick / data.tick_s
    edges_s = data.falls_s[data.leads]
    if not pairing.convincing(fitting, due_s, edges_s, rate, reach_s):
        why = f"no more than {fitting} fit together, as many as unrelated edges may"
        return _Hypothesis(timebase=None, pairs=_NO_PAIRS, fitting=fitting, why=why)
    return _Hypothesis(timebase=timebase, pairs=pairs, fitting=fitting)


def _fit(data: _Input, pairs: Pairing, reach_s: float) -> Timebase | None:
    ticks = [data.ticks[mark] for mark in pairs.marks.tolist()]
    if len(set(ticks)) < 2:
        return None
    edges_s = data.falls_s[pairs.edges].tolist()
    timebase = Timebase.fit(ticks, edges_s, data.period_s, data.tick_s, reach_s)
    return timebase if timebase.s_per_tick > 0 else None


def _matched(data: _Input, timebase: Timebase, reach_s: float) -> Pairing:
    due_s = timebase.all_seconds(data.ticks)
    marks, edges = pairing.match(due_s, data.falls_s[data.leads], reach_s)
    edges = data.leads[edges]
    # An edge taken for a bounce may be that of a mark, and the one before a stray
    # pulse.
    bounces = np.setdiff1d(np.arange(len(data.falls_s)), data.leads)
    free = np.setdiff1d(np.arange(len(due_s)), marks)
    if len(bounces) and len(free):
        more = pairing.match(due_s[free], data.falls_s[bounces], reach_s)
        marks, edges = _joined(marks, edges, free[more[0]], bounces[more[1]])
    candidates = np.union1d(edges, data.leads)
    paired = np.searchsorted(candidates, edges)
    within_s = max(_STRAY_LIMITS * data.limit_s, _STRAY_REACHES * reach_s)
    stray_marks, stray_edges = pairing.unmatched(
        due_s, data.falls_s[candidates], marks, paired, within_s
    )
    return Pairing(*_joined(marks, edges, stray_marks, candidates[stray_edges]))


def _joined(
    marks: Int64s, edges: Int64s, more_marks: Int64s, more_edges: Int64s
) -> tuple[Int64s, Int64s]:
    # Sorted apart: of two pairs that cross, the order is right.
    all_marks = np.sort(np.concatenate([marks, more_marks]))
    all_edges = np.sort(np.concatenate([edges, more_edges]))
    return all_marks, all_edges


def _inside(
    times_s: Float64s, spans_s: Sequence[tuple[float, float]], margin_s: float
) -> Bools:
    inside = np.zeros(len(times_s), dtype=bool)
    for start_s, stop_s in spans_s:
        inside |= (times_s >= start_s - margin_s) & (times_s <= stop_s + margin_s)
    return inside


def _clock_problems(
    timebase: Timebase, tick_hz: float, limit_s: float, edge_u_s: float, span_s: float
) -> list[Problem]:
    """Return the problems of the clocks' rate and of edges far off the fitted line.

    `edge_u_s` is the resolution of an edge, `span_s` the time between the first and the
    last.
    """
    problems = []
    ratio = timebase.s_per_tick * tick_hz
    # With a clock this wrong, a sample period is not the stated one, and edges are
    # known less well.
    far_off = timebase.residual_max_s > limit_s * max(ratio, 1 / ratio, 1.0)
    # A step among the edges tilts the line, and is no evidence for a rate.
    edge_error_s = _ERROR_SPANS * edge_u_s
    if far_off:
        edge_error_s += 3 * timebase.residual_max_s
    # 500 ppm are seen as 500.25 from the other clock's side, and no rate is known
    # better than its uncertainty.
    difference = min(abs(ratio - 1), abs(1 / ratio - 1))
    if difference > CLOCK_LIMIT + edge_error_s / span_s + 3 * timebase.slope_u:
        problems.append(_stretched(ratio))
    if far_off:
        spread = f"limit {limit_s * 1e6:.2f} us, rms {timebase.residual_s * 1e6:.2f} us"
        detail = (
            f"an edge lies {timebase.residual_max_s * 1e6:.2f} us off the line"
            f" ({spread})"
        )
        problems.append(Problem("sync", detail))
    return problems


def _stretched(ratio: float) -> Problem:
    known = ""
    for stretch, name in _STRETCHES:
        if abs(ratio / stretch - 1) < 0.01:
            known = f", close to {name}"
            break
    limit = f"limit {CLOCK_LIMIT * 1e6:.0f} ppm"
    detail = (
        f"the monitor sees device time stretched {ratio:.4f} times{known}"
        f" ({limit}): one clock is wrong by that much"
    )
    if known:
        detail += (
            ", as of an instrument that logs more channels than it can at its rate"
        )
    return Problem("clock", detail)


def _unpaired_problems(
    matching: _Matching, timebase: Timebase, ticks: Sequence[int]
) -> list[Problem]:
    """Return the problem of marks and edges that are in no pair; its place is the first
    such mark and the first such edge.
    """
    parts = [
        f"{matching.marks} marks, {matching.edges} falling edges,"
        f" {len(matching.links)} pairs"
    ]
    if matching.missing:
        parts.append(f"no edge for mark {_some(matching.missing)}")
    if matching.extra:
        parts.append(f"no mark for edge {_some(matching.extra)}")
    if matching.bounced:
        parts.append(f"bounced: edge {_some(matching.bounced)}")
    if len(parts) == 1:
        return []
    at_s = None
    if matching.missing:
        at_s = timebase.seconds(ticks[matching.missing[0]])
    edge = None
    unpaired_edges = matching.extra or matching.bounced
    if unpaired_edges:
        edge = unpaired_edges[0] + 1
    detail = "; ".join(parts)
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
