# SPDX-License-Identifier: Apache-2.0
"""Limits of error and edges -> their effects on the latency and energy of a window.
Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.effects import COMMON, OWN, TRIAL, Effect, Effects
from rig.timebase.timebase import Timebase
from rig.trace.trace import EndPower, Integral
from rig.uncertainty.accuracy import Accuracy, Range
from rig.units import quantity

#: A uniform error of one whole step has this standard deviation.
_UNIFORM = 1 / math.sqrt(12.0)

#: The mean size of a normal error, in its standard deviations; and the limit of a
#: uniform one.
_MEAN_SIZE = math.sqrt(2 / math.pi)
_LIMIT = math.sqrt(3.0)

#: Normal errors are hardly ever beyond so many standard deviations.
_NORMAL = 4.0

#: In samples: so near to a border an end lies on it (rig/trace/trace.py).
_ON_BORDER = 1e-5

#: Of the square of what a delay costs, this part is left for each sample of its limit,
#: on average over where in their samples ends lie: found by trying
#: (tests/rig/uncertainty/test_window_effects.py), and a little more than that from 0.2
#: to 2 samples.
_CROSSING = 0.45

#: What sums that were added and taken away leave behind, or a division.
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
    # Both marks were made somewhere within their ticks: the difference has a triangular
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
        effects["clock"] = Effect(
            COMMON, latency_s=clock_s, shape=accuracy.distribution
        )
    elif timebase.nominal_rate:
        # There is no monitor: nothing checks the device's clock, whose error is the
        # same in all trials.
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
    """Return the effects on the energy of one window; `ends_u_s` are the standard
    uncertainties of its two ends, in seconds, and `nominal_rate` says that one edge
    attaches all of them, so that their errors are correlated.

    Each range of the current has a gain and an offset of its own, that err apart: what
    is in two ranges does not cancel in a difference.
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
    # What was lost lies between the least and the most of what was seen.
    lost_j = integral.lost_s * (integral.most_w - integral.least_w) * _UNIFORM
    edges_j, bias_j = _shifts_j(integral, ends_u_s, sample_hz)
    apart_j = _apart_j(integral, ends_u_s, accuracy.edge_s, sample_hz)
    delay_j = (
        _delay_w(integral, accuracy.edge_s * sample_hz)
        * accuracy.edge_s
        / math.sqrt(3.0)
    )
    shape = accuracy.distribution
    effects = {
        **_by_range(
            "current gain",
            accuracy,
            [row.gain for row in accuracy.current],
            integral.range_energy_j,
        ),
        **_by_range(
            "current offset",
            accuracy,
            [row.offset for row in accuracy.current],
            integral.range_volt_s,
        ),
        "voltage gain": Effect(
            COMMON, energy_j=voltage.gain * energy_j / divisor, shape=shape
        ),
        "voltage offset": Effect(
            COMMON, energy_j=voltage.offset * charge_c / divisor, shape=shape
        ),
        "clock": Effect(
            COMMON, energy_j=energy_j * accuracy.clock_ppm * 1e-6 / divisor, shape=shape
        ),
        "edge delay": Effect(COMMON, energy_j=delay_j, shape="rectangular"),
        "steps": Effect(COMMON, energy_j=step_common_j, shape="rectangular"),
        "edges": (
            Effect(COMMON, energy_j=edges_j, shape="rectangular")
            if nominal_rate
            else Effect(OWN, energy_j=edges_j)
        ),
        "edge bias": Effect(COMMON, energy_j=bias_j, shape="rectangular"),
        "end samples": Effect(COMMON, energy_j=apart_j, shape="rectangular"),
        "noise": Effect(OWN, energy_j=noise_j),
        "lost samples": Effect(OWN, energy_j=lost_j, shape="rectangular"),
        "quantisation": Effect(OWN, energy_j=step_j),
    }
    return Effects(
        {name: effect for name, effect in effects.items() if effect.energy_j}
    )


def energy_u_j(
    integral: Integral, accuracy: Accuracy, sample_hz: float, edge_hz: float
) -> float:
    """Return the standard uncertainty of the energy between two edges, or two times
    known as well as an edge, in joules.
    """
    end_u_s = _UNIFORM / edge_hz
    return of_energy(integral, accuracy, sample_hz, (end_u_s, end_u_s)).energy_u_j


def ranges_a(accuracy: Accuracy) -> list[float]:
    """Return the upper ends of the current's ranges, as `Trace.integrals` wants
    them."""
    return [row.up_to for row in accuracy.current]


