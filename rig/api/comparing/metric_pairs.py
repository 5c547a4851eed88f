# SPDX-License-Identifier: Apache-2.0
"""One metric of two sessions: the difference, its uncertainty, and its outcome."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rig.model import component
from rig.results.document import IntervalResult, MetricResult
from rig.stats import simultaneous
from rig.stats.binomial import Share
from rig.stats.coverage_factor import Component, coverage_factor
from rig.uncertainty.budget import Part
from rig.units import not_known

#: The factor of four degrees of freedom, rounded up: the larger factor of two such
#: errors covers their sum.
_LONG_TAILED = 2.8
#: Components that are errors of the instrument itself, and stay while it does.
_OF_INSTRUMENT = (
    component.CURRENT_GAIN,
    component.CURRENT_OFFSET,
    component.VOLTAGE_GAIN,
    component.VOLTAGE_OFFSET,
    component.CLOCK,
    component.EDGE_DELAY,
)


class ComparisonOutcome(Enum):
    """Outcome of the comparison of one metric."""

    DIFFERS = "differs"
    IF_UNCHANGED = "differs if the instrument stayed the same"
    IF_ALONE = "differs if compared alone"
    NOT_SHOWN = "no difference shown"
    EQUAL = "equal"
    UNKNOWN = "cannot be said"
    NOT_COMPARABLE = "not comparable"
    IN_ONE = "in one session only"


#: Outcomes that say little without their reason.
WITH_REASON = (ComparisonOutcome.NOT_COMPARABLE, ComparisonOutcome.UNKNOWN)


@dataclass(frozen=True, slots=True)
class MetricSpread:
    """The uncertainty of a difference: combined standard uncertainty and half-width at
    95 %, of several comparisons for all of them together."""

    standard_uncertainty: float
    expanded_uncertainty: float


@dataclass(frozen=True, slots=True)
class MetricPair:
    """A metric of two sessions; `difference` is the second less the first, in the
    metric's unit.

    `apart` and `shared` are None where an interval of the metric is not made of a
    standard uncertainty, as that of a percentile or a share: then two intervals that do
    not meet tell. `shared_parts` names the components that the two have in common.
    `reason` gives the basis of the outcome, or why there is none. `same_samples`:
    both measured the same samples, so that the intervals for these are compared, else
    those for other samples.
    """

    name: str
    unit: str
    first: MetricResult | None
    second: MetricResult | None
    same_samples: bool
    outcome: ComparisonOutcome
    reason: str
    difference: float | None = None
    relative: float | None = None
    apart: MetricSpread | None = None
    shared: MetricSpread | None = None
    shared_parts: tuple[str, ...] = ()

    def interval(self, row: MetricResult) -> IntervalResult:
        """Return the interval of one of the two that the comparison uses."""
        return row.same_samples if self.same_samples else row.other_samples

    @property
    def better(self) -> bool | None:
        """Whether the second session is the better one; None where that is not
        shown."""
        row = self.second or self.first
        if (
            self.outcome is not ComparisonOutcome.DIFFERS
            or self.difference is None
            or row is None
        ):
            return None
        if row.higher_is_better is None:
            return None
        return (self.difference > 0) == row.higher_is_better


def pair(
    name: str,
    first: MetricResult | None,
    second: MetricResult | None,
    shared_rails: Sequence[str],
    several_rails: bool = False,
    *,
    same_samples: bool = True,
    comparisons: int = 1,
    why_not: str = "",
) -> MetricPair:
    """Compare one metric; rails that one instrument measured in both sessions share its
    errors. `why_not` says why the two are no values of one quantity; `comparisons` is
    that of `compare`.
    """

    row = first or second
    found = MetricPair(
        name=name,
        unit=row.unit if row is not None else "",
        first=first,
        second=second,
        same_samples=same_samples,
        outcome=ComparisonOutcome.IN_ONE,
        reason="only one session has this metric",
    )
    if first is None or second is None:
        return found
    if first.value is None or second.value is None or first.unit != second.unit:
        reason = "a value is missing, or the units differ"
        return replace(found, outcome=ComparisonOutcome.UNKNOWN, reason=reason)
    if why_not:
        outcome = ComparisonOutcome.NOT_COMPARABLE
        return replace(found, outcome=outcome, reason=why_not)
    difference = second.value - first.value
    relative = difference / abs(first.value) if first.value else None
    found = replace(found, difference=difference, relative=relative)
    intervals = [found.interval(row) for row in (first, second)]
    if any(interval.standard_uncertainty is None for interval in intervals):
        outcome, reason = _by_intervals(intervals, difference)
        if outcome is ComparisonOutcome.DIFFERS and comparisons > 1:
            outcome, reason = _by_wider_intervals((first, second), found, comparisons)
        return replace(found, outcome=outcome, reason=reason)
    parts = _shared_parts(first, second, shared_rails, several_rails)
    apart, shared = _spreads(
        first,
        second,
        intervals,
        parts,
        by_parts=same_samples,
        comparisons=comparisons,
    )
    outcome = ComparisonOutcome.NOT_SHOWN
    reason = "less than the uncertainty of the difference at 95 %"
    if abs(difference) > apart.expanded_uncertainty:
        outcome = ComparisonOutcome.DIFFERS
        reason = "more than the uncertainty of the difference at 95 %"
    elif parts and abs(difference) > shared.expanded_uncertainty:
        outcome = ComparisonOutcome.IF_UNCHANGED
        reason = "more than what the two sessions do not have in common"
    return replace(
        found,
        outcome=outcome,
        reason=reason,
        apart=apart,
        shared=shared,
        shared_parts=parts,
    )


def _by_intervals(
    intervals: Sequence[IntervalResult], difference: float
) -> tuple[ComparisonOutcome, str]:
    """Judge a metric whose intervals are not made of a standard uncertainty."""
    missing = [interval.reason for interval in intervals if interval.reason]
    if missing:
        return ComparisonOutcome.UNKNOWN, f"its interval is {not_known(missing[0])}"
    if difference == 0:
        return ComparisonOutcome.EQUAL, "the same value"
    low = [-math.inf if each.low is None else each.low for each in intervals]
    high = [math.inf if each.high is None else each.high for each in intervals]
    if max(low) > min(high):
        return ComparisonOutcome.DIFFERS, "the 95 % intervals do not meet"
    return ComparisonOutcome.NOT_SHOWN, "the 95 % intervals meet"


def _by_wider_intervals(
    rows: Sequence[MetricResult], found: MetricPair, comparisons: int
) -> tuple[ComparisonOutcome, str]:
    """Judge a metric whose 95 % intervals do not meet, as one of several comparisons:
    by intervals of shares at the level of each, else not at all.
    """
    ends = [_wider(row, found.interval(row), comparisons) for row in rows]
    known = [each for each in ends if each is not None]
    if len(known) < len(ends):
        return ComparisonOutcome.IF_ALONE, (
            "the 95 % intervals do not meet, and are known at no higher level"
        )
    level = f"the {simultaneous.level(comparisons):.4%} intervals".replace("%", " %")
    lows, highs = zip(*known, strict=True)
    if max(lows) > min(highs):
        return ComparisonOutcome.DIFFERS, f"{level} do not meet"
    return ComparisonOutcome.NOT_SHOWN, f"{level} meet"


def held_together(
    row: MetricResult, interval: IntervalResult, intervals: int
) -> tuple[float, float] | None:
    """Return the ends of a metric's interval, so wide that as many intervals as this
    one hold together in 95 % of cases; None where 95 % is the only level that the
    session has.
    """
    size = interval.standard_uncertainty
    if size is None or row.value is None:
        return _wider(row, interval, intervals)
    factor = simultaneous.factor(interval.coverage_factor or 2.0, intervals)
    if interval is row.same_samples and intervals > 1:
        counted = _counted(row).values()
        parts = [(part.standard_uncertainty, part.shape) for part in counted]
        if parts:
            level = simultaneous.level(intervals)
            factor = max(factor, coverage_factor(parts, level))
    return row.value - factor * size, row.value + factor * size


def _wider(
    row: MetricResult, interval: IntervalResult, comparisons: int
) -> tuple[float, float] | None:
    """Return the ends of an interval at the level of one of several comparisons; None
    where 95 % is the only level that the session has.
    """
    if interval.low == row.value == interval.high and row.value is not None:
        return row.value, row.value
    counted = row.binomial
    if counted is None or row.value is None:
        return None
    if (interval.low, interval.high) != (counted.low, counted.high):
        return None
    share = Share(row.value * counted.n, counted.n)
    return share.interval(simultaneous.level(comparisons))


def _factor(parts: Sequence[Component], comparisons: int) -> float:
    """Return the coverage factor of a sum of components, as one of several
    comparisons.
    """
    single = coverage_factor(parts)
    if comparisons == 1:
        return single
    wide = coverage_factor(parts, simultaneous.level(comparisons))
    return max(simultaneous.factor(single, comparisons), wide)


def _factor_of(intervals: Sequence[IntervalResult], comparisons: int) -> float:
    """Return the coverage factor of a difference whose components are not known, as one
    of several comparisons.
    """
    factors = [interval.coverage_factor or 2.0 for interval in intervals]
    single = max(factors)
    sizes = [interval.standard_uncertainty or 0.0 for interval in intervals]
    if single > _LONG_TAILED and any(sizes):
        # Errors with fewer than four degrees of freedom may add up linearly.
        halves = [size * factor for size, factor in zip(sizes, factors, strict=True)]
        single = max(single, math.fsum(halves) / math.hypot(*sizes))
    return simultaneous.factor(single, comparisons)


def _shared_parts(
    first: MetricResult, second: MetricResult, rails: Sequence[str], several: bool
) -> tuple[str, ...]:
    """Return the components of both budgets that are the same error of the same
    instrument."""
    in_both = _counted(first).keys() & _counted(second).keys()
    shared = []
    for part in first.budget:
        name = part.component
        if name in in_both and _is_shared(name, rails, several):
            shared.append(name)
    return tuple(shared)


def _is_shared(name: str, rails: Sequence[str], several: bool) -> bool:
    found = component.read(name)
    if found.kind not in _OF_INSTRUMENT:
        return False
    if not several:
        return bool(rails) and not found.rail
    return bool(found.rail) and found.rail in rails


def _spreads(
    first: MetricResult,
    second: MetricResult,
    intervals: Sequence[IntervalResult],
    parts: Sequence[str],
    *,
    by_parts: bool,
    comparisons: int,
) -> tuple[MetricSpread, MetricSpread]:
    """Return the uncertainty of the difference with no error in common, and with the
    errors of the named components in common, as one of several comparisons.
    """
    sizes = [interval.standard_uncertainty or 0.0 for interval in intervals]
    of_first = _uncertainties(first)
    of_second = _uncertainties(second)
    apart_u = math.hypot(*sizes)
    common = math.fsum(2 * of_first[name] * of_second[name] for name in parts)
    shared_u = math.sqrt(max(apart_u**2 - common, 0.0))
    if not by_parts:
        # The choice of samples is no line of the budget.
        factor = _factor_of(intervals, comparisons)
        return MetricSpread(apart_u, factor * apart_u), MetricSpread(
            shared_u, factor * shared_u
        )
    counted = _counted(first)
    every = [*counted.values(), *_counted(second).values()]
    all_parts = [(part.standard_uncertainty, part.shape) for part in every]
    left = [
        (abs(of_second[name] - of_first[name]), counted[name].shape) for name in parts
    ]
    for part in every:
        if part.component not in parts:
            left.append((part.standard_uncertainty, part.shape))
    expanded_uncertainty = _factor(all_parts, comparisons) * apart_u
    return (
        MetricSpread(apart_u, expanded_uncertainty),
        MetricSpread(shared_u, _factor(left, comparisons) * shared_u),
    )


def _counted(row: MetricResult) -> dict[str, Part]:
    """Return the parts of a budget that count, by component."""
    return {part.component: part for part in row.budget if part.counted}


def _uncertainties(row: MetricResult) -> dict[str, float]:
    return {part.component: part.standard_uncertainty for part in row.budget}


def counts(pairs: Sequence[MetricPair]) -> Mapping[ComparisonOutcome, int]:
    """Return how many metrics have each outcome."""
    found = Counter(pair.outcome for pair in pairs)
    return {
        outcome: found[outcome] for outcome in ComparisonOutcome if outcome in found
    }


def reasons(pairs: Sequence[MetricPair]) -> list[str]:
    """Return why metrics of two sessions have no difference: "every metric: not
    comparable: the tasks differ: asc; qubo".
    """
    names: dict[str, list[str]] = {}
    for each in pairs:
        if each.outcome in WITH_REASON:
            text = f"{each.outcome.value}: {each.reason}"
            names.setdefault(text, []).append(each.name)
    lines = []
    for text, about in names.items():
        is_every = len(about) == len(pairs) > 1
        lines.append(f"{'every metric' if is_every else ', '.join(about)}: {text}")
    return lines
