# SPDX-License-Identifier: Apache-2.0
"""A metric: a number with its unit, and its properties for tables, rules and the
report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rig.arrays import Float64s
from rig.stats.binomial import Share
from rig.stats.summary import (
    ascending,
    of_ordered,
    percentile_error,
    standard_error,
)


class Statistic(Enum):
    """Kinds of statistic: how a metric is made of single values."""

    MEAN = "mean"
    #: A sum over a sum: a power, a throughput, a duty cycle.
    RATIO = "ratio"
    #: A mean or a ratio, less another one, such as a power above idle.
    DIFFERENCE = "difference"
    #: A sum over all values: without some of them it is a sum of fewer.
    TOTAL = "total"
    #: Of a few values: without one of them it is no estimate of their median.
    MEDIAN = "median"
    #: One or two of the values in order decide it.
    PERCENTILE = "percentile"
    #: The part of the samples that has a property; its interval is binomial.
    SHARE = "share"
    #: Under a curve, from 0 to 1.
    AREA = "area"
    #: Computed from other values by a model.
    ESTIMATE = "estimate"

    @property
    def smooth(self) -> bool:
        """Whether the metric without some samples is an estimate of its value with
        others.
        """
        return self not in (Statistic.TOTAL, Statistic.MEDIAN)


class Prominence(Enum):
    """Places where a metric is shown."""

    #: In a tile above the report, and as a row of the table.
    HEADLINE = "headline"
    #: As a row of the table, in the terminal and in the report.
    MAIN = "main"
    #: Below the table of the report, and in results.json.
    DETAIL = "detail"


class Repeatability(Enum):
    """Kinds of repeatability: whether trials must repeat a metric. Without a claim, the
    verdict compares them.
    """

    REPEATED = "repeated"
    #: One or a few of many values decide it, or few attempts: trials agree by chance
    #: only.
    COARSE = "coarse"
    #: It differs from trial to trial with random draws, such as solver seeds.
    DRAWN = "drawn"


class Deviation(Enum):
    """Measures of a metric's distance from a reference."""

    #: (value - reference) / |reference|
    RELATIVE = "relative"
    #: Of a gap, by the cost that it stands for: the same of 1 - gap, as a gap may be 0.
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with its unit; `standard_error` is over `n` single values, None where it
    has no meaning.

    `higher_is_better` is None where neither direction is the better one. `percent` says
    which percentile it is, of `values` in ascending order, where these are known.
    `bounded`: no value below 0 or above 1 can be. `budget_shown`: its uncertainty
    budget stands beside those of other metrics.
    """

    value: float
    unit: str
    standard_error: float | None = None
    n: int = 1
    higher_is_better: bool | None = None
    statistic: Statistic = Statistic.MEAN
    prominence: Prominence = Prominence.MAIN
    repeatability: Repeatability = Repeatability.REPEATED
    deviation: Deviation = Deviation.RELATIVE
    budget_shown: bool = False
    percent: float | None = None
    values: tuple[float, ...] = ()
    bounded: bool = False

    @classmethod
    def of_percentile(
        cls,
        values: Sequence[float] | Float64s,
        percent: float,
        unit: str,
        higher_is_better: bool | None = None,
    ) -> Metric:
        """Make a percentile with its standard error: a detail, which trials need not
        repeat.
        """
        return cls.of_percentiles(values, (percent,), unit, higher_is_better)[0]

    @classmethod
    def of_percentiles(
        cls,
        values: Sequence[float] | Float64s,
        percents: Sequence[float],
        unit: str,
        higher_is_better: bool | None = None,
        with_error: bool = True,
    ) -> list[Metric]:
        """Make several percentiles of the same values."""
        ordered = ascending(values)
        return [
            cls(
                value=of_ordered(ordered, percent),
                unit=unit,
                standard_error=(
                    percentile_error(ordered, percent) if with_error else None
                ),
                n=len(ordered),
                higher_is_better=higher_is_better,
                statistic=Statistic.PERCENTILE,
                prominence=Prominence.DETAIL,
                repeatability=Repeatability.COARSE,
                percent=percent,
                values=ordered,
            )
            for percent in percents
        ]

    @classmethod
    def of_share(
        cls,
        outcomes: Sequence[bool],
        higher_is_better: bool | None = None,
        prominence: Prominence = Prominence.MAIN,
        repeatability: Repeatability = Repeatability.REPEATED,
        *,
        with_error: bool = True,
    ) -> Metric:
        """Make the share of outcomes that are true."""
        count = len(outcomes)
        error = None
        if with_error:
            error = standard_error([float(outcome) for outcome in outcomes])
        return cls(
            value=sum(outcomes) / count if count else math.nan,
            unit="1",
            standard_error=error,
            n=count,
            higher_is_better=higher_is_better,
            statistic=Statistic.SHARE,
            prominence=prominence,
            repeatability=repeatability,
            bounded=True,
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Binomial 95 % interval of a share, as if its samples were independent."""
        if self.n:
            return Share(round(self.value * self.n), self.n).interval()
        return (0.0, 1.0)
