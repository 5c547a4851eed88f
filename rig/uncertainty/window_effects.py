# SPDX-License-Identifier: Apache-2.0
"""Effects of limits of error and edges on the latency and energy of a window. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from rig.model import component
from rig.model.effects import COMMON, OWN, TRIAL, Effect, Effects
from rig.timebase.timebase import Timebase
from rig.trace.trace import EndPower, Integral
from rig.uncertainty.accuracy import Accuracy, Range
from rig.units import quantity

#: A uniform error of one whole step has this standard deviation.
_UNIFORM = 1 / math.sqrt(12.0)

#: Mean absolute value of a normal error, in standard deviations, and the limit of a
#: uniform one.
_MEAN_SIZE = math.sqrt(2 / math.pi)
_LIMIT = math.sqrt(3.0)

#: Normal errors stay within this many standard deviations.
_NORMAL = 4.0

#: An end is on a border within this many samples of it (rig/trace/trace.py).
_ON_BORDER = 1e-5

#: Share of the square of a delay's cost that remains for each sample of its limit, on
#: average over the positions of the ends in their samples; determined by simulation
#: (tests/rig/uncertainty/test_window_effects.py), and slightly too large from 0.2 to 2
#: samples.
_CROSSING = 0.45

#: Relative rounding error of sums, differences and quotients.
_ROUNDED = 1e-6


def of_latency(
    ticks: tuple[int, int],
    timebase: Timebase,
    tick_hz: float,
    accuracy: Accuracy | None,
) -> Effects:
    """Return the effects on a latency that was counted in ticks and scaled by the
    fit."""
    latency_s = timebase.interval_s(*ticks)
    # Each mark was made somewhere within its tick: the difference has a triangular
    # error.
    effects = {"ticks": Effect(OWN, latency_s=math.sqrt(2.0) * _UNIFORM / tick_hz)}
    if accuracy is not None:
        kind, shape = (
            (COMMON, "rectangular") if timebase.nominal_rate else (TRIAL, "normal")
        )
        effects["time base"] = Effect(
            kind, latency_s=timebase.interval_u_s(*ticks), shape=shape
        )
        clock_s = latency_s * accuracy.clock_ppm * 1e-6 / accuracy.divisor
        effects[component.CLOCK] = Effect(
            COMMON, latency_s=clock_s, shape=accuracy.distribution
        )
    elif timebase.nominal_rate:
        # Without a monitor the device's clock is unchecked, and its error the same in
        # all trials.
        effects["device clock"] = Effect(
            COMMON, latency_s=timebase.interval_u_s(*ticks), shape="rectangular"
        )
    return Effects(effects)


def of_energy(
    integral: Integral,
    accuracy: Accuracy,
    sample_hz: float,
    ends_u_s: tuple[float, float],
    nominal_rate: bool = False,
) -> Effects:
    """Return the effects on the energy of one window.

    ends_u_s: standard uncertainties of the two ends, in seconds
    nominal_rate: one edge attaches all windows, so that the errors of their ends are
        correlated

    Each range of the current has an independent gain and offset, so that errors in two
    ranges do not cancel in a difference.
    """
    divisor = accuracy.divisor
    duration_s = integral.duration_s
    energy_j = abs(integral.energy_j)
    volt_s = integral.volt_s
    charge_c = integral.charge_c
    if duration_s <= 0:
        return Effects({})
    voltage = _range_of(accuracy.voltage, abs(volt_s) / duration_s)
    noise_j, step_j, step_common_j = _per_sample(integral, accuracy, voltage, sample_hz)
    # The power in lost samples is between the least and the most of the others.
    lost_j = integral.lost_s * (integral.most_w - integral.least_w) * _UNIFORM
    edges_j, bias_j = _shifts_j(integral, ends_u_s, sample_hz)
    apart_j = _apart_j(integral, ends_u_s, accuracy.edge_s, sample_hz)
    delay_j = (
        _delay_w(integral, accuracy.edge_s * sample_hz)
        * accuracy.edge_s
        / math.sqrt(3.0)
    )

    def of_limit(limit_j: float) -> Effect:
        return Effect(COMMON, energy_j=limit_j / divisor, shape=accuracy.distribution)

    def rectangular(energy_u_j: float) -> Effect:
        return Effect(COMMON, energy_j=energy_u_j, shape="rectangular")

    name = accuracy.calibration.name if accuracy.calibration else ""
    gains = [row.gain for row in accuracy.current]
    offsets = [row.offset for row in accuracy.current]
    gain = partial(component.titled, component.CURRENT_GAIN, name)
    offset = partial(component.titled, component.CURRENT_OFFSET, "")
    effects = _by_range(gain, accuracy, gains, integral.range_energy_j)
    effects |= _by_range(offset, accuracy, offsets, integral.range_volt_s)
    effects |= {
        component.VOLTAGE_GAIN: of_limit(voltage.gain * energy_j),
        component.VOLTAGE_OFFSET: of_limit(voltage.offset * charge_c),
        component.CLOCK: of_limit(energy_j * accuracy.clock_ppm * 1e-6),
        component.EDGE_DELAY: rectangular(delay_j),
        component.STEPS: rectangular(step_common_j),
        component.EDGES: (
            rectangular(edges_j) if nominal_rate else Effect(OWN, energy_j=edges_j)
        ),
        component.EDGE_BIAS: rectangular(bias_j),
        component.END_SAMPLES: rectangular(apart_j),
        component.NOISE: Effect(OWN, energy_j=noise_j),
        "lost samples": Effect(OWN, energy_j=lost_j, shape="rectangular"),
        component.QUANTISATION: Effect(OWN, energy_j=step_j),
    }
    return Effects(
        {name: effect for name, effect in effects.items() if effect.energy_j}
    )


def energy_u_j(
    integral: Integral, accuracy: Accuracy, sample_hz: float, edge_hz: float
) -> float:
    """Return the standard uncertainty of the energy between two edges, in joules."""
    end_u_s = _UNIFORM / edge_hz
    return of_energy(integral, accuracy, sample_hz, (end_u_s, end_u_s)).energy_u_j


def ranges_a(accuracy: Accuracy) -> list[float]:
    """Return the upper ends of the current's ranges, for `Trace.integrals`."""
    return [row.up_to for row in accuracy.current]