def _by_range(
    name: str, accuracy: Accuracy, limits: Sequence[float], parts: Sequence[float]
) -> dict[str, Effect]:
    """Return an effect for each range of the current, named by its upper end where
    there are several.
    """
    effects = {}
    for row, limit, part in zip(accuracy.current, limits, parts, strict=True):
        title = (
            f"{name} to {quantity(row.up_to, 'A')}"
            if len(accuracy.current) > 1
            else name
        )
        effects[title] = Effect(
            COMMON,
            energy_j=limit * part / accuracy.divisor,
            shape=accuracy.distribution,
        )
    return effects


def _per_sample(
    integral: Integral, accuracy: Accuracy, voltage: Range, sample_hz: float
) -> tuple[float, float, float]:
    """Return what noise and the converter's steps leave of a window's energy (J):
    noise, steps that average out, steps that do not.
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
            # Without noise to stir it, a constant current meets the same step in every
            # sample.
            common_j += step_a * _UNIFORM * abs(part_vs)
    volts = abs(volt_s) / duration_s
    # The mean square of a current is at most its mean times its most; of one in bursts
    # it is just that.
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
    """Return the window as if its voltage had been 1 V all the time: its energy in
    joules is then its charge in coulombs.

    The time in each range and the current at the ends are told by the mean voltage.
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
    energy at a voltage of 1 V that is exact. What is given is as for `of_energy`.
    """
    exact = replace(accuracy, voltage=(Range(2.0, 0.0, 0.0),))
    effects = of_energy(at_one_volt(integral), exact, sample_hz, ends_u_s, nominal_rate)
    return effects.energy_u_j


def beyond(integral: Integral, accuracy: Accuracy) -> str:
    """Return what of a window was measured beyond the ranges whose limits of error are
    known; empty where nothing was.
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
    """Return what shifts of both ends cost, that have nothing in common: what scatters,
    and what is on average always the same.
    """
    if not integral.stepped:
        # Inwards a shift leaves what is inside, outwards it takes what is outside: the
        # root mean square of both.
        return (
            math.hypot(
                *(
                    u_s * math.hypot(*end)
                    for end, u_s in zip(integral.ends, ends_u_s, strict=True)
                )
            )
            / math.sqrt(2.0),
            0.0,
        )
    # How far inside of each end its sample has its border; of one on a border it is
    # there.
    inwards = (-integral.start_s * sample_hz % 1.0, integral.stop_s * sample_hz % 1.0)
    costs = [
        _stepped_j(end, inward if is_cut else None, u_s, sample_hz)
        for end, is_cut, inward, u_s in zip(
            integral.ends, integral.cut, inwards, ends_u_s, strict=True
        )
    ]
    return math.hypot(*(scatter_j for scatter_j, _ in costs)), math.fsum(
        bias_j for _, bias_j in costs
    )


def _stepped_j(
    end: EndPower, inward: float | None, u_s: float, sample_hz: float
) -> tuple[float, float]:
    """Return what a shift of an end costs that counts with the power inside: standard
    deviation and mean.

    It takes or leaves the power inside while mark and end lie in one sample. Where the
    mark may lie beyond the border inside of the end, what was taken for the power
    inside is a mixture with that outside (docs/UNCERTAINTY.md). An end on a border
    (None) cuts no sample: a mark that lies inside of it has left the power outside in
    the window, one that lies outside takes the power inside.
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
    """Return by how much the samples at both ends leave open what is inside.

    A sample that is cut counts with the reading of its neighbour inside. What it read
    itself, less the power outside, is the same where the power steps at the end and is
    even on either side; of a difference that the end's own uncertainty explains is in
    "edges". A sample beside an end on a border counts as it was read: its neighbour's
    reading might stand for the part of it that the mark cuts, if it does.
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
        # Of a fit the errors are normal, and small; those of a sampled line are
        # uniform.
        limit_s = max(min(_NORMAL * u_s, 0.5 / sample_hz), _LIMIT * u_s)
        explained_j = (limit_s + edge_s) * step_w + _ROUNDED * size_w / sample_hz
        if abs(apart_j) > explained_j:
            total_j += apart_j
    return total_j / _LIMIT


def _delay_w(integral: Integral, samples: float) -> float:
    """Return what a delay that both ends have in common costs, in joules per second of
    it, for a limit of so many samples.

    What the one end takes, the other leaves. Where ends count with the power inside,
    that is all while neither leaves its sample. One that does finds a mixture in the
    place of the power inside: how often it does grows with the delay.
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
