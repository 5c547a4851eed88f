# SPDX-License-Identifier: Apache-2.0
"""Jackknife: metrics with each group of samples left out in turn, for the variance by
the choice of samples.

The delete-one-group jackknife (Wolter, Introduction to Variance Estimation, chapter 4)
of the scenario's own summary, so that it holds for any metric that is smooth in its
samples: means, ratios, shares, areas under a curve.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

import numpy as np

from rig.arrays import Bools, Float64s
from rig.model.catalogue import Entry
from rig.model.metric import Metric
from rig.model.trial import Measured, Trial, Varied
from rig.stats.containing import Variance
from rig.stats.few_clusters import LEAST, cr2
from rig.stats.summary import percentile
from rig.stats.two_way import TwoWay
from rig.uncertainty.clusters import Clusters, clusters, indices_of
from rig.uncertainty.deletion import without
from rig.uncertainty.propagation import Summarise

_NONE = (math.nan, 0)
#: Relative difference of a sum that was added up in another order.
_ROUNDING = 1e-12
#: Fewer groups do not determine a skewness.
_SKEWED_MIN = 6


@dataclass(frozen=True, slots=True)
class Deleted:
    """One metric of all trials with each group left out: a row a trial, a column a
    group.

    `values` are the metric's values; for a percentile, the shares of values at or below
    the percentile of all trials. `counts` are the numbers of single values of each, and
    `present` says which trial has samples of which group.
    """

    values: Float64s
    counts: Float64s
    present: Bools

    @property
    def complete(self) -> bool:
        """Whether every value is known."""
        return bool(np.isfinite(self.values).all())

    def variance(self, whole: Sequence[tuple[float, int]], sizes: Float64s) -> Variance:
        """Return the variance of the mean over trials by the choice of samples.

        Each group is left out of all trials at once.

        whole: value of each whole trial, and its number of single values
        sizes: numbers of samples of the groups, their weights if the metric has no
            certain number of single values
        """
        values = [value for value, _ in whole]
        overall = float(np.mean(values))
        differences = self.values.mean(axis=0) - overall
        weights, _ = self.events(whole)
        if weights.min() < 0 or not weights.sum() > 0:
            matters = np.abs(differences) > _ROUNDING * abs(overall)
            weights = np.where(matters, sizes, 0.0)
        if not weights.sum() > 0:
            return Variance(0.0, 1.0)
        return cr2(differences, weights / weights.sum())

    def skewness(self, whole: float) -> float:
        """Return the skewness of the mean over trials by the choice of samples, of the
        groups that matter.

        The skewness of few values is too small by itself: it is multiplied by sqrt(n (n
        - 1)) / (n - 2) (Joanes and Gill, The Statistician 47, 1998, 183).
        """
        left = self._mattering(whole)
        count = len(left)
        square = float(np.var(left)) if len(left) else 0.0
        if count < _SKEWED_MIN or not square > 0:
            return 0.0
        # A value without a group deviates from the mean to the side opposite to the
        # group's own.
        cube = -float(np.mean((left - left.mean()) ** 3))
        return cube / (square * math.sqrt(square)) * math.sqrt(count - 1) / (count - 2)

    def _mattering(self, whole: float) -> Float64s:
        """Return the means over trials that the left-out group changes."""
        left = self.values.mean(axis=0)
        changed: Float64s = left[np.abs(left - whole) > _ROUNDING * np.abs(whole)]
        return changed

    def events(self, whole: Sequence[tuple[float, int]]) -> tuple[Float64s, Float64s]:
        """Return for each group its single values and its events, summed over trials.

        Holds for a share: `whole` is the share in each whole trial and its number of
        values.
        """
        whole_counts = np.array([[count] for _, count in whole])
        whole_events = np.array([[value * count] for value, count in whole])
        sizes: Float64s = (whole_counts - self.counts).sum(axis=0)
        events: Float64s = (whole_events - self.values * self.counts).sum(axis=0)
        return sizes, events

    def variance_within(self, *, shared: bool) -> float:
        """Return the part of the variance that the choice of samples shares with the
        scatter of trials.

        If all trials have the same samples (`shared`), it is the scatter of each
        trial's values without a group, less the groups' means. If each has samples of
        its own, it is their choice, with each group left out of one trial only.
        """
        trials = len(self.values)
        if not shared:
            rows = zip(self.values, self.present, strict=True)
            return math.fsum(_variance(row[there]) for row, there in rows) / trials**2
        residuals = self.values - self.values.mean(axis=0)
        return math.fsum(map(_variance, residuals)) / (trials * (trials - 1))


@dataclass(frozen=True, slots=True)
class Jackknife:
    """The clusters of a session's samples, and each metric with one group of them left
    out.

    `whole` holds for each metric the value of each whole trial (for a percentile, the
    share up to that of all trials) and its number of single values.
    """

    clusters: Clusters
    deleted: Mapping[str, Deleted]
    whole: Mapping[str, Sequence[tuple[float, int]]]
    #: Whether all trials had the same samples.
    shared: bool

    def chosen(self, name: str) -> Variance:
        """Return the variance of a metric by the choice of samples."""
        sizes = np.array(
            [len(group) for group in self.clusters.groups], dtype=np.float64
        )
        return self.deleted[name].variance(self.whole[name], sizes)

    def scatter(self, name: str, repeated: Variance) -> TwoWay:
        """Return the joint scatter of a metric by the choice of samples and between
        trials; `repeated` is the variance between trials.
        """
        deleted = self.deleted[name]
        # The scatter within a single trial is a part of that by the choice of samples.
        both = math.inf
        if len(deleted.values) > 1:
            both = deleted.variance_within(shared=self.shared)
        return TwoWay(self.chosen(name), repeated, both)


def jackknife(
    trials: Sequence[Trial], catalogue: Sequence[Entry], summarise: Summarise
) -> Jackknife:
    """Summarise each trial again with each group of samples left out."""
    indices = [indices_of(trial.measured) for trial in trials]
    grouping = clusters(catalogue, set().union(*indices))
    shared = _shared([trial.measured for trial in trials])
    if len(grouping.groups) < LEAST:
        return Jackknife(grouping, {}, {}, shared)
    cuts = _cuts(trials)
    rows = []
    present = []
    for trial, trial_indices in zip(trials, indices, strict=True):
        touched = [not group.isdisjoint(trial_indices) for group in grouping.groups]
        left = _without_each(trial, grouping.groups, touched, summarise)
        rows.append([numbers(metrics, cuts) for metrics in left])
        present.append(touched)
    deleted = {}
    wholes = {}
    for name in trials[0].metrics if trials else ():
        deleted[name] = _deleted(name, rows, present)
        wholes[name] = [
            numbers(trial.metrics, cuts).get(name, _NONE) for trial in trials
        ]
    return Jackknife(grouping, deleted, wholes, shared)


def _without_each(
    trial: Trial,
    groups: Sequence[frozenset[int]],
    touched: Sequence[bool],
    summarise: Summarise,
) -> Iterator[Mapping[str, Metric]]:
    """Yield a trial's metrics without each group in turn; where the trial has none of
    it, those of the whole trial.
    """
    columns = cache(lambda: trial.measured.columns)

    def left(gone: frozenset[int]) -> Measured:
        whole = partial(without, trial.measured, gone)
        return Varied(whole, lambda: columns().without(gone))

    for group, is_touched in zip(groups, touched, strict=True):
        yield summarise(left(group)) if is_touched else trial.metrics


def _deleted(
    name: str,
    rows: Sequence[Sequence[Mapping[str, tuple[float, int]]]],
    present: Sequence[Sequence[bool]],
) -> Deleted:
    cells = []
    for row in rows:
        cells.append([cell.get(name, _NONE) for cell in row])
    table = np.array(cells, dtype=np.float64)
    return Deleted(table[:, :, 0], table[:, :, 1], np.array(present))


def pooled(metrics: Sequence[Metric]) -> list[float]:
    """Sort the single values of a percentile, of all trials together."""
    return sorted(chain.from_iterable(metric.values for metric in metrics))


def numbers(
    metrics: Mapping[str, Metric], cuts: Mapping[str, float]
) -> dict[str, tuple[float, int]]:
    """Return the value of each metric and its number of single values.

    For a percentile the value is the share of values up to `cuts`, the percentile of
    all trials.
    """
    pairs = {}
    for name, metric in metrics.items():
        cut = cuts.get(name)
        value = metric.value if cut is None else _share_up_to(metric, cut)
        pairs[name] = value, metric.n
    return pairs


def _share_up_to(metric: Metric, cut: float) -> float:
    if not metric.values:
        return math.nan
    if math.isnan(metric.value):
        # One of the values is no number, and so they have no order.
        return sum(value <= cut for value in metric.values) / metric.n
    return bisect_right(metric.values, cut) / metric.n


def _cuts(trials: Sequence[Trial]) -> dict[str, float]:
    cuts = {}
    for name, metric in (trials[0].metrics if trials else {}).items():
        if metric.percent is not None:
            single = [t.metrics[name] for t in trials if name in t.metrics]
            cuts[name] = percentile(pooled(single), metric.percent)
    return cuts


def _shared(measured: Sequence[Measured]) -> bool:
    """Check whether all trials are of the same samples: each as often, and in the same
    scenes.
    """
    asked = [(_sample_indices(each), _scenes(each)) for each in measured]
    return all(each == asked[0] for each in asked)


def _sample_indices(measured: Measured) -> list[int]:
    return sorted(chain.from_iterable(each.indices for each in measured.samples))


def _scenes(measured: Measured) -> list[object]:
    return [stream.indices for stream in measured.streams]


def _variance(values: Float64s) -> float:
    count = len(values)
    if count < 2:
        return 0.0
    squares = np.sum((values - values.mean()) ** 2)
    return float((count - 1) / count * squares)
