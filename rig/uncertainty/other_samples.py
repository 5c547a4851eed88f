# SPDX-License-Identifier: Apache-2.0
"""Interval of a metric for other samples of the same kind, which includes their choice,
by clusters of correlated samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.metric import Metric, Statistic
from rig.stats.binomial import Share, effective_size, places
from rig.stats.bounded import hull
from rig.stats.containing import Variance
from rig.stats.coverage_factor import Component, coverage_factor
from rig.stats.few_clusters import LEAST
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import standard_error
from rig.stats.two_way import TwoWay
from rig.uncertainty import same_samples
from rig.uncertainty.budget import SCATTERS, Budget, Part
from rig.uncertainty.clusters import SAMPLE
from rig.uncertainty.jackknife import Jackknife, pooled

CR2 = (
    "CR2 over clusters with Satterthwaite's degrees of freedom (Bell and McCaffrey"
    " 2002, Imbens and Kolesar 2016), joined with the trials' scatter (Cameron, Gelbach"
    " and Miller 2011)"
)
MEANS = f"{CR2}, with the budget"
SHARES = f"{CR2}{same_samples.LOGIT}"
COUNTS = (
    "Clopper and Pearson with the effective sample size (Korn and Graubard 1998), never"
    " less than what differs from trial to trial"
)
RANKS = (
    "order statistics with the effective sample size (Woodruff 1952, Korn and Graubard "
    "1998), joined with what differs from trial to trial and the instrument's budget"
)
TRIALS = "each trial had samples of its own: Student's t over trials, with the budget"

#: Reasons why an area of 0 or 1 has no interval: without any of the samples it is the
#: same, so that their scatter has no meaning.
_ALL_PAIRS = ("no pair is in order", "every pair is in order")
#: An end is moved outwards if the move is more than this share of the half-width.
_MOVED = 0.02
#: Counts computed from shares are integers within this rounding.
_NOTHING = 1e-6
#: More degrees of freedom make no difference.
_MANY = 1000.0


def intervals(
    name: str, single: Sequence[Metric], budget: Budget | None, knife: Jackknife
) -> Intervals:
    """Return both intervals of a metric, from its values in all trials, its budget, and
    its jackknife.
    """
    same = same_samples.interval(single, budget, knife.shared)
    return Intervals(same, interval(name, single, budget, knife, same))


def interval(
    name: str,
    single: Sequence[Metric],
    budget: Budget | None,
    knife: Jackknife,
    same: Interval,
) -> Interval:
    """Return the interval of a metric; `same` is that of the same samples, measured
    again."""
    if not all(math.isfinite(metric.value) for metric in single):
        return Interval.missing("not every trial has a value")
    statistic = single[0].statistic
    if statistic is Statistic.PERCENTILE and single[0].percent is None:
        return Interval.missing(same_samples.A_BOUND)
    deleted = knife.deleted.get(name)
    if len(knife.clusters.groups) < LEAST or deleted is None:
        return Interval.missing(knife.clusters.units, CR2)
    if not (statistic.smooth and deleted.complete):
        return _by_trials(knife, same)
    if statistic is Statistic.SHARE:
        stated = _share(name, single, knife, same)
    elif statistic is Statistic.PERCENTILE:
        stated = _percentile(name, single, budget, knife, same)
    else:
        stated = _mean(name, single, budget, knife, same)
    note = f"; {knife.clusters.note}" if knife.clusters.note else ""
    return replace(
        stated,
        method=stated.method + note,
        units=knife.clusters.units if stated.known else "",
    )


def _by_trials(knife: Jackknife, same: Interval) -> Interval:
    if knife.shared:
        return Interval.missing(
            "all trials had the same samples, and it is not known without some of them"
        )
    return replace(same, method=TRIALS) if same.known else same


def _share(
    name: str, single: Sequence[Metric], knife: Jackknife, same: Interval
) -> Interval:
    at = same_samples.value(single)
    n = single[0].n if knife.shared else sum(metric.n for metric in single)
    # Samples are independent if no two are of one recording.
    plain = knife.clusters.kind == SAMPLE
    counted = [(same.low, same.high)] if same.known else []
    if plain or _differing(name, at, knife) < LEAST:
        size = n if plain else _effective_size(name, at, n, knife)
        counted.append(Share(at * size, size).interval())
        # Words of a stream of windows stay where samples are left out: the scatter of
        # the samples is not that of such outcomes.
        sizes, _ = knife.deleted[name].events(knife.whole[name])
        if not plain or not sizes.any():
            return Interval(*hull(*counted), COUNTS)
    error = standard_error([metric.value for metric in single]) or 0.0
    scatter = knife.scatter(name, Variance(error**2, max(len(single) - 1, 1)))
    ends = same_samples.share_ends(
        at, _half_width(scatter), sum(metric.n for metric in single)
    )
    return Interval(*hull(*counted, ends), COUNTS if plain else SHARES)


def _half_width(scatter: TwoWay) -> float:
    parts = _scattered(scatter)
    return coverage_factor(parts) * scatter.standard_uncertainty if parts else 0.0


def _scattered(scatter: TwoWay) -> list[Component]:
    """Return the scatter as a part of a budget; the scatter of trials alone is treated
    as for the same samples.
    """
    if not scatter.value:
        return []
    if not scatter.chosen.value and scatter.repeated.freedom < _MANY:
        return [(scatter.standard_uncertainty, f"t{scatter.repeated.freedom:.0f}")]
    return [(scatter.standard_uncertainty, scatter.shape)]


def _differing(name: str, at: float, knife: Jackknife) -> int:
    """Count the clusters with the rarer outcome of a share."""
    sizes, events = knife.deleted[name].events(knife.whole[name])
    rarer = events if at < 0.5 else sizes - events
    return int((rarer > _NOTHING).sum())


def _effective_size(name: str, at: float, n: float, knife: Jackknife) -> float:
    """Return the number of independent values that determine a share as precisely as
    `n` clustered ones.

    The variance between clusters has one degree of freedom for each cluster with the
    rarer outcome, at most one less than there are clusters. The size is never larger
    than that of fully correlated clusters, which is used if no cluster has the rarer
    outcome.
    """
    deleted = knife.deleted[name]
    chosen = knife.chosen(name)
    groups = len(knife.clusters.groups)
    sizes, _ = deleted.events(knife.whole[name])
    concentration = float((sizes**2).sum() / sizes.sum() ** 2)
    alike = at * (1 - at) * concentration * groups / knife.clusters.count
    if alike:
        least = effective_size(at, alike, n, chosen.freedom)
    else:
        least = float(min(knife.clusters.count, n))
    freedom = min(_differing(name, at, knife), chosen.freedom)
    if freedom > 0 and 0 < at < 1:
        return max(effective_size(at, chosen.value, n, freedom), least)
    return least


def _percentile(
    name: str,
    single: Sequence[Metric],
    budget: Budget | None,
    knife: Jackknife,
    same: Interval,
) -> Interval:
    percent = single[0].percent or 0.0
    values = pooled(single)
    needed = same_samples.needed(percent)
    units = knife.clusters.units
    # The correlation of samples is not known well enough to rely on a smaller one.
    if knife.clusters.count < needed:
        return Interval.missing(f"{units}, the percentile needs {needed}", RANKS)
    count = math.floor(_effective_size(name, percent / 100, len(values), knife))
    low, high = places(count, percent / 100)
    if not low or high > count:
        few = (
            f"{len(values)} values of {units} tell as much as {count} independent ones"
        )
        return Interval.missing(f"{few}, the percentile needs {needed}", RANKS)
    each = len(values) / count
    low_at = values[math.floor((low - 0.5) * each + 0.5) - 1]
    high_at = values[math.ceil((high - 0.5) * each + 0.5) - 1]
    at = same_samples.value(single)
    chosen = same_samples.widened(at, low_at, high_at, budget)
    if not same.known:
        return Interval(*chosen, RANKS)
    if not knife.shared or len(single) == 1:
        # Then the scatter of trials contains the choice of samples.
        return Interval(*hull(chosen, (same.low, same.high)), RANKS)
    below = math.hypot(at - low_at, at - same.low)
    above = math.hypot(high_at - at, same.high - at)
    return Interval(at - below, at + above, RANKS)


def _mean(
    name: str,
    single: Sequence[Metric],
    budget: Budget | None,
    knife: Jackknife,
    same: Interval,
) -> Interval:
    at = same_samples.value(single)
    counted = [part for part in (budget.parts if budget else ()) if part.counted]
    repeated = [part for part in counted if part.component in SCATTERS]
    scatter = knife.scatter(name, _variance(repeated))
    parts = _scattered(scatter)
    parts += [
        (part.standard_uncertainty, part.shape)
        for part in counted
        if part not in repeated
    ]
    combined = math.hypot(*(u for u, _ in parts))
    factor = coverage_factor(parts)
    if combined:
        # Rounding must not make it narrower than the interval of the same samples.
        factor = max(factor, budget.expanded / combined if budget else 0.0)
    even = Interval.around(at, combined, factor, MEANS)
    if single[0].bounded:
        if not 0 < at < 1:
            return Interval.missing(_ALL_PAIRS[at > 0], MEANS)
        return same_samples.in_bounds(even, at, single)
    chosen_u = math.sqrt(scatter.chosen.value)
    skewness = knife.deleted[name].skewness(at)
    return (
        _skewed(even, at, skewness * (chosen_u / combined) ** 3) if combined else even
    )


def _variance(repeated: Sequence[Part]) -> Variance:
    """Return the scatter of trials that a budget counts, or of the samples of a single
    trial.
    """
    if not repeated:
        return Variance(0.0, 1.0)
    (part,) = repeated
    freedom = _MANY if part.shape == "normal" else float(part.shape.removeprefix("t"))
    return Variance(part.standard_uncertainty**2, freedom)


def _skewed(even: Interval, at: float, skewness: float) -> Interval:
    """Return the interval with the end on the long side of a skewed distribution moved
    out.

    Hall, Journal of the Royal Statistical Society B 54, 1992, 221: T + a (T^2 / 3 + 1 /
    6) + a^2 T^3 / 27 of Student's T is nearly normal, with the skewness `a` of the
    mean. It is solved for T; no end is moved inwards, as `a` is uncertain.
    """
    u = even.standard_uncertainty or 0.0
    k = even.coverage_factor or 0.0
    if not skewness:
        return even

    def turned(y: float) -> float:
        return 3 / skewness * (math.cbrt(1 + skewness * (y - skewness / 6)) - 1)

    low = min(even.low, at - turned(k) * u)
    high = max(even.high, at - turned(-k) * u)
    if high - low < (2 + _MOVED) * k * u:
        return even
    return Interval(
        low,
        high,
        f"{MEANS}, of a skewed distribution (Hall 1992)",
        standard_uncertainty=u,
    )
