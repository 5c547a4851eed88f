# SPDX-License-Identifier: Apache-2.0
"""Ranges of y axes, linear and logarithmic, rounded so that they rarely change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MARGIN = 0.06
#: A logarithmic axis shows so many decades at most below its top: noise about zero has
#: no end.
_DECADES = 7.0
_FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Scale:
    """How a y axis is to be: linear or logarithmic, and `exact` ends, or None for what
    the picture needs.
    """

    logarithmic: bool = False
    exact: tuple[float, float] | None = None

    def range_of(self, least: Array, most: Array) -> tuple[float, float]:
        """Return the ends of the axis, as logarithms on a logarithmic axis."""
        if self.exact is not None:
            low, high = self.exact
            if not self.logarithmic:
                return low, high
            if high > 0:
                return math.log10(low if low > 0 else high * 10**-_DECADES), math.log10(
                    high
                )
        return _log_range(least, most) if self.logarithmic else _range(least, most)

    def drawn(self, values: Array) -> Array:
        """Return values as they are drawn; on a logarithmic axis zero and less is at
        the floor."""
        if not self.logarithmic:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log10(values)
        top = _top(logs)
        return np.where(np.isnan(values), np.nan, np.fmax(logs, top - _DECADES))


def _range(least: Array, most: Array) -> tuple[float, float]:
    low, high = _ends(least, most)
    if not math.isfinite(low):
        return 0.0, 1.0
    wide = high - low
    size = max(abs(low), abs(high))
    if wide <= size * _FLAT:
        wide = size * 0.02 or 1.0
        middle = (low + high) / 2
        low, high = middle - wide / 2, middle + wide / 2
    step = 10.0 ** math.floor(math.log10(wide)) / 5
    low -= _MARGIN * wide
    high += _MARGIN * wide
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _log_range(least: Array, most: Array) -> tuple[float, float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        tops = np.log10(most)
        lows = np.log10(least[least > 0])
    top = _top(tops)
    if not math.isfinite(top):
        return -1.0, 0.0
    low = max(float(lows.min()) if len(lows) else top - 1, top - _DECADES)
    return math.floor(low * 5) / 5 - 0.05, math.ceil(top * 5) / 5 + 0.05


def _top(logs: Array) -> float:
    finite = logs[np.isfinite(logs)]
    return float(finite.max()) if len(finite) else 0.0


def _ends(least: Array, most: Array) -> tuple[float, float]:
    lows = least[np.isfinite(least)]
    highs = most[np.isfinite(most)]
    if len(lows) and len(highs):
        return (float(lows.min()), float(highs.max()))
    return (np.nan, np.nan)
