# SPDX-License-Identifier: Apache-2.0
"""Values of one metric, one for each search of all trials, and both intervals of its
mean over searches. Pure.

A search is one workload and one solver seed. The scatter of searches of one workload is
pooled over workloads, for other searches of the same ones; that of the means of
workloads over cells, for other workloads. The second has the first in it, and its
interval contains the other one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rig.model.effects import COMMON, OWN, Effect
from rig.model.trial import Window
from rig.stats.containing import Variance
from rig.stats.coverage_factor import coverage_factor
from rig.stats.interval import Interval, Intervals
from rig.stats.share_mean import ShareRange
from rig.stats.summary import NORMAL_95, mean
from scenarios.optimization import mean_interval
from scenarios.optimization.design import SEARCHES_LEAST, WORKLOADS_LEAST, Design
from scenarios.optimization.mean_interval import MeanEnds, Searched, ValueKind

BUDGET = ", with the budget of instrument and time base"
#: Ends are rounded to so many digits, so that they are the same on every machine.
_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The value of one search of one trial: at least `low` and at most `high`, and what
    makes that uncertain, by component; `bounds` are those of any search of its
    workload, None: not known.
    """

    trial: int
    cell: str
    workload: int
    seed: int
    value: float
    low: float
    high: float
    effects: Mapping[str, tuple[Effect, float]] = field(default_factory=dict)
    bounds: ShareRange | None = None

    @property
    def bounded(self) -> bool:
        """Whether the value is not known but for its bounds."""
        return self.low < self.high


def effects_of(
    window: Window, change: Callable[[Effect], float]
) -> dict[str, tuple[Effect, float]]:
    """Return what each component does to a value that changes so with the window."""
    return {
        name: (effect, change(effect)) for name, effect in window.effects.of.items()
    }


def of_mean(values: Sequence[Value], kind: ValueKind) -> Intervals:
    """Return both intervals of the mean of all values."""
    design = design_of((one.cell, one.workload, one.seed, one.trial) for one in values)
    # Student's t is honest with one degree of freedom, and of use where values hardly
    # differ.
    plain = kind is ValueKind.ANY
    uneven = design.why_uneven
    searched = [] if uneven else [_searched(values, read) for read in _readings(values)]
    why_not_same = uneven or design.why_not_same(1 if plain else SEARCHES_LEAST)
    why_not_other = uneven or design.why_not_other(1 if plain else WORKLOADS_LEAST)
    same_samples = (
        Interval.missing(why_not_same)
        if why_not_same
        else _stated(values, searched, kind, False, design.same_units)
    )
    other_samples = (
        Interval.missing(why_not_other)
        if why_not_other
        else _stated(values, searched, kind, True, design.other_units)
    )
    return Intervals(
        same_samples,
        other_samples,
    )


def design_of(searches: Iterable[tuple[str, int, int, int]]) -> Design:
    """Count workloads, seeds, searches and trials, from cell, workload, seed and trial
    of each search."""
    all_of = list(searches)
    cells = {workload: cell for cell, workload, _, _ in all_of}
    searched_seeds = {(workload, seed) for _, workload, seed, _ in all_of}
    seeds = Counter(workload for workload, _ in searched_seeds)
    workloads = dict(Counter(cells.values()))
    trials = len({trial for _, _, _, trial in all_of})
    return Design(
        workloads=workloads,
        seeds=tuple(seeds.values()),
        searches=len(all_of),
        trials=trials,
    )


Reading = Callable[[Value], float]


def _searched(values: Sequence[Value], read: Reading) -> Searched:
    """Return values by workload, each seed once, as trials that repeat it are averaged;
    and the means of workloads by cell.
    """
    of: dict[int, dict[int, list[float]]] = {}
    cell_of: dict[int, str] = {}
    bounds: dict[int, ShareRange | None] = {}
    for value in sorted(values, key=lambda one: one.workload):
        of.setdefault(value.workload, {}).setdefault(value.seed, []).append(read(value))
        cell_of[value.workload] = value.cell
        bounds[value.workload] = value.bounds
    workloads = [list(map(mean, seeds.values())) for seeds in of.values()]
    cells: dict[str, list[float]] = {}
    for workload, own in zip(of, workloads, strict=True):
        cells.setdefault(cell_of[workload], []).append(mean(own))
    return mean_interval.searched(
        workloads, list(cells.values()), list(bounds.values())
    )


def _readings(values: Sequence[Value]) -> list[Reading]:
    """Return how to read each value: as it is, and, where bounds are all that is known,
    at both of them.
    """
    if not any(one.bounded for one in values):
        return [lambda one: one.value]
    return [lambda one: one.low, lambda one: one.high]


def _stated(
    values: Sequence[Value],
    searched: Sequence[Searched],
    kind: ValueKind,
    others: bool,
    units: str,
) -> Interval:
    """Return the interval with the ends of all readings in it, and the budget to both
    sides."""
    ends_of = mean_interval.other_ends if others else mean_interval.same_ends
    known = [ends for one in searched if (ends := ends_of(one, kind)) is not None]
    if not known:
        return Interval.missing(
            f"not known: all {len(values)} values are equal", mean_interval.STUDENT
        )
    at = mean([one.value for one in values])
    limits = mean_interval.limits_of(searched[-1], kind, others)
    budget = systematic(values)
    low = at - math.hypot(at - min(at, *(each.low for each in known)), budget)
    high = at + math.hypot(max(at, *(each.high for each in known)) - at, budget)
    method = known[-1].method + (BUDGET if budget else "")
    early = sum(one.bounded for one in values)
    if early:
        method += (
            f"; {early} of {len(values)} values are known by their bounds, the ends"
            " hold for both"
        )
    ends = MeanEnds(max(low, limits.least), min(high, max(limits.most, at)), method)
    if kind is ValueKind.SKEWED:
        ends = mean_interval.without_far_end(ends, at, limits)
    spread = mean_interval.spread(searched, kind, others)
    return Interval(
        _rounded(ends.low),
        _rounded(ends.high),
        ends.method,
        units,
        standard_uncertainty=_with_budget(spread, budget),
        degrees_of_freedom=None if spread is None else spread.freedom,
    )


def _with_budget(spread: Variance | None, budget: float) -> float | None:
    """Return the standard uncertainty of a mean with that of instrument and time
    base."""
    if spread is None:
        return None
    return _rounded(math.hypot(math.sqrt(spread.value), budget / NORMAL_95))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS - 1}e}")


def systematic(values: Sequence[Value]) -> float:
    """Compute the 95 % half-width of the error of instrument and time base in the mean,
    without the part that is independent between searches.

    That part is in the scatter of the searches; where they hardly differ, it is added.
    """
    parts: dict[tuple[str, int], list[tuple[Effect, float]]] = {}
    for one in values:
        for name, pair in one.effects.items():
            trial = 0 if pair[0].kind == COMMON else one.trial
            parts.setdefault((name, trial), []).append(pair)
    known = []
    own = 0.0
    for pairs in parts.values():
        effect = pairs[0][0]
        total = math.fsum(change for _, change in pairs) / len(values)
        if effect.kind == OWN:
            own += math.fsum(change**2 for _, change in pairs) / len(values) ** 2
        else:
            known.append((abs(total), effect.shape))
    if own:
        known.append((math.sqrt(own), "normal"))
    combined = math.hypot(*(size for size, _ in known))
    return coverage_factor(known) * combined if combined else 0.0
