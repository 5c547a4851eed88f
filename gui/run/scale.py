# SPDX-License-Identifier: Apache-2.0
"""Axes of the live picture: round ticks, and an upper end that does not flicker; no Qt."""

from __future__ import annotations

import math

from rig.units import scale

#: An axis shrinks only when what it shows fills less than this part of it, and then slowly.
_SHRINKS_BELOW = 0.4
_HEADROOM = 1.08


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 7.5, 10 times a power of ten."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


class Ceiling:
    """The upper end of an axis from 0: it grows at once, and shrinks when it is far too high."""

    def __init__(self) -> None:
        self.top = 0.0
        self._low_for = 0

    def fit(self, highest: float, patience: int = 60) -> float:
        """Return the end for a picture whose highest value is this; `patience` is for how many
        pictures it stays too high.
        """
        wanted = round_up(highest * _HEADROOM)
        if wanted > self.top:
            self.top = wanted
            self._low_for = 0
        elif highest < _SHRINKS_BELOW * self.top:
            self._low_for += 1
            if self._low_for >= patience:
                self.top = wanted
                self._low_for = 0
        else:
            self._low_for = 0
        return self.top


def ticks(low: float, high: float, count: int) -> list[float]:
    """Return round values from low to high, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def tick_texts(values: list[float], unit: str) -> tuple[list[str], str]:
    """Return the texts of ticks, all with one prefix, and the unit with that prefix."""
    factor, name = scale(max((abs(value) for value in values), default=0.0), unit)
    return [f"{value * factor:.6g}" for value in values], name
