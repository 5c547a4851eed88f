# SPDX-License-Identifier: Apache-2.0
"""Interval of a metric if the same samples were measured again: instrument, time base,
and scatter between trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rig.model.metric import Metric, Statistic
from rig.stats.binomial import places, student
from rig.stats.bounded import by_logit, hull, unchanged
from rig.stats.interval import Interval
from rig.stats.summary import mean, percentile, standard_error
from rig.uncertainty.budget import Budget
from rig.uncertainty.jackknife import pooled

GUM = "budget of instrument, time base and scatter of trials (GUM, JCGM 100)"
LOGIT = ", of the logit (Brown, Cai and DasGupta 2001)"
UNSEEN = (
    "never less than what no difference in so many answers leaves open (Clopper and"
    " Pearson 1934)"
)
STUDENT = f"Student's t over trials{LOGIT}; {UNSEEN}"
BY_TRIALS = (
    "Student's t over the trials' percentiles, {freedom}, joined with the distance of"
    " their mean from the percentile of all values and with the instrument's budget"
)
RANKS = (
    "order statistics of the only trial's values (David and Nagaraja 7.1), with the"
    " instrument's budget; what differs from trial to trial is not in it"
)
_OWN = "; each trial had samples of its own, so their choice is in it"
ONE_TRIAL = "one trial does not tell what differs from trial to trial"
A_BOUND = "it is a bound itself: the percentile lies above it with at most 1 %"


def value(single: Sequence[Metric]) -> float:
    """Return a metric's value over all trials: the mean, or for a percentile that of
    all values together.
    """
    percent = single[0].percent
    return (
        mean([metric.value for metric in single])
        if percent is None
        else percentile(pooled(single), percent)
    )


def interval(single: Sequence[Metric], budget: Budget | None, shared: bool) -> Interval:
    """Return the interval of a metric from its values in all trials and its budget;
    `shared`: all had the same samples.
    """
    at = value(single)
    own = "" if shared or len(single) == 1 else _OWN
    if not all(math.isfinite(metric.value) for metric in single):
        return Interval.missing("not every trial has a value")
    if single[0].statistic is Statistic.SHARE:
        return _share(single, at, own)
    if single[0].statistic is Statistic.PERCENTILE:
        return _percentile(single, at, budget, own)
    if budget is None:
        return Interval.missing(
            ONE_TRIAL if len(single) == 1 else "its budget is not known", GUM
        )
    units = f"{len(single)} trials" if len(single) > 1 else "1 trial"
    even = Interval.around(
        at, budget.standard_uncertainty, budget.coverage_factor, GUM + own, units
    )
    return in_bounds(even, at, single) if single[0].bounded else even


def in_bounds(even: Interval, at: float, single: Sequence[Metric]) -> Interval:
    """Return an interval between 0 and 1 with ends at equal distances on the logit
    scale.

    That of an area, the share of pairs that are in order, is at least as wide as what
    no difference in so many answers leaves open: a pair stays if both of its answers
    do.
    """
    ends = by_logit(at, even.expanded_uncertainty or 0.0)
    method = even.method + LOGIT
    if single[0].statistic is Statistic.AREA:
        answers = sum(metric.n for metric in single)
        ends = hull(ends, unchanged(at, answers / 2))
        method = f"{method}; {UNSEEN}"
    return Interval(
        *ends,
        method,
        even.units,
        standard_uncertainty=even.standard_uncertainty,
    )


def _share(single: Sequence[Metric], at: float, own: str) -> Interval:
    answers = sum(metric.n for metric in single)
    error = standard_error([metric.value for metric in single])
    if error is None:
        return Interval.missing(ONE_TRIAL, STUDENT)
    if not answers:
        return Interval.missing("nothing was counted", STUDENT)
    ends = share_ends(at, student(len(single) - 1) * error, answers)
    return Interval(*ends, STUDENT + own, f"{len(single)} trials")


def share_ends(at: float, half: float, answers: float) -> tuple[float, float]:
    """Return the ends of a share of so many answers by its half-width, at least as wide
    as the exact interval of a difference that was missed.
    """
    return hull(by_logit(at, half), unchanged(at, answers))


def _percentile(
    single: Sequence[Metric], at: float, budget: Budget | None, own: str
) -> Interval:
    percent = single[0].percent
    if percent is None:
        return Interval.missing(A_BOUND)
    least = min(metric.n for metric in single)
    if least < needed(percent):
        return Interval.missing(
            f"{least} values a trial, the percentile needs {needed(percent)}"
        )
    if len(single) == 1:
        values = pooled(single)
        low, high = places(len(values), percent / 100)
        ends = widened(at, values[low - 1], values[high - 1], budget)
        return Interval(*ends, RANKS, f"{len(values)} values")
    of_trials = [metric.value for metric in single]
    half = student(len(single) - 1) * (standard_error(of_trials) or 0.0)
    # The percentile of few values is biased; that of all values together less so.
    half = math.hypot(
        half, at - mean(of_trials), 0.0 if budget is None else budget.expanded
    )
    freedom = len(single) - 1
    known = "one degree of freedom" if freedom == 1 else f"{freedom} degrees of freedom"
    method = BY_TRIALS.format(freedom=known) + own
    return Interval(at - half, at + half, method, f"{len(single)} trials")


def needed(percent: float) -> int:
    """Return the number of values per trial that a percentile's interval needs: 6 for a
    median, 36 for the 90th, 368 for the 99th.
    """
    return math.ceil(math.log(0.025) / math.log(max(percent, 100 - percent) / 100))


def widened(
    at: float, low: float, high: float, budget: Budget | None
) -> tuple[float, float]:
    """Add the uncertainty of instrument and time base in quadrature to both ends of an
    interval around `at`.
    """
    systematic = 0.0 if budget is None else budget.expanded
    return at - math.hypot(at - low, systematic), at + math.hypot(high - at, systematic)
