# SPDX-License-Identifier: Apache-2.0
"""Intervals of searches that succeed or fail: their share, the time with repetitions,
the median time. Pure.

For the same workloads with other seeds: the exact interval of the count, which holds at
least its level also where workloads differ (Hoeffding, Annals of Mathematical
Statistics 27, 1956, 713). For other workloads: searches of one workload are correlated,
so the interval is that of the effective number of independent searches (Korn and
Graubard, Survey Methodology 24, 1998, 193).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rig.stats.binomial import Share, effective_size, places
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import mean
from rig.stats.time_to_target import Attempt, quantile, time_to_solution_s
from scenarios.optimization.design import Design
from scenarios.optimization.values import design_of

EXACT = (
    "Clopper and Pearson 1934 on all searches, which is wide enough where workloads"
    " differ (Hoeffding 1956)"
)
CLUSTERED = (
    "Clopper and Pearson with the effective number of searches, workloads as clusters "
    "(Korn and Graubard 1998)"
)
AT_LIMIT = (
    "; one search is enough by the upper end of the share: the lower end is"
    " target_limit_s, a setting, and is left out"
)
TTS99 = (
    "the ends of the share of success as times, limit ln(0.01) / ln(1 - share) (Ronnow"
    " et al. 2014): "
)
RANKS = "order statistics, searches without success as endless (David and Nagaraja 7.1)"
CLUSTERED_RANKS = (
    "order statistics with the effective number of searches (Woodruff 1952; Korn and"
    " Graubard 1998)"
)


@dataclass(frozen=True, slots=True)
class TriedSearches:
    """A search toward a gap: cell, workload and seed; its time, or its limit where it
    did not reach the gap."""

    cell: str
    workload: int
    seed: int
    time_s: float
    reached: bool


def distinct(tried: Sequence[TriedSearches]) -> list[TriedSearches]:
    """Join trials that repeat a search: the mean of their times; the search succeeded
    where at least half of them did."""
    workloads: dict[tuple[int, int], list[TriedSearches]] = {}
    for one in tried:
        workloads.setdefault((one.workload, one.seed), []).append(one)
    return [_averaged(repeated) for repeated in workloads.values()]


def _averaged(repeated: Sequence[TriedSearches]) -> TriedSearches:
    reached = sum(one.reached for one in repeated)
    time_s = mean([one.time_s for one in repeated])
    return replace(
        repeated[0],
        time_s=time_s,
        reached=2 * reached >= len(repeated),
    )


def of_success(tried: Sequence[TriedSearches]) -> Intervals:
    """Compute both intervals of the share of successful searches."""
    searches = distinct(tried)
    count = sum(one.reached for one in searches)
    same = Interval(
        *Share(count, len(searches)).interval(), EXACT, f"{len(searches)} searches"
    )
    design = _design(searches)
    if why := design.why_not_other():
        return Intervals(same, Interval.missing(why, CLUSTERED))
    size = _effective(searches, lambda one: one.reached, count / len(searches))
    ends = Share(size * count / len(searches), size).interval()
    other = Interval(*ends, CLUSTERED, design.other_units)
    return Intervals(same, _around(other, same))


def of_tts99(tried: Sequence[TriedSearches], limit_s: float) -> Intervals:
    """Return both intervals of the time with repetitions: the ends of the share, the
    higher one first. An end at the limit itself is a setting and no end.
    """
    share = of_success(tried)
    return Intervals(
        _as_times(share.same_samples, limit_s), _as_times(share.other_samples, limit_s)
    )


def tts99_s(tried: Sequence[TriedSearches], limit_s: float) -> float:
    """Compute the time with repetitions from the share of all searches; infinite where
    none succeeded, NaN where one search is enough: the time is then the limit, a
    setting."""
    found_s = time_to_solution_s(
        limit_s, sum(one.reached for one in tried) / len(tried)
    )
    return found_s if found_s > limit_s else math.nan


def of_median(tried: Sequence[TriedSearches], budget_s: float) -> Intervals:
    """Compute both intervals of the median time; `budget_s` is the 95 % error of
    instrument and time base."""
    searches = distinct(tried)
    attempts = [Attempt(one.time_s, one.reached) for one in searches]
    median = quantile(attempts, 0.5)
    if not median.low_s:
        same = Interval.missing(f"{len(searches)} searches: a median needs 6", RANKS)
    else:
        same = _widened(
            median.value_s,
            (median.low_s, median.high_s),
            budget_s,
            method=RANKS,
            units=f"{len(searches)} searches",
        )
    other = _clustered_median(searches, median.value_s, budget_s)
    return Intervals(
        same, _around(other, same) if same.known and other.known else other
    )


def _design(searches: Sequence[TriedSearches]) -> Design:
    return design_of((one.cell, one.workload, one.seed, 0) for one in searches)


def _around(other: Interval, same: Interval) -> Interval:
    """Widen the interval for other workloads to contain that for the same ones: ranks
    and effective numbers are rounded."""
    low = min(other.low, same.low)
    return replace(other, low=low, high=max(other.high, same.high))


def _as_times(share: Interval, limit_s: float) -> Interval:
    if not share.known:
        return share
    low_s, high_s = (
        time_to_solution_s(limit_s, end) for end in (share.high, share.low)
    )
    method = TTS99 + share.method
    if low_s > limit_s:
        return Interval(low_s, high_s, method, share.units)
    return Interval(-math.inf, high_s, method + AT_LIMIT, share.units)


def _effective(
    searches: Sequence[TriedSearches], so: Callable[[TriedSearches], bool], share: float
) -> float:
    """Compute the number of independent searches that estimate a share as precisely;
    each cell has two workloads or more.

    Where all or none succeeded, the correlation within a workload is unknown, and the
    number of searches is taken.
    """
    cells: dict[str, dict[int, list[bool]]] = {}
    for one in searches:
        cells.setdefault(one.cell, {}).setdefault(one.workload, []).append(so(one))
    count = sum(map(len, cells.values()))
    if not 0 < share < 1:
        return float(count)
    variance = 0.0
    for workloads in cells.values():
        # Totals less what as many searches of this cell have on average: a workload
        # that was searched more often weighs more.
        successes = sum(sum(outcomes) for outcomes in workloads.values())
        own = successes / sum(map(len, workloads.values()))
        away = [sum(outcomes) - own * len(outcomes) for outcomes in workloads.values()]
        variance += len(away) / (len(away) - 1) * math.fsum(each**2 for each in away)
    return effective_size(
        share, variance / len(searches) ** 2, len(searches), count - len(cells)
    )


def _clustered_median(
    searches: Sequence[TriedSearches], value_s: float | None, budget_s: float
) -> Interval:
    design = _design(searches)
    if why := design.why_not_other():
        return Interval.missing(why, CLUSTERED_RANKS)
    if value_s is None:
        value_s = math.inf
    below = sum(one.reached and one.time_s <= value_s for one in searches) / len(
        searches
    )
    size = _effective(
        searches, lambda one: one.reached and one.time_s <= value_s, below
    )
    count = math.floor(size)
    low, high = places(count, 0.5)
    each = len(searches) / count
    least = sorted(one.time_s for one in searches)
    most = sorted(one.time_s if one.reached else math.inf for one in searches)
    # Workloads that tell as much as fewer than six searches give no bound. That follows
    # from the values, so the interval is stated: withheld, the others would hold the
    # truth less often.
    low_s = least[math.floor((low - 0.5) * each + 0.5) - 1] if low else 0.0
    if high <= count:
        high_s = most[math.ceil((high - 0.5) * each + 0.5) - 1]
    else:
        high_s = math.inf
    return _widened(
        value_s,
        (low_s, high_s),
        budget_s,
        method=CLUSTERED_RANKS,
        units=design.other_units,
    )


def _widened(
    value_s: float | None,
    ends_s: tuple[float, float],
    budget_s: float,
    *,
    method: str,
    units: str,
) -> Interval:
    """Add the error of instrument and time base in squares to both ends."""
    low_s, high_s = ends_s
    if value_s is None or not math.isfinite(value_s):
        return Interval(low_s, high_s, method, units)
    high = value_s + math.hypot(high_s - value_s, budget_s)
    return Interval(
        max(value_s - math.hypot(value_s - low_s, budget_s), 0.0),
        high,
        method,
        units,
    )
