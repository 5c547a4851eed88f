# SPDX-License-Identifier: Apache-2.0
"""Values of one metric, one for each search of all trials, and both intervals of its mean over
searches. Pure.

A search is one workload and one solver seed. Other searches of the same workloads are rounds: the
first of each workload, the second, and so on; each round has a mean, and rounds are independent
whatever the workloads are. Other workloads of the same cells are told in the same way from the
means of the workloads: the first one of each cell, the second, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from rig.model.effects import COMMON, OWN, Effect
from rig.model.trial import Window
from rig.stats import few_values
from rig.stats.coverage_factor import coverage_factor
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import mean

BUDGET = ", with the budget of instrument and time base"


class ValueKind(Enum):
    """Kinds of values: any number, a time or an energy (skewed, not negative), or within 0 and
    1.
    """

    ANY = "any"
    TIME = "time"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one search of one trial: at least `low` and at most `high`, and what makes that
    uncertain, by component.
    """

    trial: int
    cell: str
    workload: int
    seed: int
    value: float
    low: float
    high: float
    effects: Mapping[str, tuple[Effect, float]] = field(default_factory=dict)

    @property
    def bounded(self) -> bool:
        """Return whether the value is not known but for its bounds."""
        return self.low < self.high


def effects_of(
    window: Window, change: Callable[[Effect], float]
) -> dict[str, tuple[Effect, float]]:
    """Return what each component does to a value that changes so with the window."""
    return {name: (effect, change(effect)) for name, effect in window.effects.of.items()}


def of_mean(values: Sequence[Value], kind: ValueKind) -> Intervals:
    """Return both intervals of the mean of all values."""
    budget = systematic(values)
    return Intervals(
        _stated(values, by_workload, kind, budget, _same_units(values), _why_not_same(values)),
        _stated(
            values,
            by_cell,
            kind,
            budget,
            _workloads(values),
            "each cell has one workload: others cannot be told from it",
        ),
    )


Reading = Callable[[Value], float]
Strata = Mapping[Hashable, Sequence[float]]


def by_workload(values: Sequence[Value], read: Reading) -> Strata:
    """Return for each workload the values of its searches, each seed once: trials that repeat it
    are averaged.
    """
    found: dict[Hashable, dict[int, list[float]]] = {}
    for value in values:
        found.setdefault(value.workload, {}).setdefault(value.seed, []).append(read(value))
    return {workload: [mean(each) for each in seeds.values()] for workload, seeds in found.items()}


def by_cell(values: Sequence[Value], read: Reading) -> Strata:
    """Return for each cell the means of its workloads."""
    cells = {value.workload: value.cell for value in values}
    found: dict[Hashable, list[float]] = {}
    for workload, own in sorted(by_workload(values, read).items(), key=lambda pair: str(pair[0])):
        assert isinstance(workload, int)
        found.setdefault(cells[workload], []).append(mean(own))
    return found


def _stated(
    values: Sequence[Value],
    strata: Callable[[Sequence[Value], Reading], Strata],
    kind: ValueKind,
    budget: float,
    units: str,
    alone: str,
) -> Interval:
    counts = {len(own) for own in strata(values, lambda one: one.value).values()}
    if len(counts) > 1:
        return Interval.missing("not all were searched equally often")
    if counts == {1}:
        return Interval.missing(alone)
    at = mean([one.value for one in values])
    method = few_values.FOURTH_ROOT if kind is ValueKind.TIME else few_values.STUDENT
    method += BUDGET if budget else ""
    ends = [_ends(_rounds(strata(values, read)), kind) for read in _readings(values)]
    if not all(ends) and kind is ValueKind.ANY:
        return Interval.missing(
            f"the means of all {counts.pop()} are equal: their scatter tells nothing", method
        )
    if not all(ends):
        return _of_equal(at, sum(map(len, strata(values, lambda one: one.value).values())), units)
    lows, highs = zip(*(end for end in ends if end is not None), strict=True)
    low = at - math.hypot(at - min(*lows, at), budget)
    high = at + math.hypot(max(*highs, at) - at, budget)
    if kind is ValueKind.SHARE:
        low = max(low, 0.0)
        high = min(high, 1.0)
    early = sum(one.bounded for one in values)
    method += (
        f"; {early} of {len(values)} values are known by their bounds, the ends hold for both"
        if early
        else ""
    )
    return Interval(max(low, 0.0) if kind is ValueKind.TIME else low, high, method, units)


def _readings(values: Sequence[Value]) -> list[Reading]:
    """Return how to read each value: as it is, and, where bounds are all that is known, at both of
    them.
    """
    if not any(one.bounded for one in values):
        return [lambda one: one.value]
    return [lambda one: one.low, lambda one: one.high]


def _rounds(strata: Strata) -> list[float]:
    return [mean(column) for column in zip(*strata.values(), strict=True)]


def _ends(rounds: Sequence[float], kind: ValueKind) -> tuple[float, float] | None:
    """Return the ends of the mean's interval; None where equal values determine no interval, as
    costs and shares may be by accident.
    """
    if kind is not ValueKind.TIME and max(rounds) == min(rounds):
        return None
    return few_values.of_times(rounds) if kind is ValueKind.TIME else few_values.of_any(rounds)


def _of_equal(at: float, count: int, units: str) -> Interval:
    """Return the interval of a mean of values within 0 and 1 that were all equal: so rare another
    one may be, but as far off.
    """
    others = 1 - 0.025 ** (1 / count)
    method = (
        "all were equal: others may be as rare as so many equal ones allow (Clopper and "
        "Pearson 1934), anywhere from 0 to 1"
    )
    return Interval(at * (1 - others), at + others * (1 - at), method, units)


def systematic(values: Sequence[Value]) -> float:
    """Return the half-width of 95 % of what instrument and time base do to the mean: all but what
    is independent from search to search.

    That is in the scatter of the searches, but where they hardly differ: then it counts.
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


def _why_not_same(values: Sequence[Value]) -> str:
    trials = len({one.trial for one in values})
    seeds = len({(one.workload, one.seed) for one in values})
    if trials > 1 and seeds < len(values):
        return (
            "every trial repeats the same search of each workload (reseed = false): other "
            "solver seeds are not known"
        )
    return (
        "each workload was searched once: more trials or attempts tell what other solver seeds give"
    )


def _same_units(values: Sequence[Value]) -> str:
    each = max(map(len, by_workload(values, lambda one: one.value).values()), default=0)
    return f"{each} solver seeds of each of {_workloads(values)}"


def _workloads(values: Sequence[Value]) -> str:
    count = len({one.workload for one in values})
    return f"{count} workload{'s' if count != 1 else ''}"
