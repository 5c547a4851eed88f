# SPDX-License-Identifier: Apache-2.0
"""Ticks of axes: round values with their texts, linear, logarithmic, and of time at every zoom."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.units import scale

_STEPS = (1.0, 2.0, 5.0, 10.0)
#: Times with more digits than this are shown from a base on.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of an axis: places (what is drawn: logarithms on a logarithmic axis), texts, the
    unit of the texts, and what has to be added to them, as a text; empty: nothing.
    """

    places: tuple[float, ...]
    texts: tuple[str, ...]
    unit: str
    base: str = ""


def linear(low: float, high: float, unit: str, room: int) -> Ticks:
    """Return at most about `room` ticks between two values."""
    if not high > low:
        return Ticks((), (), unit)
    step = _step((high - low) / max(room, 1))
    factor, name = scale(max(abs(low), abs(high)), unit)
    decimals = _decimals(step * factor)
    places = _multiples(low, high, step)
    return Ticks(places, tuple(f"{place * factor + 0.0:.{decimals}f}" for place in places), name)


def logarithmic(low: float, high: float, unit: str, room: int) -> Ticks:
    """Return ticks between two powers of ten, given as logarithms."""
    if not high > low:
        return Ticks((), (), unit)
    decades = _multiples(low, high, float(max(1, math.ceil((high - low) / max(room, 1)))))
    if len(decades) > 1:
        return Ticks(decades, tuple(_short(10.0**place, unit) for place in decades), "")
    # Less than two decades: round values between them.
    first = math.floor(low)
    values = [n * 10.0**power for power in range(first, math.ceil(high) + 1) for n in range(1, 10)]
    fitting = [value for value in values if low <= math.log10(value) <= high]
    kept = fitting[:: max(1, math.ceil(len(fitting) / max(room, 1)))]
    places = tuple(math.log10(value) for value in kept)
    return Ticks(places, tuple(_short(value, unit) for value in kept), "")


def of_time(start_s: float, stop_s: float, room: int) -> Ticks:
    """Return ticks of a time axis; deep in a long trace they count from a base that is named."""
    if not stop_s > start_s:
        return Ticks((), (), "s")
    span_s = stop_s - start_s
    step_s = _step(span_s / max(room, 1))
    places = _multiples(start_s, stop_s, step_s)
    if max(abs(start_s), abs(stop_s)) / step_s < 10**_DIGITS:
        factor, name = _of_time(max(abs(start_s), abs(stop_s)))
        decimals = _decimals(step_s * factor)
        texts = tuple(f"{place * factor + 0.0:.{decimals}f}" for place in places)
        return Ticks(places, texts, name)
    # A power of ten, so that the base has few digits and the rest is positive.
    grain_s = 10.0 ** math.ceil(math.log10(span_s) - 1e-6)
    base_s = math.floor(start_s / grain_s + 1e-6) * grain_s
    factor, name = _of_time(stop_s - base_s)
    decimals = _decimals(step_s * factor)
    texts = tuple(f"+{abs((place - base_s) * factor):.{decimals}f}" for place in places)
    return Ticks(places, texts, name, f"{base_s:.{_decimals(grain_s)}f} s")


def time_text(at_s: float, resolution_s: float) -> str:
    """Return an instant in seconds, with the digits that a resolution allows."""
    decimals = _decimals(resolution_s) if resolution_s > 0 else 9
    return f"{at_s:.{min(max(decimals, 0), 12)}f} s"


def _step(at_least: float) -> float:
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(step for step in _STEPS if step * power >= at_least * (1 - 1e-9)) * power


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    # Far from zero the last digits of a quotient are noise.
    slack = 1e-9 + 8e-16 * max(abs(low), abs(high)) / step * 10
    first = math.ceil(low / step - slack)
    last = math.floor(high / step + slack)
    return tuple(number * step for number in range(first, last + 1))


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0


def _of_time(most_s: float) -> tuple[float, str]:
    return (1.0, "s") if most_s >= 1 else scale(most_s, "s")


def _short(value: float, unit: str) -> str:
    factor, name = scale(value * (1 + 1e-9), unit)
    return f"{value * factor:.3g} {name}"