def _by_range(
    titled: Callable[[str], str],
    accuracy: Accuracy,
    limits: Sequence[float],
    parts: Sequence[float],
) -> dict[str, Effect]:
    """Make an effect for each range of the current, named by its upper end if there are
    several.
    """
    several = len(accuracy.current) > 1
    effects = {}
    for row, limit, part in zip(accuracy.current, limits, parts, strict=True):
        up_to = quantity(row.up_to, "A") if several else ""
        effects[titled(up_to)] = Effect(
            COMMON,
            energy_j=limit * part / accuracy.divisor,
            shape=accuracy.distribution,
        )
    return effects


def _per_sample(
    integral: Integral, accuracy: Accuracy, voltage: Range, sample_hz: float
) -> tuple[float, float, float]:
    """Return the contributions of noise and of the converter's steps to a window's
    energy (J): noise, steps that average out, steps that do not.
    """
    duration_s = integral.duration_s
    volt_s = integral.volt_s
    samples = max(duration_s * sample_hz, 1.0)
    noise2 = step2 = 0.0
    common_j = 0.0
    for row, part_vs, part_c in zip(
        accuracy.current, integral.range_volt_s, integral.range_charge_c, strict=True
    ):
        share = abs(part_vs / volt_s) if volt_s else 0.0
        if not share:
            continue
        mean_a = abs(part_c / (share * duration_s))
        step_a = max(row.lsb, row.lsb_relative * mean_a)
        one_sample_j = abs(part_vs) / math.sqrt(share * samples)
        noise2 += (row.noise * one_sample_j) ** 2
        if row.noise >= step_a / 2:
            step2 += (step_a * _UNIFORM * one_sample_j) ** 2
        else:
            # Without noise, a constant current meets the same step in every sample.
            common_j += step_a * _UNIFORM * abs(part_vs)
    volts = abs(volt_s) / duration_s
    # The mean square of a current is at most its mean times its maximum, which a
    # current in bursts attains.
    most_a = max(abs(integral.least_w), abs(integral.most_w)) / volts if volts else 0.0
    charge2 = abs(integral.charge_c) * most_a * duration_s / samples
    step_v = max(voltage.lsb, voltage.lsb_relative * volts)
    noise2 += voltage.noise**2 * charge2
    if voltage.noise >= step_v / 2:
        step2 += (step_v * _UNIFORM) ** 2 * charge2
    else:
        common_j += step_v * _UNIFORM * abs(integral.charge_c)
    return math.sqrt(noise2), math.sqrt(step2), common_j


