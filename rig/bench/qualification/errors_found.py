# SPDX-License-Identifier: Apache-2.0
"""Errors of a monitor from recordings of known loads, each with its budget. Pure but
for reading traces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rig.arrays import Reals
from rig.bench.qualification.load import Resistor
from rig.stats.summary import mean, standard_error
from rig.trace.trace import Integral, Trace, reading
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.budget import Budget, Part, combined
from rig.uncertainty.window_effects import charge_u_c, of_energy, ranges_a

#: More samples than this share at the lowest reading: the instrument may show no lower
#: ones. With half a normal noise above it, it shows none.
_CLIPPED = 0.05
#: Mean over root mean square of half a normal distribution is known as well as this.
_SHAPE = 0.05
#: Parts of a recording whose means show how much a mean scatters.
SEGMENTS = 20
_NOISE_SAMPLES = 1_000_000
#: The voltage of the gain is that of each later power, so that its error counts twice,
#: and budgets add squares: 2^2 = 1 + 3.
_COUNTED_AGAIN = math.sqrt(3.0)
_SQRT_3 = math.sqrt(3.0)
#: Edges scatter over the samples from this share of a period on.
_DITHERED = 0.1
_LEAST_EDGES = 10
#: Part of the time to the next edge that is compared, and that is left out beside an
#: edge.
_BESIDE = 0.4
_LATENCIES = 12
ARRIVALS = "scatter of arrivals"
HOST_CLOCK = "this computer's clock"
#: A value without any uncertainty of its own.
NO_BUDGET = Budget(0.0, 0.0, ())


@dataclass(frozen=True, slots=True)
class ErrorEstimate:
    """A value in SI units, or of 1, with its uncertainty budget."""

    value: float
    budget: Budget

    @property
    def u95(self) -> float:
        """Half-width of its 95 % interval."""
        return self.budget.expanded

    @property
    def most(self) -> str:
        """The largest part of its budget."""
        return self.budget.parts[0].component

    def scaled(self, factor: float) -> ErrorEstimate:
        """Return the same in another unit."""
        u = self.budget.standard_uncertainty * factor
        return ErrorEstimate(
            self.value * factor, replace(self.budget, standard_uncertainty=u)
        )


@dataclass(frozen=True, slots=True)
class CurrentLevel:
    """A constant current as a recording shows it: means, their scatter, and the
    standard deviation of one sample; `shares` of the charge lie in each range.
    `lowest`: the commonest reading is the lowest, about `lowest_a`, and the
    instrument may show no lower one. `clipped`: readings below 0 are shown as 0, and
    the mean is too large.
    """

    current: ErrorEstimate
    voltage_v: float
    noise_a: float
    shares: tuple[float, ...]
    integral: Integral
    sample_hz: float
    lowest_a: float
    lowest: bool
    clipped: bool

    @property
    def row(self) -> int:
        """The range that most of the charge lies in."""
        return max(range(len(self.shares)), key=self.shares.__getitem__)


def level(trace: Trace, stated: Accuracy) -> CurrentLevel:
    """Return the level of a whole recording."""
    length_s = trace.duration_s / SEGMENTS
    ends_s = [(at * length_s, (at + 1) * length_s) for at in range(SEGMENTS)]
    ranges = ranges_a(stated)
    currents_a = [
        each.charge_c / each.duration_s for each in trace.integrals(ends_s, ranges)
    ]
    (whole,) = trace.integrals([(0.0, trace.duration_s)], ranges)
    with reading(trace.path) as reader:
        count = min(trace.length, _NOISE_SAMPLES)
        samples_a, _ = trace.samples(reader, 0, count)
    noise_a = float(np.std(samples_a.astype(np.float64)))
    clipped = _clipped(samples_a, noise_a)
    scatter_a = standard_error(currents_a) or 0.0
    steps_a = _steps_a(whole, stated, trace, noise_a)
    parts = [
        _part("scatter of readings", scatter_a, _T, "A"),
        _part("steps", steps_a, "rectangular"),
    ]
    return CurrentLevel(
        current=ErrorEstimate(mean(currents_a), _combined(parts)),
        voltage_v=whole.volt_s / whole.duration_s,
        noise_a=noise_a,
        shares=tuple(
            part_c / whole.charge_c if whole.charge_c else 0.0
            for part_c in whole.range_charge_c
        ),
        integral=whole,
        sample_hz=trace.sample_hz,
        lowest_a=float(samples_a.min()),
        lowest=clipped or _mostly_lowest(samples_a),
        clipped=clipped,
    )


def _mostly_lowest(samples_a: Reals) -> bool:
    """Check whether no reading is more frequent than the lowest."""
    _, counts = np.unique(samples_a, return_counts=True)
    return bool(np.argmax(counts) == 0 and counts[0] > _CLIPPED * len(samples_a))


def _clipped(samples_a: Reals, noise_a: float) -> bool:
    """Check whether samples are a normal noise, of many steps of the converter, whose
    lower part is one reading: the converter's lowest.
    """
    readings_a, counts = np.unique(samples_a, return_counts=True)
    often = int(np.argmax(counts))
    above_a = samples_a[samples_a > readings_a[often]] - readings_a[often]
    if not len(above_a) or counts[often] <= _CLIPPED * len(samples_a):
        return False
    # Half a normal distribution; the pulses of a device are none.
    shape = np.mean(above_a) / np.sqrt(np.mean(above_a**2))
    is_half = abs(shape - math.sqrt(2 / math.pi)) < _SHAPE
    return bool(is_half and noise_a > 2 * above_a.min())


def gain(
    loaded: CurrentLevel,
    resistor: Resistor,
    zero: ErrorEstimate,
    stated: Accuracy,
    voltmeter: tuple[float, float] | None,
    drift: float = 0.0,
) -> ErrorEstimate:
    """Return the relative error of the gain in the range of a level: reading over
    current, less 1.

    zero: the reading without current
    voltmeter: the voltage over the resistor and the limit of its relative error; None:
        the instrument's own reading, or its set voltage
    drift: limit of a further relative change
    """
    volts = loaded.voltage_v if voltmeter is None else voltmeter[0]
    true_a = volts / resistor.ohm
    read_a = loaded.current.value - zero.value
    ratio = read_a / true_a
    scatter = [
        part for part in loaded.current.budget.parts if part.standard_uncertainty
    ]
    parts = [
        _part("resistor", ratio * resistor.tolerance / _SQRT_3, "rectangular"),
        *_of_voltage(loaded, ratio, stated, voltmeter),
        _part(
            "zero",
            abs(zero.budget.standard_uncertainty / true_a),
            "normal",
        ),
        *(
            replace(part, standard_uncertainty=part.standard_uncertainty / true_a)
            for part in scatter
        ),
        _part("drift", ratio * drift / _SQRT_3, "rectangular"),
    ]
    return ErrorEstimate(ratio - 1, _combined(parts))


def known_zero(row: Range, divisor: float) -> ErrorEstimate:
    """Return the zero of a range without a measured one: within its limit."""
    part = _part("offset", row.offset / divisor, "rectangular")
    return ErrorEstimate(0.0, _combined([part]))


def sync_delay(trace: Trace) -> ErrorEstimate | None:
    """Return how much later than the current's step an edge of SYNC is seen, on average
    over all falling edges; None for fewer than ten.
    """
    delays_s = list(_delays_s(trace))
    if len(delays_s) < _LEAST_EDGES:
        return None
    period_s = 1 / trace.edge_hz
    scatter_s = float(np.std(delays_s, ddof=1))
    error_s = scatter_s / math.sqrt(len(delays_s))
    parts = [_part("scatter of edges", error_s, f"t{len(delays_s) - 1}", "A")]
    if scatter_s < _DITHERED * period_s:
        # All edges meet the same part of a period.
        parts.append(_part("period", period_s / 2 / _SQRT_3, "rectangular"))
    return ErrorEstimate(mean(delays_s), _combined(parts))


def clock_error(
    arrivals: Sequence[tuple[int, float]], sample_hz: float, host: float = 0.0
) -> ErrorEstimate | None:
    """Return how fast the instrument's clock is (relative), from counts of samples and
    the host's times at which they had come; None for too few. `host`: limit of the
    relative error of the host's clock.

    Blocks come late and never early: the promptest of each twelfth counts.
    """
    counts = np.array([count for count, _ in arrivals], dtype=np.float64)
    times_s = np.array([at_s for _, at_s in arrivals])
    if len(counts) < 3 * _LATENCIES:
        return None
    lags_s = times_s - counts / sample_hz
    ends = np.linspace(times_s[0], times_s[-1], _LATENCIES + 1)
    parts_at = np.clip(np.searchsorted(ends, times_s, "right") - 1, 0, _LATENCIES - 1)
    picked = []
    for part in range(_LATENCIES):
        inside = np.flatnonzero(parts_at == part)
        if not len(inside):
            return None
        picked.append(inside[np.argmin(lags_s[inside])])
    at_s = times_s[picked]
    away_s = at_s - at_s.mean()
    slope = float(away_s @ lags_s[picked] / (away_s @ away_s))
    rest_s = lags_s[picked] - lags_s[picked].mean() - slope * away_s
    spread_s = math.sqrt(float(rest_s @ rest_s) / (_LATENCIES - 2))
    error = spread_s / math.sqrt(float(away_s @ away_s))
    step = 1 / sample_hz / float(at_s[-1] - at_s[0])
    return ErrorEstimate(
        -slope,
        _combined(
            [
                _part(ARRIVALS, error, f"t{_LATENCIES - 2}", "A"),
                _part("one sample", step / _SQRT_3, "rectangular"),
                _part(HOST_CLOCK, host / _SQRT_3, "rectangular"),
            ]
        ),
    )


_T = f"t{SEGMENTS - 1}"


def _part(component: str, value: float, shape: str, type: str = "B") -> Part:
    return Part(
        component=component,
        standard_uncertainty=value,
        type=type,
        shape=shape,
        counted=True,
    )


def _combined(parts: Sequence[Part]) -> Budget:
    """Return the budget of the parts that are not 0."""
    budget = combined([part for part in parts if part.standard_uncertainty])
    return budget or NO_BUDGET


def _steps_a(whole: Integral, stated: Accuracy, trace: Trace, noise_a: float) -> float:
    """Return the standard uncertainty of a mean current by the converter's steps
    alone; noise makes them average out.
    """
    if not whole.volt_s:
        return 0.0
    mean_a = abs(whole.charge_c) / whole.duration_s
    rows = []
    for row in stated.current:
        dithered = noise_a >= max(row.lsb, row.lsb_relative * mean_a) / 2
        lsb, relative = (0.0, 0.0) if dithered else (row.lsb, row.lsb_relative)
        rows.append(Range(row.up_to, 0.0, 0.0, lsb=lsb, lsb_relative=relative))
    steps = replace(stated, current=tuple(rows), clock_ppm=0.0, edge_s=0.0)
    charge_u = charge_u_c(whole, steps, trace.sample_hz, (0.0, 0.0))
    return charge_u / whole.duration_s


def _of_voltage(
    loaded: CurrentLevel,
    ratio: float,
    stated: Accuracy,
    voltmeter: tuple[float, float] | None,
) -> Iterator[Part]:
    """Yield the parts of the voltage in a gain."""
    if voltmeter is not None:
        yield _part("voltmeter", ratio * voltmeter[1] / _SQRT_3, "rectangular")
        return
    ends_u_s = (0.0, 0.0)
    effects = of_energy(loaded.integral, stated, loaded.sample_hz, ends_u_s).of
    for name in ("voltage gain", "voltage offset"):
        if name in effects:
            share = abs(effects[name].energy_j / loaded.integral.energy_j)
            u = ratio * share * _COUNTED_AGAIN
            yield _part(name, u, effects[name].shape)


def _delays_s(trace: Trace) -> Iterator[float]:
    """Yield the delay of each falling edge that has room on both sides."""
    falls = set(map(float, trace.falls_s))
    times_s = sorted(falls.union(map(float, trace.rises_s)))
    apart_s = float(np.min(np.diff(times_s))) if len(times_s) > 1 else 0.0
    reach_s = _BESIDE * apart_s
    near_s = reach_s / 2
    for at_s in times_s:
        if at_s not in falls or not reach_s:
            continue
        if at_s - reach_s < 0 or at_s + reach_s > trace.duration_s:
            continue
        windows_s = [
            (at_s - reach_s, at_s - near_s),
            (at_s + near_s, at_s + reach_s),
            (at_s - reach_s, at_s + reach_s),
        ]
        before, after, all_ = trace.integrals(windows_s)
        before_a = before.charge_c / before.duration_s
        after_a = after.charge_c / after.duration_s
        if before_a == after_a:
            continue
        # The charge is before_a up to the step and after_a from there on.
        late_s = (all_.charge_c - before_a * 2 * reach_s) / (after_a - before_a)
        step_s = at_s + reach_s - late_s
        yield at_s - step_s
