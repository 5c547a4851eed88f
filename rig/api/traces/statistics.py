# SPDX-License-Identifier: Apache-2.0
"""Exact statistics of a stretch of a trace: energy and charge by the code of
results.json, the rest from every sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rig.api.traces.samples import Cancelled
from rig.arrays import Float32s, Float64s, Reals
from rig.errors import DataError
from rig.trace.gaps import Gap, joined, unreadable
from rig.trace.levels import Hidden, Stopped
from rig.trace.moments import Moments
from rig.trace.trace import LOST_LIMIT, Integral, Trace, reading
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.mean_voltage import mean_voltage_u_v
from rig.uncertainty.window_effects import beyond, charge_u_c, of_energy, ranges_a

_BLOCK = 1 << 17
_UNKNOWN = "no accuracy is stated for this trace, so no uncertainty is known"
_MEANS = (
    "a part of it keeps means in place of samples: least, most and deviations are"
    " theirs, and energy and charge are not stated"
)


@dataclass(frozen=True, slots=True)
class SignalStatistics:
    """Statistics of the samples of a signal in a stretch of time, the end samples by
    their fraction; NaN where no sample is known.
    """

    mean: float
    std: float
    rms: float
    least: float
    most: float

    @property
    def p2p(self) -> float:
        """Distance from the least to the most."""
        return self.most - self.least


@dataclass(frozen=True, slots=True)
class StatisticEnds:
    """Knowledge of the ends of a stretch: whether both are at edges, where the power
    steps, and the standard uncertainty of each (s); `nominal_rate` as in
    rig/uncertainty/window_effects.py.
    """

    at_edges: bool = False
    u_s: tuple[float, float] = (0.0, 0.0)
    nominal_rate: bool = False


@dataclass(frozen=True, slots=True)
class TraceStatistics:
    """The content of a stretch of a trace, from `start_s` to `stop_s`.

    `count` samples touch it, `lost` of them are lost. Current, voltage and charge are
    None for a file of power alone. Energy and charge are None where too much is lost,
    or what lies at the ends; `energy_u_j`, `charge_u_c`, `voltage_u_v` of the mean
    voltage and `span_u_s` of the span are standard uncertainties, None where they are
    not known, and `remark` says why. The span's is due to the instrument's clock, and
    to both ends where they are at edges. Where `at_edges` the ends lie
    at edges of SYNC, or of windows: what they leave of their samples counts with the
    power inside, as in results.json. `labels` are those of the trace, such as
    SIMULATED.
    """

    start_s: float
    stop_s: float
    count: int
    lost: int
    current: SignalStatistics | None
    voltage: SignalStatistics | None
    power: SignalStatistics
    charge_c: float | None
    charge_u_c: float | None
    energy_j: float | None
    energy_u_j: float | None
    at_edges: bool
    voltage_u_v: float | None = None
    span_u_s: float | None = None
    remark: str = ""
    labels: tuple[str, ...] = ()

    @property
    def span_s(self) -> float:
        """Length of the stretch."""
        return self.stop_s - self.start_s


def statistics(
    trace: Trace,
    start_s: float,
    stop_s: float,
    accuracy: Accuracy | None,
    ends: StatisticEnds,
    has_current: bool = True,
    stopped: Stopped | None = None,
) -> TraceStatistics:
    """Return the statistics of a stretch; raises DataError where it is outside the
    trace, Cancelled where `stopped` says so.
    """
    if not 0 <= start_s < stop_s <= trace.duration_s:
        raise DataError(
            f"{start_s:.9g} s to {stop_s:.9g} s is no stretch of the trace",
            evidence=f"it is {trace.duration_s:.9g} s long",
            try_next="a start before the stop, both inside the trace",
        )
    moments, count, gaps = _moments(trace, start_s, stop_s, stopped)
    lost = sum(gap.stop - gap.start for gap in gaps)
    power, current, voltage = (_signal(one) for one in moments)
    found = TraceStatistics(
        start_s=start_s,
        stop_s=stop_s,
        count=count,
        lost=lost,
        current=current if has_current else None,
        voltage=voltage if has_current else None,
        power=power,
        charge_c=None,
        charge_u_c=None,
        energy_j=None,
        energy_u_j=None,
        at_edges=ends.at_edges,
    )
    if accuracy is not None:
        clock_u_s = found.span_s * accuracy.clock_ppm * 1e-6 / accuracy.divisor
        found = replace(found, span_u_s=math.hypot(clock_u_s, *ends.u_s))
    if trace.reduced_between(start_s, stop_s) is not None:
        return replace(found, remark=_MEANS)
    known = replace(trace, gaps=tuple(gaps))
    if known.lost_between(start_s, stop_s) is None:
        remark = (
            f"{lost} of {count} samples are lost, at the ends or more than"
            f" {LOST_LIMIT:.0%}: nothing is known of energy and charge"
        )
        return replace(found, remark=remark)
    if stopped is not None and stopped():
        raise Cancelled
    ranges = ranges_a(accuracy) if accuracy is not None else ()
    [integral] = known.integrals(
        [(start_s, stop_s)], ranges, steps_at_ends=ends.at_edges, bridged=True
    )
    found = replace(
        found,
        energy_j=integral.energy_j,
        charge_c=integral.charge_c if has_current else None,
        at_edges=integral.stepped,
    )
    return _uncertain(found, integral, accuracy, trace.sample_hz, ends)


def _uncertain(
    statistics_known: TraceStatistics,
    integral: Integral,
    accuracy: Accuracy | None,
    sample_hz: float,
    ends: StatisticEnds,
) -> TraceStatistics:
    """Return statistics with the uncertainty of energy, charge and voltage, or why
    there is none."""
    if accuracy is None:
        return replace(statistics_known, remark=_UNKNOWN)
    statistics_known = replace(
        statistics_known, voltage_u_v=_voltage_u_v(statistics_known, accuracy)
    )
    if over := beyond(integral, accuracy):
        remark = f"{over}: no limits of error are known there"
        return replace(statistics_known, remark=remark)
    how = sample_hz, ends.u_s, ends.nominal_rate
    statistics_known = replace(
        statistics_known, energy_u_j=of_energy(integral, accuracy, *how).energy_u_j
    )
    if statistics_known.current is not None and integral.volt_s:
        statistics_known = replace(
            statistics_known, charge_u_c=charge_u_c(integral, accuracy, *how)
        )
    return statistics_known


def _voltage_u_v(known: TraceStatistics, accuracy: Accuracy) -> float | None:
    """Return the standard uncertainty of the mean voltage of a stretch."""
    voltage = known.voltage
    if voltage is None:
        return None
    lost_v = voltage.p2p * known.lost / known.count
    return mean_voltage_u_v(voltage.mean, known.count - known.lost, accuracy, lost_v)


def _moments(
    trace: Trace, start_s: float, stop_s: float, stopped: Stopped | None
) -> tuple[tuple[Moments, Moments, Moments], int, list[Gap]]:
    """Return the moments of power, current and voltage, how many samples touch the
    stretch, and which of them are lost.
    """
    start, stop = trace.place(start_s), trace.place(stop_s)
    first = math.floor(start)
    last = min(max(math.ceil(stop), first + 1), trace.length)
    weights = {first: 1 - (start - first), last - 1: 1 - (last - stop)}
    if last - first == 1:
        weights = {first: stop - start}
    hidden = Hidden(trace.gaps)
    gaps = []
    for gap in trace.gaps:
        if gap.start < last and gap.stop > first:
            gaps.append(Gap(max(gap.start, first), min(gap.stop, last), gap.cause))
    moments = Moments(), Moments(), Moments()
    buffer = np.empty(_BLOCK)
    with reading(trace.path) as reader:
        at = first
        while at < last:
            if stopped is not None and stopped():
                raise Cancelled
            count = min(last - at, _BLOCK - at % _BLOCK)
            current, voltage = trace.samples(reader, at, count)
            for start, stop in unreadable(current, voltage).tolist():
                gaps.append(Gap(at + start, at + stop, "no number"))
            hidden.hide(at, current, voltage)
            _add(moments, buffer, (current, voltage), at, weights)
            at += count
    return moments, last - first, joined(gaps)


def _add(
    moments: tuple[Moments, ...],
    buffer: Float64s,
    signals: tuple[Float32s, Float32s],
    at: int,
    weights: dict[int, float],
) -> None:
    """Add a block whose first sample has number `at`; the samples in `weights` count
    for less."""
    power = np.multiply(*signals, out=buffer[: len(signals[0])], dtype=np.float64)
    rows: tuple[Reals, ...] = (power, *signals)
    for place, weight in ((number - at, weight) for number, weight in weights.items()):
        if 0 <= place < len(power):
            values = [float(row[place]) for row in rows]
        else:
            values = [math.nan]
        if all(map(math.isfinite, values)):
            for one, value in zip(moments, values, strict=True):
                one.add_part(value, weight)
    # They are the first and the last of all.
    begin = int(at in weights)
    end = len(power) - int(at + len(power) - 1 in weights)
    rows = tuple(row[begin : max(end, begin)] for row in rows)
    if not np.isfinite(rows[0].sum()):
        known = np.isfinite(rows[0])
        rows = tuple(row[known] for row in rows)
    for one, row in zip(moments, rows, strict=True):
        one.add(row)


def _signal(moments: Moments) -> SignalStatistics:
    if not moments.weight:
        return SignalStatistics(*[math.nan] * 5)
    rms = math.hypot(moments.mean, math.sqrt(moments.variance))
    return SignalStatistics(
        moments.mean, math.sqrt(moments.variance), rms, moments.least, moments.most
    )
