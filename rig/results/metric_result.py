# SPDX-License-Identifier: Apache-2.0
"""One metric of all trials, with its intervals and its budget, as results.json has
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rig.files import typed
from rig.model.metric import Metric, Prominence, Repeatability, Statistic
from rig.model.trial import Trial
from rig.results.document import (
    BinomialInterval,
    IntervalResult,
    MetricResult,
    TrialValue,
)
from rig.stats.binomial import Share
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import mean
from rig.uncertainty import budget, other_samples, same_samples
from rig.uncertainty.jackknife import Jackknife


def metric_result(
    name: str, trials: Sequence[Trial], knife: Jackknife, own: Intervals | None
) -> MetricResult:
    """Combine a metric over all trials; `own` are the intervals that the scenario
    computes.
    """
    single = [trial.metrics[name] for trial in trials]
    found = budget.of_metric(name, trials)
    own = own or other_samples.intervals(name, single, found, knife)
    errors = [
        metric.standard_error for metric in single if metric.standard_error is not None
    ]
    error = mean(errors) if len(errors) == len(single) else None
    binomial = None
    if single[0].statistic is Statistic.SHARE:
        pooled = knife.shared and single[0].repeatability is not Repeatability.DRAWN
        binomial = _binomial(single, pooled)
    return MetricResult(
        value=same_samples.value(single),
        unit=single[0].unit,
        **statements(single),
        standard_error_over_samples=error,
        same_samples=interval_result(own.same_samples),
        other_samples=interval_result(own.other_samples),
        binomial=binomial,
        budget=() if found is None else found.parts,
        per_trial=tuple(_trial_value(name, trial) for trial in trials),
    )


def statements(single: Sequence[Metric]) -> dict[str, Any]:
    """Collect the properties that a metric states, as the fields of MetricResult have
    them.
    """
    metric = single[0]
    prominences = {each.prominence for each in single}
    return {
        "higher_is_better": metric.higher_is_better,
        "statistic": metric.statistic,
        "prominence": min(prominences, key=list(Prominence).index),
        "repeatability": metric.repeatability,
        "deviation": metric.deviation,
        "budget_shown": metric.budget_shown,
    }


def interval_result(interval: Interval) -> IntervalResult:
    """Convert an interval to its form in results.json."""
    return typed.like(IntervalResult, interval)


def _binomial(single: Sequence[Metric], shared: bool) -> BinomialInterval:
    """Compute the interval of a share as if its samples were independent, which those
    of one recording are not.
    """
    n = single[0].n if shared else sum(metric.n for metric in single)
    count = mean([metric.value for metric in single]) * n if n else 0.0
    low, high = Share(count, n).interval()
    method = "Clopper and Pearson 1934, as if all samples were independent"
    return BinomialInterval(low, high, method, n)


def _trial_value(name: str, trial: Trial) -> TrialValue:
    metric = trial.metrics[name]
    u = budget.of_trial(metric, trial.influences.get(name, {}))
    return typed.like(TrialValue, metric, trial=trial.number, standard_uncertainty=u)