def at_one_volt(integral: Integral) -> Integral:
    """Return the window with a voltage of 1 V throughout: its energy in joules is then
    its charge in coulombs.

    The time in each range and the current at the ends follow from the mean voltage.
    """
    volts = integral.volt_s / integral.duration_s
    start, stop = (
        EndPower(end.outside_w / volts, end.inside_w / volts) for end in integral.ends
    )
    return replace(
        integral,
        energy_j=integral.charge_c,
        range_energy_j=integral.range_charge_c,
        range_volt_s=tuple(part / volts for part in integral.range_volt_s),
        least_w=integral.least_w / volts,
        most_w=integral.most_w / volts,
        ends=(start, stop),
        apart_j=(integral.apart_j[0] / volts, integral.apart_j[1] / volts),
    )


def charge_u_c(
    integral: Integral,
    accuracy: Accuracy,
    sample_hz: float,
    ends_u_s: tuple[float, float],
    nominal_rate: bool = False,
) -> float:
    """Return the standard uncertainty of a window's charge, in coulombs: that of the
    energy at an exact voltage of 1 V. The parameters are those of `of_energy`.
    """
    exact = replace(accuracy, voltage=(Range(2.0, 0.0, 0.0),))
    effects = of_energy(at_one_volt(integral), exact, sample_hz, ends_u_s, nominal_rate)
    return effects.energy_u_j


def beyond(integral: Integral, accuracy: Accuracy) -> str:
    """State the part of a window that was measured beyond the ranges with known limits
    of error, if any.
    """
    top_a = accuracy.current[-1].up_to
    top_v = accuracy.voltage[-1].up_to
    voltage_v = (
        abs(integral.volt_s) / integral.duration_s if integral.duration_s else 0.0
    )
    if voltage_v > top_v * (1 + _ROUNDED):
        return (
            f"the voltage was {quantity(voltage_v, 'V')}, more than"
            f" {quantity(top_v, 'V')}"
        )
    share = abs(integral.beyond_j / integral.energy_j) if integral.energy_j else 0.0
    if not share > _ROUNDED:
        return ""
    much = "all" if share > 1 - _ROUNDED else f"{share:.2g}"
    return f"{much} of the energy was measured at more than {quantity(top_a, 'A')}"


def _shifts_j(
    integral: Integral, ends_u_s: tuple[float, float], sample_hz: float
) -> tuple[float, float]:
    """Return the cost of independent shifts of both ends: standard deviation, and a
    mean that is the same in all windows.
    """
    if not integral.stepped:
        # A shift inwards loses the power inside, one outwards adds the power outside:
        # the root mean square of both.
        ends_j = [
            u_s * math.hypot(*end)
            for end, u_s in zip(integral.ends, ends_u_s, strict=True)
        ]
        return math.hypot(*ends_j) / math.sqrt(2.0), 0.0
    # Distance from each end to the border of its sample inside the window; an end on a
    # border has none.
    inwards = (-integral.start_s * sample_hz % 1.0, integral.stop_s * sample_hz % 1.0)
    rows = zip(integral.ends, integral.cut, inwards, ends_u_s, strict=True)
    costs = [
        _stepped_j(end, inward if is_cut else None, u_s, sample_hz)
        for end, is_cut, inward, u_s in rows
    ]
    scatters_j, biases_j = zip(*costs, strict=True)
    return math.hypot(*scatters_j), math.fsum(biases_j)


