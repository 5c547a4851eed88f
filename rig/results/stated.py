# SPDX-License-Identifier: Apache-2.0
"""A metric of results.json in words: value, both intervals and standard error, all in one unit and
to the same digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.results.document import IntervalResult, MetricResult
from rig.units import scale

_DECIMALS_MAX = 9


@dataclass(frozen=True, slots=True)
class Stated:
    """A metric as tables show it; empty where there is nothing to show. `factor` and `decimals` are
    those of the value.
    """

    unit: str
    factor: float
    decimals: int
    value: str
    same_samples: str
    other_samples: str
    standard_error: str


def stated(metric: MetricResult) -> Stated:
    """Return a metric as text: two digits of each interval's half-width, the value to those of the
    narrower one.
    """
    value = metric.value
    factor, unit = scale(value, metric.unit)
    same = metric.same_samples
    other = metric.other_samples
    widths = [width for width in (same.half_width, other.half_width) if width]
    decimals = digits(min(widths, default=0.0) * factor, (value or 0.0) * factor)
    error = metric.standard_error_over_samples
    return Stated(
        unit,
        factor,
        decimals,
        "-" if value is None else f"{value * factor + 0.0:.{decimals}f}",
        ends(same, factor),
        ends(other, factor),
        "" if error is None else _two_digits(error * factor),
    )


def ends(interval: IntervalResult, factor: float = 1.0) -> str:
    """Return "± 0.0011", "0.18 to 0.76", "above 0.09", "none" for an interval times a factor."""
    if interval.reason:
        return "none"
    if interval.expanded_uncertainty is not None:
        return f"± {_two_digits(interval.expanded_uncertainty * factor)}"
    width = interval.half_width
    known = [end * factor for end in (interval.low, interval.high) if end is not None]
    decimals = digits((width or 0.0) * factor, max(map(abs, known), default=0.0))
    low, high = (
        None if end is None else f"{end * factor + 0.0:.{decimals}f}"
        for end in (interval.low, interval.high)
    )
    if low is None or high is None:
        return (
            f"above {low}"
            if low is not None
            else f"below {high}"
            if high is not None
            else "no bound"
        )
    return f"{low} to {high}"


def _two_digits(size: float) -> str:
    if not size:
        return "0"
    rounded = float(f"{size:.1e}")
    return f"{rounded:.{max(min(1 - math.floor(math.log10(rounded)), _DECIMALS_MAX), 0)}f}"


def digits(error: float, value: float) -> int:
    """Return how many decimals show two digits of an error, of four of a value without one."""
    if error:
        return max(min(1 - math.floor(math.log10(float(f"{error:.1e}"))), _DECIMALS_MAX), 0)
    return max(min(3 - math.floor(math.log10(abs(value))), _DECIMALS_MAX), 0) if value else 3
