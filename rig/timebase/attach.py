# SPDX-License-Identifier: Apache-2.0
"""Attach the device's marks to a monitor's trace, by any of the ways that instruments
offer. Pure.

Usually every mark has an edge (rig/timebase/align.py). Two kinds of instruments have
none: one whose trace begins at the first edge, without others, and one that reads a
clock of the host, with which the device, being that host, stamps its marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rig.problems import Problem
from rig.timebase.align import Alignment, align, backwards, debounce_s
from rig.timebase.timebase import Timebase
from rig.trace.trace import Trace

#: With nominal rates a window may be off by this share of its length (a standard
#: uncertainty).
SHIFT_LIMIT = 0.05
#: Pulses at their shortest distance are low for half of the time; the rest is room for
#: samples of the line.
_LOW_SHARE = 0.75


def attach(
    trace: Trace,
    ticks: Sequence[int],
    tick_hz: float,
    hold_s: float,
    clock: str,
    open_end: bool = False,
) -> Alignment:
    """Return the time base of one trace.

    hold_s: length of a SYNC pulse
    clock: the host's clock that `ticks` count, or empty
    open_end: there may be edges after the last of the ticks
    """
    if trace.sync == "start":
        return _first_edge(trace, ticks, tick_hz)
    if trace.sync == "clock":
        return _same_clock(trace, ticks, tick_hz, clock)
    gaps_s = [
        (gap.start / trace.sample_hz, gap.stop / trace.sample_hz) for gap in trace.gaps
    ]
    bounce_s = debounce_s(hold_s, trace.edge_hz)
    aligned = align(
        ticks,
        tick_hz,
        trace.falls_s,
        trace.edge_hz,
        debounce_s=bounce_s,
        gaps_s=gaps_s,
        open_end=open_end,
    )
    return replace(
        aligned, problems=(*aligned.problems, *_inverted(trace, aligned.links))
    )


def shifted(timebase: Timebase, windows: Sequence[tuple[int, int]]) -> list[Problem]:
    """Return the problem of windows (start and stop tick) that a single known instant
    does not place well enough.
    """
    if not timebase.nominal_rate:
        return []
    far = [
        (timebase.seconds_u_s(stop), timebase.interval_s(start, stop))
        for start, stop in windows
    ]
    hit = [(u_s, length_s) for u_s, length_s in far if u_s > SHIFT_LIMIT * length_s]
    if not hit:
        return []
    u_s, length_s = max(hit, key=lambda pair: pair[0] / pair[1])
    detail = (
        f"{len(hit)} of {len(far)} windows may lie off by more than {SHIFT_LIMIT:.0%}"
        f" of their length: one of {length_s * 1e3:.3g} ms by {u_s * 1e3:.3g} ms, as"
        " one edge ties the clocks and their rates are taken on trust; make windows"
        " longer (repeat), or use a monitor that sees all edges"
    )
    return [Problem("sync", detail)]


def _inverted(trace: Trace, links: Sequence[tuple[int, int]]) -> tuple[Problem, ...]:
    """Return the problem of a line on which the ends of pulses are taken for marks. As
    all marks are shifted alike, no other check shows it.

    A pulse is low, and the next begins at least as long after its end
    (docs/reference/PROTOCOL.md section 5). Monitors that see no rises are not checked.
    """
    paired_s = trace.falls_s[[edge for _, edge in links]] if links else trace.falls_s
    falls_s = paired_s[:-1]
    nexts_s = paired_s[1:]
    after = np.searchsorted(trace.rises_s, falls_s, side="right")
    seen = after < len(trace.rises_s)
    seen[seen] = trace.rises_s[after[seen]] < nexts_s[seen]
    # Next to lost samples, the rise may be that of another pulse.
    for gap in trace.gaps:
        seen &= (falls_s > gap.stop / trace.sample_hz) | (
            nexts_s < gap.start / trace.sample_hz
        )
    low_s = float((trace.rises_s[after[seen]] - falls_s[seen]).sum())
    whole_s = float((nexts_s - falls_s)[seen].sum())
    if low_s <= _LOW_SHARE * whole_s:
        return ()
    detail = (
        f"the line is low for {low_s / whole_s:.0%} of the time between marks, which"
        " are low pulses: is it inverted, by a level shifter or the wrong pin? All"
        " windows lie late by a pulse"
    )
    return (Problem("sync", detail),)


def at_nominal_rate(
    ticks: Sequence[int], tick_hz: float, limit_ppm: float
) -> Alignment:
    """Return the device's own clock as the time base without a monitor, within a stated
    limit that is not checked. Its zero is the first mark.
    """
    marks = len(ticks)
    if not marks:
        return Alignment(None, (), 0, 0, 0)
    tick_u_s = 1 / tick_hz / math.sqrt(12.0)
    rate_u = limit_ppm * 1e-6 / math.sqrt(3.0)
    timebase = Timebase.stated(ticks[0], 0.0, tick_hz, tick_u_s, rate_u)
    return Alignment(timebase, backwards(ticks, timebase), marks, 0, 0)


def _first_edge(trace: Trace, ticks: Sequence[int], tick_hz: float) -> Alignment:
    edges = len(trace.falls_s)
    marks = len(ticks)
    if edges != 1 or not marks:
        detail = f"{marks} marks, {edges} edges where one starts the trace"
        return Alignment(None, (Problem("edges", detail),), marks, edges, 0)
    offset_u_s = math.hypot(1 / trace.edge_hz, 1 / tick_hz) / math.sqrt(12.0)
    rate_u = trace.rate_limit_ppm * 1e-6 / math.sqrt(3.0)
    edge_s = float(trace.falls_s[0])
    timebase = Timebase.stated(ticks[0], edge_s, tick_hz, offset_u_s, rate_u)
    problems = backwards(ticks, timebase)
    return Alignment(timebase, problems, marks, edges=1, pairs=1, links=((0, 0),))


def _same_clock(
    trace: Trace, ticks: Sequence[int], tick_hz: float, clock: str
) -> Alignment:
    marks = len(ticks)
    if clock != "CLOCK_MONOTONIC" or not marks:
        detail = (
            f"{marks} marks; the trace is tied by CLOCK_MONOTONIC, the device's marks "
            f"count {clock or 'a timer of its own'}"
        )
        return Alignment(None, (Problem("edges", detail),), marks, 0, 0)
    # In whole numbers: a double has no room for nanoseconds of an uptime.
    origin_ns = ticks[0] * 1_000_000_000 // tick_hz - trace.start_monotonic_ns
    timebase = Timebase.stated(
        ticks[0], origin_ns * 1e-9, tick_hz, 1 / tick_hz / math.sqrt(12.0), 0.0
    )
    return Alignment(timebase, backwards(ticks, timebase), marks, 0, 0)