def _stepped_j(
    end: EndPower, inward: float | None, u_s: float, sample_hz: float
) -> tuple[float, float]:
    """Return the cost of shifting an end that counts with the power inside: standard
    deviation and mean.

    While mark and end lie in one sample, a shift adds or loses the power inside. If the
    mark may lie beyond the sample's inner border, the reading that counts as the power
    inside is a mixture with that outside
    (docs/decisions/2026-11-26-errors-of-edges.md). An end on a border (None) cuts no
    sample: a mark inside of it leaves the power outside in the window, one outside
    loses the power inside.
    """
    samples = u_s * sample_hz
    crossing_chance = 0.0
    if inward is None:
        crossing_chance = 1.0
    elif (
        _ON_BORDER < inward < _LIMIT * samples - _ON_BORDER
        or samples > 1 / _LIMIT + _ON_BORDER
    ):
        crossing_chance = min(_MEAN_SIZE * max(samples, 1 / _LIMIT), 1.0)
    crossed = crossing_chance / 2
    square = (1 - crossed) * end.inside_w**2 + crossed * end.outside_w**2
    bias_w = crossing_chance * _MEAN_SIZE / 2 * (end.outside_w - end.inside_w)
    return u_s * math.sqrt(square - bias_w**2), u_s * bias_w


def _apart_j(
    integral: Integral, ends_u_s: tuple[float, float], edge_s: float, sample_hz: float
) -> float:
    """Return the uncertainty of the energy due to the samples at both ends.

    A cut sample counts with the reading of its neighbour inside. Its own reading, less
    the power outside, agrees if the power steps at the end and is constant on either
    side; differences that the uncertainty of the end explains are part of "edges". A
    sample next to an end on a border counts with its own reading; its neighbour's may
    be the right one for the part that the mark cuts, if it does.
    """
    total_j = 0.0
    for end, is_cut, apart_j, u_s in zip(
        integral.ends, integral.cut, integral.apart_j, ends_u_s, strict=True
    ):
        if not is_cut:
            total_j += min(_LIMIT * u_s * sample_hz, 1.0) * apart_j
            continue
        step_w = abs(end.outside_w - end.inside_w)
        size_w = max(abs(end.outside_w), abs(end.inside_w))
        # Errors of a fit are normal and small; those of a sampled line are uniform.
        limit_s = max(min(_NORMAL * u_s, 0.5 / sample_hz), _LIMIT * u_s)
        explained_j = (limit_s + edge_s) * step_w + _ROUNDED * size_w / sample_hz
        if abs(apart_j) > explained_j:
            total_j += apart_j
    return total_j / _LIMIT


def _delay_w(integral: Integral, samples: float) -> float:
    """Return the cost of a delay common to both ends, in joules per second of delay,
    for a limit of so many samples.

    The energy lost at one end is gained at the other. Ends that count with the power
    inside differ by no more while neither leaves its sample; an end that does meets a
    mixture in place of the power inside, the more often the longer the delay.
    """
    start, stop = integral.ends
    across_w = max(
        abs(stop.outside_w - start.inside_w), abs(start.outside_w - stop.inside_w)
    )
    left = _CROSSING * samples
    if not (integral.stepped and all(integral.cut)) or left >= 1:
        return across_w
    return math.hypot(stop.inside_w - start.inside_w, math.sqrt(left) * across_w)


def _range_of(ranges: Sequence[Range], reading: float) -> Range:
    return next((row for row in ranges if reading <= row.up_to), ranges[-1])
