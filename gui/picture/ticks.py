# SPDX-License-Identifier: Apache-2.0
"""Ticks of axes: round values with their texts, linear, logarithmic, and of time at
every zoom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from rig.units import scale

#: An axis has so many labelled ticks, as far as there is room for them.
LEAST = 5
MOST = 8
#: Steps between ticks in turn, the first ones rounder. Neighbours in size are so near
#: that one of them always makes 5 to 8 ticks.
_STEPS = ((1.0, 2.0, 5.0), (2.5,), (4.0,), (1.5, 3.0, 8.0))
#: Values in a decade of a logarithmic axis, and in each how many-th decade, from many
#: ticks to few.
_DECADES = (
    ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 1),
    ((1.0, 2.0, 3.0, 5.0), 1),
    ((1.0, 2.0, 5.0), 1),
    ((1.0, 3.0), 1),
    ((1.0,), 1),
    ((1.0,), 2),
    ((1.0,), 3),
    ((1.0,), 5),
)
#: Times with more digits than this are shown from a base on.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of an axis: places (logarithms on a logarithmic axis), texts, the unit
    of the texts, and a base that the texts count from, empty for zero.
    """

    places: tuple[float, ...]
    texts: tuple[str, ...]
    unit: str
    base: str = ""


def linear(low: float, high: float, unit: str, room: int) -> Ticks:
    """Return 5 to 8 ticks between two values, fewer where there is no `room` for so
    many texts."""
    if not high > low:
        return Ticks((), (), unit)
    step = _step(low, high, room)
    factor, name = scale(max(abs(low), abs(high)), unit)
    decimals = _decimals(step * factor)
    places = _multiples(low, high, step)
    return Ticks(
        places, tuple(f"{place * factor + 0.0:.{decimals}f}" for place in places), name
    )


def logarithmic(low: float, high: float, unit: str, room: int) -> Ticks:
    """Return ticks between two powers of ten, given as logarithms."""
    if not high > low:
        return Ticks((), (), unit)
    powers = range(math.floor(low), math.ceil(high) + 1)
    if high - low < 1:
        kept = list(
            _multiples(10.0**low, 10.0**high, _step(10.0**low, 10.0**high, room))
        )
    else:
        kept = []
        for factors, every in _DECADES:
            decades = [10.0**power for power in powers if power % every == 0]
            values = [n * decade for decade, n in product(decades, factors)]
            kept = [value for value in values if low <= math.log10(value) <= high]
            if len(kept) <= _most(room):
                break
    places = tuple(math.log10(value) for value in kept)
    return Ticks(places, tuple(_short(value, unit) for value in kept), "")


def of_time(start_s: float, stop_s: float, room: int) -> Ticks:
    """Return ticks of a time axis; deep in a long trace they count from a base that is
    named."""
    if not stop_s > start_s:
        return Ticks((), (), "s")
    span_s = stop_s - start_s
    step_s = _step(start_s, stop_s, room)
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


def _most(room: int) -> int:
    return max(min(room, MOST), 2)


def _step(low: float, high: float, room: int) -> float:
    """Return the roundest step that makes 5 to 8 ticks; where there is room for fewer,
    the one with the most ticks.
    """
    most = _most(room)
    power = math.floor(math.log10((high - low) / most))
    best: tuple[int, int, float] | None = None
    for roundness, sizes in enumerate(_STEPS):
        for size, exponent in product(sizes, (power, power + 1)):
            step = size * 10.0**exponent
            count = len(_multiples(low, high, step))
            if count <= most:
                enough = min(count - LEAST, 0)
                best = max(
                    best or (enough, -roundness, -step), (enough, -roundness, -step)
                )
    return 10.0 ** (power + 2) if best is None else -best[2]


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    # Far from zero the last digits of a quotient are noise.
    slack = 1e-9 + 8e-16 * max(abs(low), abs(high)) / step * 10
    first = math.ceil(low / step - slack)
    last = math.floor(high / step + slack)
    return tuple(number * step for number in range(first, last + 1))


def _decimals(step: float) -> int:
    if not step > 0:
        return 0
    power = math.floor(math.log10(step) + 1e-9)
    whole = step / 10.0**power
    return max(0, -power + (abs(whole - round(whole)) > 1e-6))


def _of_time(most_s: float) -> tuple[float, str]:
    return (1.0, "s") if most_s >= 1 else scale(most_s, "s")


def _short(value: float, unit: str) -> str:
    factor, name = scale(value * (1 + 1e-9), unit)
    return f"{value * factor:.3g} {name}"
