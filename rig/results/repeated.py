# SPDX-License-Identifier: Apache-2.0
"""One metric of repeated sessions as one value with one interval.

Sessions on one bench share the errors of its instruments, which repetition does not
average out: components of type B count whole. What scatters counts by the standard
error of the sessions' mean, with Student's t of the few sessions there are. Intervals
that are not made of a standard uncertainty, as those of shares and percentiles, are
joined: from the lowest end to the highest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from rig.errors import DataError
from rig.results.document import IntervalResult, MetricResult
from rig.stats.coverage_factor import Component, coverage_factor
from rig.stats.summary import mean, standard_error
from rig.uncertainty.budget import Part

_METHOD = "mean of sessions: their scatter (Student), errors of the instruments whole"
_JOINED = "from the lowest to the highest end of the sessions' intervals"


def of_sessions(rows: Sequence[MetricResult]) -> MetricResult:
    """Return a metric of several sessions of one bench: the mean of their values, and
    its intervals. Raises DataError where one has no value, or they have several units.

    One session keeps its own value and intervals.
    """
    if len({row.unit for row in rows}) != 1:
        raise DataError("the sessions have a metric in several units, or none has it")
    values = [row.value for row in rows if row.value is not None]
    if len(values) < len(rows):
        raise DataError("a session has no value of this metric")
    if len(rows) == 1:
        return rows[0]
    return replace(
        rows[0],
        value=mean(values),
        same_samples=_interval(rows, values),
        other_samples=_joined([row.other_samples for row in rows]),
        standard_error_over_samples=None,
        binomial=None,
        per_trial=(),
    )


def _interval(rows: Sequence[MetricResult], values: Sequence[float]) -> IntervalResult:
    own = [row.same_samples for row in rows]
    if any(each.standard_uncertainty is None for each in own):
        return _joined(own)
    scatter = standard_error(values) or 0.0
    # Sessions that agree better than each of them scatters do so by accident.
    within = math.hypot(*(_of_type(row, "A") for row in rows)) / len(rows)
    components: list[Component] = [(max(scatter, within), f"t{len(rows) - 1}")]
    for name, shape in _shapes(rows).items():
        sizes = [_size(row, name) for row in rows]
        components.append((mean(sizes), shape))
    combined = math.hypot(*(scale for scale, _ in components))
    factor = coverage_factor(components)
    value = mean(values)
    return replace(
        own[0],
        low=value - factor * combined,
        high=value + factor * combined,
        method=_METHOD,
        reason="",
        standard_uncertainty=combined,
        coverage_factor=factor,
        expanded_uncertainty=factor * combined,
        degrees_of_freedom=None,
    )


def _counted(row: MetricResult, type_: str) -> list[Part]:
    return [part for part in row.budget if part.counted and part.type == type_]


def _of_type(row: MetricResult, type_: str) -> float:
    return math.hypot(*(part.standard_uncertainty for part in _counted(row, type_)))


def _shapes(rows: Sequence[MetricResult]) -> dict[str, str]:
    """Return the components of type B of any session, with their shapes."""
    parts = chain.from_iterable(_counted(row, "B") for row in rows)
    return {part.component: part.shape for part in parts}


def _size(row: MetricResult, name: str) -> float:
    sizes = [
        part.standard_uncertainty
        for part in _counted(row, "B")
        if part.component == name
    ]
    return math.fsum(sizes)


def _joined(own: Sequence[IntervalResult]) -> IntervalResult:
    reasons = [each.reason for each in own if each.reason]
    if reasons:
        return next(each for each in own if each.reason)
    lows = [each.low for each in own if each.low is not None]
    highs = [each.high for each in own if each.high is not None]
    return replace(
        own[0],
        low=min(lows) if len(lows) == len(own) else None,
        high=max(highs) if len(highs) == len(own) else None,
        method=_JOINED,
        standard_uncertainty=None,
        coverage_factor=None,
        expanded_uncertainty=None,
        degrees_of_freedom=None,
    )
