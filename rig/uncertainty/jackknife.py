# SPDX-License-Identifier: Apache-2.0
"""Jackknife: metrics without one group of samples after the other: the variance that
the choice of samples gives them.

The delete-one-group jackknife (Wolter, Introduction to Variance Estimation, chapter 4)
of the scenario's own summary, so it holds for any metric that is smooth in its samples:
means, ratios, shares, areas under a curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.model.catalogue import Entry
from rig.model.metric import Metric
from rig.model.trial import Measured, Trial
from rig.stats.containing import Variance
from rig.stats.few_clusters import LEAST, cr2
from rig.stats.summary import percentile
from rig.stats.two_way import TwoWay
from rig.uncertainty.clusters import Clusters, clusters, indices_of
from rig.uncertainty.deletion import without
from rig.uncertainty.propagation import Summarise

Floats = NDArray[np.float64]
_NONE = (math.nan, 0)
#: What was left out and added up again in another order differs by such a share.
_ROUNDING = 1e-12
#: Fewer groups do not determine a skewness.
_SKEWED_MIN = 6


@dataclass(frozen=True, slots=True)
class Deleted:
    """One metric of all trials with each group left out: a row a trial, a column a
    group.

    `present` says which trial has samples of which group. Of a percentile `values` are
    the shares of the values that lie at or below that of all trials, else the metric's
    values; `counts` says of how many single values each is made.
    """

    values: Floats
    counts: Floats
    present: NDArray[np.bool_]

    @property
    def complete(self) -> bool:
        """Return whether every value is known."""
        return bool(np.isfinite(self.values).all())

    def variance(self, whole: Sequence[tuple[float, int]], sizes: Floats) -> Variance:
        """Return the variance of the mean over trials by the choice of samples: each
        group is left out of all trials at once.

        `whole` is the value in each whole trial, and of how many values; `sizes` are
        the groups' numbers of samples, which weigh where the metric is of no certain
        number of values.
        """
        values = [value for value, _ in whole]
        at = float(np.mean(values))
        away = self.values.mean(axis=0) - at
        own, _ = self.events(whole)
        if own.min() < 0 or not own.sum() > 0:
            own = np.where(np.abs(away) > _ROUNDING * abs(at), sizes, 0.0)
        if not own.sum() > 0:
            return Variance(0.0, 1.0)
        return cr2(away, own / own.sum())

    def skewness(self, whole: float) -> float:
        """Return the skewness of the mean over trials by the choice of samples, as the
        groups that matter show it.

        Of few values their own skewness is too small: it is taken times sqrt(n (n - 1))
        / (n - 2) (Joanes and Gill, The Statistician 47, 1998, 183).
        """
        left = self._mattering(whole)
        count = len(left)
        square = float(np.var(left)) if len(left) else 0.0
        if count < _SKEWED_MIN or not square > 0:
            return 0.0
        # What is without a group is as far from the mean as the group itself, to the
        # other side.
        cube = -float(np.mean((left - left.mean()) ** 3))
        return cube / (square * math.sqrt(square)) * math.sqrt(count - 1) / (count - 2)

    def _mattering(self, whole: float) -> Floats:
        """Return the means over trials that are not what they are with all groups."""
        left = self.values.mean(axis=0)
        found: Floats = left[np.abs(left - whole) > _ROUNDING * np.abs(whole)]
        return found

    def events(self, whole: Sequence[tuple[float, int]]) -> tuple[Floats, Floats]:
        """Return of a share how many single values each group has, and of how many it
        is so, in all trials; `whole` is the share in each whole trial, and of how many
        values.
        """
        sizes = np.array([[n] for _, n in whole]) - self.counts
        events = (
            np.array([[value * n] for value, n in whole]) - self.values * self.counts
        )
        found: tuple[Floats, Floats] = sizes.sum(axis=0), events.sum(axis=0)
        return found

    def variance_within(self, *, shared: bool) -> float:
        """Return the part of the variance that the choice of samples and the scatter of
        trials have in common.

        Where all trials have the `shared` samples, that is what single runs differ by:
        what is left of each trial's values without a group when the groups' means are
        taken off. Where each has samples of its own, it is their choice, each group
        left out of one trial only.
        """
        trials = len(self.values)
        if not shared:
            rows = zip(self.values, self.present, strict=True)
            return math.fsum(_variance(row[there]) for row, there in rows) / trials**2
        left = self.values - self.values.mean(axis=0)
        return math.fsum(map(_variance, left)) / (trials * (trials - 1))


@dataclass(frozen=True, slots=True)
class Jackknife:
    """The clusters of a session's samples, and each metric without one group of them
    after the other.
    """

    clusters: Clusters
    deleted: Mapping[str, Deleted]
    #: The same of each whole trial: value, or share up to the percentile of all trials,
    #: and of how many values.
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
        """Return the joint scatter of a metric by the choice of samples and from trial
        to trial, of which `repeated` is the variance.
        """
        deleted = self.deleted[name]
        # The scatter in the only trial is a part of what the choice of its samples
        # makes.
        both = (
            deleted.variance_within(shared=self.shared)
            if len(deleted.values) > 1
            else math.inf
        )
        return TwoWay(self.chosen(name), repeated, both)


def jackknife(
    trials: Sequence[Trial], catalogue: Sequence[Entry], summarise: Summarise
) -> Jackknife:
    """Leave out each group of samples of each trial, and summarise again."""
    own = [indices_of(trial.measured) for trial in trials]
    grouping = clusters(catalogue, set().union(*own))
    shared = _shared([trial.measured for trial in trials])
    if len(grouping.groups) < LEAST:
        return Jackknife(grouping, {}, {}, shared)
    cuts = _cuts(trials)
    present = [
        [not group.isdisjoint(indices) for group in grouping.groups] for indices in own
    ]
    rows = []
    for trial, touched in zip(trials, present, strict=True):
        whole = numbers(trial.metrics, cuts)
        rows.append(
            [
                numbers(summarise(without(trial.measured, group)), cuts)
                if is_in
                else whole
                for group, is_in in zip(grouping.groups, touched, strict=True)
            ]
        )
    deleted = {
        name: _deleted(name, rows, present)
        for name in (trials[0].metrics if trials else ())
    }
    wholes = {
        name: [numbers(trial.metrics, cuts).get(name, _NONE) for trial in trials]
        for name in deleted
    }
    return Jackknife(grouping, deleted, wholes, shared)


def _deleted(
    name: str,
    rows: Sequence[Sequence[Mapping[str, tuple[float, int]]]],
    present: Sequence[Sequence[bool]],
) -> Deleted:
    cells = np.array(
        [[cell.get(name, _NONE) for cell in row] for row in rows], dtype=np.float64
    )
    return Deleted(cells[:, :, 0], cells[:, :, 1], np.array(present))


def pooled(metrics: Sequence[Metric]) -> list[float]:
    """Return the single values behind a percentile, of all trials together, in
    order."""
    return sorted(value for metric in metrics for value in metric.values)


def numbers(
    metrics: Mapping[str, Metric], cuts: Mapping[str, float]
) -> dict[str, tuple[float, int]]:
    """Return what is looked at of each metric, and of how many values it is made: its
    value, or of a percentile the share of values up to that of all trials.
    """
    return {
        name: (
            _share_up_to(metric, cuts[name]) if name in cuts else metric.value,
            metric.n,
        )
        for name, metric in metrics.items()
    }


def _share_up_to(metric: Metric, cut: float) -> float:
    return (
        float(np.mean(np.asarray(metric.values) <= cut)) if metric.values else math.nan
    )


def _cuts(trials: Sequence[Trial]) -> dict[str, float]:
    cuts = {}
    for name, metric in (trials[0].metrics if trials else {}).items():
        if metric.percent is not None:
            cuts[name] = percentile(
                pooled([t.metrics[name] for t in trials if name in t.metrics]),
                metric.percent,
            )
    return cuts


def _shared(measured: Sequence[Measured]) -> bool:
    """Return whether all trials are of the same samples: each as often, and in the same
    scenes."""
    asked = [
        (
            sorted(index for sample in each.samples for index in sample.indices),
            [stream.indices for stream in each.streams],
        )
        for each in measured
    ]
    return all(each == asked[0] for each in asked)


def _variance(values: Floats) -> float:
    if len(values) < 2:
        return 0.0
    return float(
        (len(values) - 1) / len(values) * np.sum((values - values.mean()) ** 2)
    )
