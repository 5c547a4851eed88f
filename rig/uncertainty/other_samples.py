# SPDX-License-Identifier: Apache-2.0
"""Interval of a metric for other samples of the same kind: their choice, by clusters of correlated
samples, counts too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.metric import Metric, Statistic
from rig.stats.binomial import Share, chance, effective_size, places
from rig.stats.coverage_factor import coverage_factor
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import standard_error
from rig.uncertainty import same_samples
from rig.uncertainty.budget import SCATTERS, Budget, Part
from rig.uncertainty.clusters import SAMPLE
from rig.uncertainty.jackknife import Deleted, Jackknife, pooled

SHARES = "Clopper and Pearson with the effective sample size (Korn and Graubard 1998)"
RANKS = (
    "order statistics with the effective sample size (Woodruff 1952, Korn and Graubard "
    "1998), with the instrument's budget"
)
MEANS = (
    "delete-a-group jackknife (Kott 2001), trials and samples both random (Cameron, "
    "Gelbach and Miller 2011), with the budget"
)
TRIALS = "each trial had samples of its own: Student's t over trials, with the budget"

#: An end is moved out where that is more than this share of the half-width.
_MOVED = 0.02
#: Shares of counts are whole numbers but for rounding.
_NOTHING = 1e-6


def intervals(
    name: str, single: Sequence[Metric], budget: Budget | None, knife: Jackknife
) -> Intervals:
    """Return both intervals of a metric, from its values in all trials, its budget, and itself
    without some of its samples.
    """
    same = same_samples.interval(single, budget, knife.shared)
    return Intervals(same, interval(name, single, budget, knife, same))


def interval(
    name: str, single: Sequence[Metric], budget: Budget | None, knife: Jackknife, same: Interval
) -> Interval:
    """Return the interval of a metric; `same` is that of the same samples, measured again."""
    if not all(math.isfinite(metric.value) for metric in single):
        return Interval.missing("not every trial has a value")
    statistic = single[0].statistic
    if statistic is Statistic.PERCENTILE and single[0].percent is None:
        return Interval.missing(same_samples.A_BOUND)
    groups = len(knife.clusters.groups)
    deleted = knife.deleted.get(name)
    if groups < 2 or deleted is None:
        return Interval.missing(f"{knife.clusters.units}: other ones cannot be told from that")
    if not (statistic.smooth and deleted.complete):
        return _by_trials(knife, same)
    if statistic is Statistic.SHARE:
        stated = _share(name, single, knife)
    elif statistic is Statistic.PERCENTILE:
        stated = _percentile(name, single, budget, knife)
    else:
        stated = _mean(single, deleted, budget)
    note = f"; {knife.clusters.note}" if knife.clusters.note else ""
    return replace(
        stated, method=stated.method + note, units=knife.clusters.units if stated.known else ""
    )


def _by_trials(knife: Jackknife, same: Interval) -> Interval:
    if knife.shared:
        return Interval.missing(
            "all trials had the same samples, and it is not known without some of them"
        )
    return replace(same, method=TRIALS) if same.known else same


def _share(name: str, single: Sequence[Metric], knife: Jackknife) -> Interval:
    at = same_samples.value(single)
    n = single[0].n if knife.shared else sum(metric.n for metric in single)
    # Samples of which no two are of one recording are independent.
    size = n if knife.clusters.kind == SAMPLE else _effective_size(name, at, n, knife)
    low, high = Share(at * size, size).interval()
    return Interval(low, high, SHARES)


def _effective_size(name: str, at: float, n: float, knife: Jackknife) -> float:
    """Return how many independent values give a share as precisely as `n` that are clustered.

    The variance between clusters is known as well as the count of those in which the rarer outcome
    happened: a degree of freedom for each of them, at most one less than all. It is never more than
    that of fully correlated clusters: taken where none had it.
    """
    deleted = knife.deleted[name]
    groups = len(knife.clusters.groups)
    sizes, events = deleted.events(knife.whole[name])
    rarer = events if at < 0.5 else sizes - events
    freedom = min(int((rarer > _NOTHING).sum()), groups - 1)
    alike = (
        at * (1 - at) * float((sizes**2).sum() / sizes.sum() ** 2) * groups / knife.clusters.count
    )
    least = (
        effective_size(at, alike, n, groups - 1) if alike else float(min(knife.clusters.count, n))
    )
    return (
        max(effective_size(at, deleted.variance(), n, freedom), least)
        if freedom > 0 and 0 < at < 1
        else least
    )


def _percentile(
    name: str, single: Sequence[Metric], budget: Budget | None, knife: Jackknife
) -> Interval:
    percent = single[0].percent or 0.0
    values = pooled(single)
    needed = same_samples.needed(percent)
    units = knife.clusters.units
    # What samples have in common is not known well enough to count on less of it.
    if knife.clusters.count < needed:
        return Interval.missing(f"{units}, the percentile needs {needed}", RANKS)
    count = math.floor(_effective_size(name, percent / 100, len(values), knife))
    low, high = places(count, percent / 100)
    if not low or high > count:
        few = f"{len(values)} values of {units} tell as much as {count} independent ones"
        return Interval.missing(f"{few}, the percentile needs {needed}", RANKS)
    each = len(values) / count
    low_at = values[math.floor((low - 0.5) * each + 0.5) - 1]
    high_at = values[math.ceil((high - 0.5) * each + 0.5) - 1]
    return Interval(
        *same_samples.widened(same_samples.value(single), low_at, high_at, budget), RANKS
    )


def _by_logit(even: Interval, at: float) -> Interval:
    """Return the interval whose ends are as far from the value as logits, so that it stays between
    0 and 1.
    """
    half = (even.expanded_uncertainty or 0.0) / (at * (1 - at))
    low, high = (1 / (1 + math.exp(-(math.log(at / (1 - at)) + sign * half))) for sign in (-1, 1))
    return Interval(low, high, f"{MEANS}, of its logit (Qin and Hotilovac 2008)")


def _mean(single: Sequence[Metric], deleted: Deleted, budget: Budget | None) -> Interval:
    at = same_samples.value(single)
    chosen_u = math.sqrt(deleted.variance())
    parts = [
        (part.standard_uncertainty, part.shape)
        for part in (budget.parts if budget else ())
        if _counts(part)
    ]
    parts.append((chosen_u, f"t{deleted.freedom(at)}"))
    error = standard_error([metric.value for metric in single])
    within = deleted.variance_within()
    if error is not None and error**2 > chance(len(single) - 1) * within:
        # What the trials' scatter has of their samples' is counted above.
        parts.append((math.sqrt(max(error**2 - within, 0.0)), f"t{len(single) - 1}"))
    combined = math.hypot(*(u for u, _ in parts))
    even = Interval.around(at, combined, coverage_factor(parts), MEANS)
    if single[0].bounded and 0 < at < 1:
        return _by_logit(even, at)
    return (
        _skewed(even, at, deleted.skewness(at) * (chosen_u / combined) ** 3) if combined else even
    )


def _counts(part: Part) -> bool:
    return part.counted and part.component not in SCATTERS


def _skewed(even: Interval, at: float, skewness: float) -> Interval:
    """Return the interval with the end farther out to which a skewed distribution reaches.

    Hall, Journal of the Royal Statistical Society B 54, 1992, 221: T + a (T^2 / 3 + 1 / 6) + a^2
    T^3 / 27 of Student's T is nearly normal where `a` is the skewness of the mean. It is solved for
    T; neither end is drawn in, as `a` is not known well.
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
        low, high, f"{MEANS}, of a skewed distribution (Hall 1992)", standard_uncertainty=u
    )
