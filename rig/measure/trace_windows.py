# SPDX-License-Identifier: Apache-2.0
"""Choose windows on a trace by its edges, by markers or by times, and tabulate their
content. Pure but for reading the trace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from rig.errors import ConfigError, DataError
from rig.model.effects import OWN, Effect
from rig.stats.summary import half_width
from rig.trace.marker import Marker
from rig.trace.trace import STEPPED, EndPower, Integral, Trace
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.window_effects import at_one_volt, beyond, of_energy, ranges_a

#: Edges that begin and end a window; an end that is also a beginning begins the next
#: one.
PATTERNS = ("fall-fall", "fall-rise", "rise-fall", "rise-rise")
_UNIFORM = 1 / math.sqrt(12.0)


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A window, in seconds from the first sample; `end_u_s` is the standard uncertainty
    of each of its ends.
    """

    name: str
    start_s: float
    stop_s: float
    end_u_s: float = 0.0


@dataclass(frozen=True, slots=True)
class WindowRow:
    """The content of one window; None for unknown values, with the reason in `problem`.

    Names with `_u_` are standard uncertainties, those with `_u95_` half-widths of 95 %
    intervals, 1.96 times as much. Charge and current are None if the trace holds power
    alone.
    """

    name: str
    start_s: float | None
    duration_s: float
    energy_j: float | None = None
    energy_u_j: float | None = None
    energy_u95_j: float | None = None
    charge_c: float | None = None
    charge_u_c: float | None = None
    charge_u95_c: float | None = None
    mean_w: float | None = None
    mean_u_w: float | None = None
    mean_u95_w: float | None = None
    least_w: float | None = None
    most_w: float | None = None
    mean_a: float | None = None
    mean_u_a: float | None = None
    mean_u95_a: float | None = None
    problem: str = ""


def with_intervals(row: WindowRow) -> WindowRow:
    """Return a row with the half-widths of 95 % intervals of its standard
    uncertainties.
    """
    energy_u95_j = half_width(row.energy_u_j)
    charge_u95_c = half_width(row.charge_u_c)
    mean_u95_w = half_width(row.mean_u_w)
    return replace(
        row,
        energy_u95_j=energy_u95_j,
        charge_u95_c=charge_u95_c,
        mean_u95_w=mean_u95_w,
        mean_u95_a=half_width(row.mean_u_a),
    )


def by_edges(trace: Trace, pattern: str) -> list[TraceSpan]:
    """Return a window from each edge of one kind to the next of the other; raises
    DataError when there is none.
    """
    begin, _, end = pattern.partition("-")
    times_s = {"fall": trace.falls_s, "rise": trace.rises_s}
    starts_s = times_s[begin]
    ends_s = times_s[end]
    following = np.searchsorted(ends_s, starts_s, side="right")
    pairs = []
    for start_s, at in zip(starts_s, following, strict=True):
        if at < len(ends_s):
            pairs.append((float(start_s), float(ends_s[at])))
    if not pairs:
        raise DataError(
            f"there is no window from {begin} to {end}",
            evidence=(
                f"the trace has {len(trace.falls_s)} falling and {len(trace.rises_s)}"
                " rising edges of SYNC"
            ),
            try_next="--edges with another pattern, --times, --markers or --whole",
        )
    numbered = enumerate(pairs, start=1)
    return [
        TraceSpan(str(number), *pair, _UNIFORM / trace.edge_hz)
        for number, pair in numbered
    ]


def by_markers(markers: Sequence[Marker]) -> list[TraceSpan]:
    """Return the window between each pair of markers (1a and 1b); without pairs, from
    each marker to the next, or from each text to the next. Raises DataError when there
    is none.
    """
    vertical = [marker for marker in markers if marker.kind == "vertical"]
    windows: dict[str, list[float]] = {}
    for marker in vertical:
        if marker.name[-1:] in ("a", "b") and marker.name[:-1]:
            windows.setdefault(marker.name[:-1], []).append(marker.at_s)
    odd = [name for name, at_s in windows.items() if len(at_s) != 2]
    if odd:
        raise DataError(
            f"marker {odd[0]} has not one a and one b",
            evidence=f"{len(windows[odd[0]])} of that name",
        )
    if windows:
        return [TraceSpan(name, min(at_s), max(at_s)) for name, at_s in windows.items()]
    single = (
        vertical
        if len(vertical) > 1
        else [marker for marker in markers if marker.kind == "text"]
    )
    if len(single) < 2:
        have = ", ".join(marker.name for marker in markers) or "none"
        raise DataError(
            "there are no markers to make a window of",
            evidence=f"markers: {have}",
            try_next="--times or --edges",
        )
    return [
        TraceSpan(f"{begin.name} to {end.name}", begin.at_s, end.at_s)
        for begin, end in pairwise(single)
    ]


