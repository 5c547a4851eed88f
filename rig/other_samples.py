# SPDX-License-Identifier: Apache-2.0
"""Where a metric would lie for other samples of the same kind: their choice, by clusters that are alike inside, counts too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig import same_samples
from rig.binomial import Share, effective_size, places
from rig.budget import SCATTERS, Budget
from rig.coverage import coverage_factor
from rig.interval import Interval, Intervals
from rig.jackknife import Deleted, Jackknife, pooled
from rig.statistics import standard_error
from rig.trial import Metric

SHARES = "Clopper and Pearson with the effective sample size (Korn and Graubard 1998)"
RANKS = "order statistics with the effective sample size (Woodruff 1952, Korn and Graubard 1998), with the instrument's budget"
MEANS = "delete-a-group jackknife (Kott 2001), trials and samples both random (Cameron, Gelbach and Miller 2011), with the budget"
TRIALS = "each trial had samples of its own: Student's t over trials, with the budget"


def intervals(name: str, single: Sequence[Metric], found: Budget | None, knife: Jackknife) -> Intervals:
    """Return both intervals of a metric, from its values in all trials, its budget, and itself without some of its samples."""
    same = same_samples.interval(single, found, knife.shared)
    return Intervals(same, interval(name, single, found, knife, same))


def interval(name: str, single: Sequence[Metric], found: Budget | None, knife: Jackknife, same: Interval) -> Interval:
    """Return the interval of a metric; `same` is that of the same samples, measured again."""
    if not all(math.isfinite(metric.value) for metric in single):
        return Interval.missing("not every trial has a value")
    if single[0].ranked and single[0].percent is None:
        return Interval.missing(same_samples.A_BOUND)
    groups, deleted = len(knife.clusters.groups), knife.deleted.get(name)
    if groups < 2 or deleted is None:
        return Interval.missing(f"{knife.clusters.units}: other ones cannot be told from that")
    if not (single[0].smooth and deleted.complete):
        return _by_trials(knife, same)
    if single[0].share:
        stated = _share(single, deleted, knife)
    elif single[0].ranked:
        stated = _percentile(single, deleted, found, knife)
    else:
        stated = _mean(single, deleted, found, groups)
    note = f"; {knife.clusters.note}" if knife.clusters.note else ""
    return replace(stated, method=stated.method + note, units=knife.clusters.units if stated.known else "")


def _by_trials(knife: Jackknife, same: Interval) -> Interval:
    if knife.shared:
        return Interval.missing("it cannot be told what it would be without some of the samples")
    return replace(same, method=TRIALS) if same.known else same


def _share(single: Sequence[Metric], deleted: Deleted, knife: Jackknife) -> Interval:
    at, n = same_samples.value(single), single[0].n if knife.shared else sum(metric.n for metric in single)
    # Where all were so, or none, nothing tells how alike those of one cluster are: as alike as can be.
    size = float(min(knife.clusters.count, n))
    if 0 < at < 1:
        size = effective_size(at, deleted.variance(), n, len(knife.clusters.groups) - 1)
    low, high = Share(at * size, size).interval()
    return Interval(low, high, SHARES)


def _percentile(single: Sequence[Metric], deleted: Deleted, found: Budget | None, knife: Jackknife) -> Interval:
    percent, values = single[0].percent or 0.0, pooled(single)
    size = effective_size(percent / 100, deleted.variance(), len(values), len(knife.clusters.groups) - 1)
    count = math.floor(size)
    low, high = places(count, percent / 100)
    if not low or high > count:
        few = f"{len(values)} values of {knife.clusters.units} tell as much as {count} independent ones"
        return Interval.missing(f"{few}, the percentile needs {same_samples.needed(percent)}", RANKS)
    each = len(values) / count
    low_at, high_at = values[math.floor((low - 0.5) * each + 0.5) - 1], values[math.ceil((high - 0.5) * each + 0.5) - 1]
    return Interval(*same_samples.widened(same_samples.value(single), low_at, high_at, found), RANKS)


def _mean(single: Sequence[Metric], deleted: Deleted, found: Budget | None, groups: int) -> Interval:
    parts = (
        [(part.standard_uncertainty, part.shape) for part in found.parts if part.counted and part.component not in SCATTERS]
        if found
        else []
    )
    chosen = deleted.variance()
    parts.append((math.sqrt(chosen), f"t{groups - 1}"))
    error = standard_error([metric.value for metric in single])
    if error is not None:
        # What the trials' scatter has of their samples' is counted above.
        parts.append((math.sqrt(max(error**2 - deleted.variance_within(), 0.0)), f"t{len(single) - 1}"))
    combined = math.hypot(*(u for u, _ in parts))
    return Interval.around(same_samples.value(single), combined, coverage_factor(parts), MEANS)
