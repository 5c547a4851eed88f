# SPDX-License-Identifier: Apache-2.0
"""A metric of results.json as text: value, both intervals and standard error, all in
one unit and to the same digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig import units
from rig.model.metric import Statistic
from rig.results.document import IntervalResult, MetricResult
from rig.units import scale

_DECIMALS_MAX = 9
_NOT_KNOWN = "not known"
#: A width of so many times the value is in the next prefix but one.
_FAR = 1000
#: Which interval a table shows that has one of the two: `shown_interval`.
INTERVALS = "intervals: the same samples measured again; of shares, other samples"
#: A longer text makes a table too wide.
_SHORT = 35


@dataclass(frozen=True, slots=True)
class Stated:
    """A metric as tables show it; empty where a value is missing. `factor` and
    `decimals` are those of the value.
    """

    unit: str
    factor: float
    decimals: int
    value: str
    same_samples: str
    other_samples: str
    standard_error: str


def stated(metric: MetricResult) -> Stated:
    """Format a metric: two digits of each interval's half-width, the value to those of
    the narrower one.
    """
    value = metric.value
    same = metric.same_samples
    other = metric.other_samples
    widths = [width for width in (same.half_width, other.half_width) if width]
    narrower = min(widths, default=0.0)
    # In the prefix of a value near 0 its width would have many digits.
    is_near_zero = abs(value or 0.0) * _FAR < narrower
    factor, unit = scale(narrower if is_near_zero else value, metric.unit)
    decimals = digits(narrower * factor, (value or 0.0) * factor)
    error = metric.standard_error_over_samples
    return Stated(
        unit=unit,
        factor=factor,
        decimals=decimals,
        value="-" if value is None else _rounded(value * factor, decimals),
        same_samples=ends(same, value, factor),
        other_samples=ends(other, value, factor),
        standard_error="" if error is None else _two_digits(error * factor),
    )


def _rounded(value: float, decimals: int) -> str:
    # A zero that is added has no sign: no value is -0.
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def shown_interval(metric: MetricResult) -> IntervalResult:
    """Return the interval of a table that shows one of the two: of a share that for
    other samples, as the same ones give the same answers.
    """
    is_share = metric.statistic is Statistic.SHARE
    return metric.other_samples if is_share else metric.same_samples


def ends(interval: IntervalResult, value: float | None, factor: float = 1.0) -> str:
    """Format an interval of a value, both times a factor: "± 0.0011", "0.18 to 0.76",
    "at least 0.09", "not known: 2 cities".
    """
    if interval.reason:
        return units.not_known(interval.reason)
    if interval.expanded_uncertainty is not None:
        return f"± {_two_digits(interval.expanded_uncertainty * factor)}"
    return units.ends(interval.low, interval.high, value, factor)


def beside(
    interval: IntervalResult,
    value: float | None,
    factor: float = 1.0,
    notes: Notes | None = None,
) -> str:
    """Format an interval for a place after its value, in brackets unless it is a
    half-width; long reasons of missing ones go to the `notes` of a table.
    """
    cell = notes.cell if notes is not None else ends
    text = cell(interval, value, factor)
    half_width = interval.expanded_uncertainty is not None and not interval.reason
    return text if half_width or not text else f"({text})"


class Notes:
    """Reasons of a table's intervals that are too long for a cell: numbered, for the
    lines below it.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cell(
        self, interval: IntervalResult, value: float | None, factor: float = 1.0
    ) -> str:
        """Format an interval as `ends` does, or "not known [1]" for a long reason."""
        text = ends(interval, value, factor)
        if not interval.reason or len(text) <= _SHORT:
            return text
        number = self._numbers.setdefault(text, len(self._numbers) + 1)
        return f"{_NOT_KNOWN} [{number}]"

    @property
    def lines(self) -> list[str]:
        """Format a line for each reason."""
        return [f"[{number}] {text}" for text, number in self._numbers.items()]


def _two_digits(size: float) -> str:
    if not size:
        return "0"
    rounded = float(f"{size:.1e}")
    return (
        f"{rounded:.{max(min(1 - math.floor(math.log10(rounded)), _DECIMALS_MAX), 0)}f}"
    )


def digits(error: float, value: float) -> int:
    """Choose the decimals that show two digits of an error, or four of a value without
    one.
    """
    if error:
        return max(
            min(1 - math.floor(math.log10(float(f"{error:.1e}"))), _DECIMALS_MAX), 0
        )
    return units.four_digits(value)