def by_times(texts: Sequence[str]) -> list[TraceSpan]:
    """Return the windows that were given as "0.1-0.35", in seconds from the first
    sample; raises ConfigError.
    """
    spans = []
    for number, text in enumerate(texts, start=1):
        # The minus of an exponent does not separate two times: 1e-3-2e-3.
        bounds = text.replace("e-", "e~").replace("E-", "e~").split("-")
        try:
            start_s, stop_s = (float(bound.replace("~", "-")) for bound in bounds)
        except ValueError as error:
            raise ConfigError(
                f"--times {text}",
                try_next="--times START-STOP in seconds, as --times 0.1-0.35",
            ) from error
        if not 0 <= start_s < stop_s < math.inf:
            raise ConfigError(
                f"--times {text}",
                evidence="the stop does not come after the start",
                try_next="--times 0.1-0.35",
            )
        spans.append(TraceSpan(str(number), start_s, stop_s))
    return spans


def whole(trace: Trace) -> list[TraceSpan]:
    """Return the whole trace as one window; raises DataError for an empty one."""
    if not trace.length:
        raise DataError(
            f"{trace.path} has no samples",
            try_next="another trace; rig check tells how its session ended",
        )
    return [TraceSpan("whole", 0.0, trace.duration_s)]


def tabulate(
    trace: Trace,
    spans: Sequence[TraceSpan],
    accuracy: Accuracy | None,
    has_current: bool = True,
) -> list[WindowRow]:
    """Return a row for each window and one for their sum.

    A window that touches a gap has no energy, and one beyond the ranges of the
    instrument no uncertainty; without an accuracy, no window has one. In the sum,
    errors of gains and offsets are correlated between windows, those of edges and noise
    are independent.
    """
    gaps = [trace.gap_between(span.start_s, span.stop_s) for span in spans]
    good = [span for span, gap in zip(spans, gaps, strict=True) if gap is None]
    # At an edge the power steps, as line and device change together; at a time by hand
    # it may or may not.
    at_edges = any(span.end_u_s for span in spans)
    bounds_s = [(span.start_s, span.stop_s) for span in good]
    integrals = trace.integrals(
        bounds_s, ranges_a(accuracy) if accuracy else (), steps_at_ends=at_edges
    )
    pairs = zip(integrals, good, strict=True)
    parts = [_Part(integral, span.end_u_s, trace.sample_hz) for integral, span in pairs]
    doubts = [
        _doubt(part.integral, accuracy, at_edges) if accuracy else "" for part in parts
    ]
    rows = []
    rows_with_doubts = iter(zip(parts, doubts, strict=True))
    for span, gap in zip(spans, gaps, strict=True):
        if gap is not None:
            problem = f"samples {gap.start} to {gap.stop}: {gap.cause}"
            rows.append(
                WindowRow(
                    span.name, span.start_s, span.stop_s - span.start_s, problem=problem
                )
            )
            continue
        part, doubt = next(rows_with_doubts)
        row = _row(
            span.name,
            span.start_s,
            [part],
            None if doubt else accuracy,
            has_current=has_current,
            problem=doubt,
        )
        rows.append(row)
    return [
        *rows,
        _total(rows, spans, parts, None if any(doubts) else accuracy, has_current),
    ]


def _doubt(integral: Integral, accuracy: Accuracy, at_edges: bool) -> str:
    """Return the reason why the uncertainty of a window is unknown, or an empty
    text.
    """
    if at_edges and not integral.stepped:
        return (
            f"it touches fewer than {STEPPED} samples: what the first and the last have"
            " of it cannot be told"
        )
    over = beyond(integral, accuracy)
    return f"{over}: no limits of error are known there" if over else ""


