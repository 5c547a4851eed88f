# SPDX-License-Identifier: Apache-2.0
"""A compared metric in words: both values, the difference and its uncertainty in one
unit."""

from __future__ import annotations

import math

from rig.api.comparing.metric_pairs import MetricPair, MetricSpread
from rig.results.document import IntervalResult, MetricResult
from rig.results.stated import Notes, beside, digits
from rig.units import scale

_DECIMALS_MAX = 9
#: A smaller value in the unit of the other one would have many zeros before its digits.
_LEAST_SHOWN = 0.01
#: A difference below a ppm is shown without a percentage.
_LEAST_RELATIVE = 1e-6


def factor(pair: MetricPair) -> tuple[float, str]:
    """Return the factor and the unit for the values of a pair: those of the largest of
    both values and the half-width of their difference.
    """
    rows = (pair.first, pair.second)
    sizes = [abs(row.value) for row in rows if row and row.value is not None]
    sizes += [pair.apart.expanded_uncertainty] if pair.apart else []
    return scale(max(filter(math.isfinite, sizes), default=None), pair.unit)


def value_text(
    pair: MetricPair,
    row: MetricResult | None,
    notes: Notes | None = None,
    *,
    with_interval: bool = True,
) -> str:
    """Return "1.8892 ± 0.0059 mJ": the value to two digits of the compared interval,
    with it or without; long reasons of missing ones go to the `notes` of a table.

    A value that is far smaller than the other one has a unit of its own.
    """
    if row is None:
        return "-"
    interval = pair.interval(row)
    many, unit = _scale_of(pair, row, interval)
    value = "-"
    if row.value is not None:
        size = _half_width(interval)
        decimals = digits(size * many, row.value * many)
        # A zero that is added has no sign: no value is -0.
        value = f"{round(row.value * many, decimals) + 0.0:.{decimals}f}"
    if not with_interval:
        return " ".join(filter(None, (value, unit)))
    text = beside(interval, row.value, many, notes)
    # The unit is that of the ends as well; a reason has none.
    parts = (value, unit, text) if interval.reason else (value, text, unit)
    return " ".join(filter(None, parts))


def _half_width(interval: IntervalResult) -> float:
    """Return the half-width of an interval; 0 of one that is not known."""
    size = interval.half_width
    if size is None or interval.reason or not math.isfinite(size):
        return 0.0
    return size


def _scale_of(
    pair: MetricPair, row: MetricResult, interval: IntervalResult
) -> tuple[float, str]:
    """Return the factor and the unit of one of the two values."""
    many, unit = factor(pair)
    size = max(abs(row.value or 0.0), _half_width(interval))
    if 0 < size * many < _LEAST_SHOWN:
        return scale(size, row.unit)
    return many, unit


def difference_text(
    pair: MetricPair, *, with_relative: bool = True, with_spread: bool = False
) -> str:
    """Return "+0.123 mJ (+6.5 %)": two digits of the uncertainty, or four digits
    without one; with its share of the first value, or without. With its spread, as if
    the sessions had nothing in common, it is "+0.123 ± 0.008 mJ (+6.5 %)".
    """
    if pair.difference is None:
        return "-"
    many, unit = factor(pair)
    value = pair.difference * many
    spread = pair.apart if with_spread else pair.shared or pair.apart
    if pair.difference == 0:
        number = "0"
    elif spread and spread.expanded_uncertainty:
        decimals = _decimals(spread.expanded_uncertainty * many)
        number = f"{round(value, decimals) + 0.0:+.{decimals}f}"
    else:
        number = f"{value:+.4g}"
    relative = ""
    shown = float(number)
    if with_relative and shown and abs(pair.relative or 0.0) >= _LEAST_RELATIVE:
        percent = (pair.relative or 0.0) * 100
        # Two digits, and no exponent where 99.7 becomes 100.
        rounded = percent if abs(percent) >= 100 else float(f"{percent:.2g}")
        digits_shown = ".0f" if abs(rounded) >= 100 else ".2g"
        relative = f"({rounded:+{digits_shown}} %)"
    both = spread_text(pair, spread) if with_spread else ""
    return " ".join(filter(None, (number, both or unit, relative)))


def spread_text(pair: MetricPair, spread: MetricSpread | None) -> str:
    """Return "± 0.0082 mJ": the half-width at 95 %; empty where there is none."""
    if spread is None:
        return ""
    many, unit = factor(pair)
    size = spread.expanded_uncertainty * many
    if not size:
        return f"± 0 {unit}".rstrip()
    return f"± {float(f'{size:.1e}'):.{_decimals(size)}f} {unit}".rstrip()


def _decimals(size: float) -> int:
    """Return how many decimals show two digits of an uncertainty."""
    return min(max(1 - int(f"{size:.1e}".partition("e")[2]), 0), _DECIMALS_MAX)
