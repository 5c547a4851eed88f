# SPDX-License-Identifier: Apache-2.0
"""A compared metric in words: both values, the difference and its uncertainty in one
unit."""

from __future__ import annotations

from rig.api.comparing.metric_pairs import MetricPair, MetricSpread
from rig.results.document import MetricResult
from rig.results.stated import Notes, beside, stated
from rig.units import scale

_DECIMALS_MAX = 9
#: A difference below a ppm is shown without a percentage.
_LEAST_RELATIVE = 1e-6


def factor(pair: MetricPair) -> tuple[float, str]:
    """Return the factor for the values of a pair and the unit in which they are shown:
    that of the larger one.
    """
    rows = (pair.first, pair.second)
    values = [abs(row.value) for row in rows if row and row.value is not None]
    return scale(max(values, default=None), pair.unit)


def value_text(
    pair: MetricPair,
    row: MetricResult | None,
    notes: Notes | None = None,
    *,
    with_interval: bool = True,
) -> str:
    """Return "1.8892 ± 0.0059 mJ": the value with the interval by which the two are
    compared, or without; long reasons of missing ones go to the `notes` of a table.
    """
    if row is None:
        return "-"
    told = stated(row)
    many, unit = factor(pair)
    if many == told.factor:
        value = told.value
    else:
        value = "-" if row.value is None else f"{row.value * many:.4g}"
    if not with_interval:
        return " ".join(filter(None, (value, unit)))
    interval = pair.interval(row)
    text = beside(interval, row.value, many, notes)
    # The unit is that of the ends as well; a reason has none.
    parts = (value, unit, text) if interval.reason else (value, text, unit)
    return " ".join(filter(None, parts))


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
        relative = (
            f"({percent:+.0f} %)" if abs(percent) >= 100 else f"({percent:+.2g} %)"
        )
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