@dataclass(frozen=True, slots=True)
class _Part:
    """A measured window; `end_u_s` is the standard uncertainty of each of its ends."""

    integral: Integral
    end_u_s: float
    sample_hz: float

    def effects(self, accuracy: Accuracy, mean_w: float | None) -> Mapping[str, Effect]:
        """Return the effects on the energy, or with `mean_w` those on the deviation
        from that mean power.

        In a mean power the clock's errors of energy and duration cancel, and a shifted
        end changes it by the difference of the power there from the mean.
        """
        integral = self.integral
        if mean_w is not None:
            start, stop = (
                EndPower(end.outside_w - mean_w, end.inside_w - mean_w)
                for end in integral.ends
            )
            integral = replace(integral, ends=(start, stop))
            accuracy = replace(accuracy, clock_ppm=0.0)
        return of_energy(
            integral, accuracy, self.sample_hz, (self.end_u_s, self.end_u_s)
        ).of


def _row(
    name: str,
    start_s: float | None,
    parts: Sequence[_Part],
    accuracy: Accuracy | None,
    has_current: bool,
    problem: str = "",
) -> WindowRow:
    """Sum the contents of windows."""
    integrals = [part.integral for part in parts]
    duration_s = math.fsum(integral.duration_s for integral in integrals)
    energy_j = math.fsum(integral.energy_j for integral in integrals)
    charge_c = math.fsum(integral.charge_c for integral in integrals)
    row = WindowRow(
        name,
        start_s,
        duration_s,
        energy_j=energy_j,
        energy_u_j=_summed_u_j(parts, accuracy),
        least_w=min(integral.least_w for integral in integrals),
        most_w=max(integral.most_w for integral in integrals),
        problem=problem,
    )
    if duration_s:
        mean_w = energy_j / duration_s
        row = replace(
            row,
            mean_w=mean_w,
            mean_u_w=_divided(_summed_u_j(parts, accuracy, mean_w), duration_s),
        )
    if not has_current:
        return row
    row = replace(row, charge_c=charge_c, mean_a=_divided(charge_c, duration_s))
    if accuracy is None or not all(integral.volt_s for integral in integrals):
        return row
    # A charge is the energy at a voltage of 1 V that is exact.
    at_1_v = [replace(part, integral=at_one_volt(part.integral)) for part in parts]
    exact = replace(accuracy, voltage=(Range(2.0, 0.0, 0.0),))
    mean_u_a = _divided(_summed_u_j(at_1_v, exact, charge_c / duration_s), duration_s)
    return replace(row, charge_u_c=_summed_u_j(at_1_v, exact), mean_u_a=mean_u_a)


def _total(
    rows: Sequence[WindowRow],
    spans: Sequence[TraceSpan],
    parts: Sequence[_Part],
    accuracy: Accuracy | None,
    has_current: bool,
) -> WindowRow:
    """Return the sum over all windows; without values if one has no energy or two
    overlap.
    """
    ordered = sorted(spans, key=lambda span: span.start_s)
    problem = ""
    if len(parts) < len(rows):
        problem = f"{len(rows) - len(parts)} of {len(rows)} windows have no energy"
    elif any(later.start_s < earlier.stop_s for earlier, later in pairwise(ordered)):
        problem = "windows overlap: their sum would count some energy twice"
    if problem:
        return WindowRow(
            "total", None, math.fsum(row.duration_s for row in rows), problem=problem
        )
    return _row("total", None, parts, accuracy, has_current)


def _divided(value: float | None, by: float) -> float | None:
    return value / by if value is not None and by else None


def _summed_u_j(
    parts: Sequence[_Part], accuracy: Accuracy | None, mean_w: float | None = None
) -> float | None:
    """Combine: correlated errors add up over the windows, independent ones add in
    quadrature.
    """
    if accuracy is None:
        return None
    effects = [part.effects(accuracy, mean_w) for part in parts]
    total2 = 0.0
    # In the order of the windows: the order of a set, and so the last digit of a sum,
    # would change from process to process.
    for name in dict.fromkeys(chain.from_iterable(effects)):
        of_windows = [of[name] for of in effects if name in of]
        alone = [effect.energy_j for effect in of_windows if effect.kind == OWN]
        alike = [effect.energy_j for effect in of_windows if effect.kind != OWN]
        total2 += math.fsum(value**2 for value in alone) + math.fsum(alike) ** 2
    return math.sqrt(total2)
