# SPDX-License-Identifier: Apache-2.0
"""Leaderboards: the sessions of one task and scenario side by side, for each headline
metric in the order of their values.

A rank is one more than the number of sessions that are shown to be better, by intervals
that lie wholly beyond its own: sessions without a shown difference share one. For ranks
the intervals of a metric are so wide that all of them hold together in 95 % of cases
(Bonferroni), so that no order among many sessions is one of chance; where a session
knows an interval at 95 % alone, the ranks of that metric are of the 95 % intervals, and
the board says so. Simulated sessions have boards of their own, as their numbers are no
results of a device. Sessions whose values of a metric are no values of one quantity, by
the rule of `rig compare`, have no ranks among each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from rig.api.archive.collected import Collected
from rig.api.comparing.comparable import facts, obstacle
from rig.api.comparing.metric_pairs import held_together
from rig.model.metric import Prominence, Statistic
from rig.results.document import IntervalResult, MetricResult
from rig.results.stated import ends, shown_interval, stated

#: From this ratio of the largest to the least value on, bars are logarithmic.
_WIDE = 50.0
#: An axis with decades begins so far below its least value that this has a bar.
_BELOW = 0.7
_BETTER = {True: "higher is better", False: "lower is better", None: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardCell:
    """A metric of a session: as text, its place in the order, its rank (None where
    there is none), and value and ends of the interval on the axis, in per cent.
    `obstacle` is why it has no rank among the others: it is another quantity.
    """

    value: str
    unit: str
    interval: str
    number: str
    reason: str
    obstacle: str
    place: int
    rank: int | None
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardMetric:
    """A metric of a board: which direction is better, the question that its intervals
    answer, whether its bars are logarithmic, and whether its ranks hold together.
    """

    name: str
    better: str
    question: str
    is_logarithmic: bool
    is_corrected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The sessions of one task and scenario, in the order of the first metric, and the
    cells of each by metric.
    """

    task: str
    scenario: str
    simulated: bool
    metrics: tuple[BoardMetric, ...]
    rows: tuple[tuple[Collected, dict[str, BoardCell]], ...]


def boards(sessions: Sequence[Collected]) -> list[Leaderboard]:
    """Return a board for each task and scenario, of measurements first."""
    groups: dict[tuple[bool, str, str], list[Collected]] = {}
    for each in sessions:
        if each.results is not None:
            told = each.results
            key = (told.simulated, told.task, told.scenario)
            groups.setdefault(key, []).append(each)
    return [_board(*key, groups[key]) for key in sorted(groups)]


def _board(
    simulated: bool, task: str, scenario: str, sessions: Sequence[Collected]
) -> Leaderboard:
    names = list(dict.fromkeys(chain.from_iterable(map(_headlines, sessions))))
    cells: list[dict[str, BoardCell]] = [{} for _ in sessions]
    metrics = []
    for name in names:
        obstacles = _obstacles(name, sessions)
        metrics.append(_metric(name, sessions, obstacles))
        column = _column(name, sessions, obstacles, metrics[-1].is_logarithmic)
        for of_session, cell in zip(cells, column, strict=True):
            of_session[name] = cell
    rows = list(zip(sessions, cells, strict=True))
    if names:
        rows.sort(key=lambda row: row[1][names[0]].place)
    return Leaderboard(
        task=task,
        scenario=scenario,
        simulated=simulated,
        metrics=tuple(metrics),
        rows=tuple(rows),
    )


def _headlines(session: Collected) -> Iterator[str]:
    if session.results is not None:
        for name, metric in session.results.metrics.items():
            if metric.prominence is Prominence.HEADLINE:
                yield name


def _found(name: str, session: Collected) -> MetricResult | None:
    """Return a metric that has a value."""
    metric = session.results.metrics.get(name) if session.results else None
    return metric if metric is not None and _finite(metric.value) else None


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _obstacles(name: str, sessions: Sequence[Collected]) -> list[str]:
    """Return why the metric of each session has no rank: `rig compare` would not
    compare it with those of the largest group of sessions that it compares. Empty for
    the sessions of this group, and for those that have no rank for another reason.
    """
    # Of the sessions with equal facts the first one stands for all.
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, each in enumerate(sessions):
        metric = _found(name, each)
        if each.counts and metric is not None and each.results is not None:
            key = (metric.unit, *facts(each.results))
            alike.setdefault(key, []).append(at)
    groups: list[list[list[int]]] = []
    for members in alike.values():
        new = sessions[members[0]]
        for group in groups:
            if not any(_obstacle(name, sessions[each[0]], new) for each in group):
                group.append(members)
                break
        else:
            groups.append([members])
    reasons = [""] * len(sessions)
    if len(groups) < 2:
        return reasons
    largest = max(groups, key=_size)
    for group in groups:
        # A rank in a group of one session would say that it is the best of several.
        if group is largest and _size(group) > 1:
            continue
        # All groups have one session where the largest one is among these.
        others = largest if group is not largest else groups[1]
        for members in group:
            new = sessions[members[0]]
            found = (_obstacle(name, sessions[each[0]], new) for each in others)
            reason = next(filter(None, found), "")
            for at in members:
                reasons[at] = reason
    return reasons


def _size(group: Sequence[Sequence[int]]) -> int:
    """Return the number of sessions of a group."""
    return sum(map(len, group))


def _obstacle(name: str, one: Collected, other: Collected) -> str:
    """Return why a metric of two sessions is not compared; empty where it is."""
    metrics = _found(name, one), _found(name, other)
    if metrics[0] is None or metrics[1] is None:
        return ""
    if metrics[0].unit != metrics[1].unit:
        return f"the units differ: {metrics[0].unit}; {metrics[1].unit}"
    assert one.results is not None and other.results is not None
    return obstacle(one.results, other.results, metrics[0].unit)


def _metric(
    name: str, sessions: Sequence[Collected], obstacles: Sequence[str]
) -> BoardMetric:
    found = [metric for each in sessions if (metric := _found(name, each))]
    directions = {metric.higher_is_better for metric in found}
    better = _BETTER[directions.pop()] if len(directions) == 1 else ""
    shares = {metric.statistic is Statistic.SHARE for metric in found}
    question = "other samples" if shares == {True} else "the same samples again"
    values = [metric.value for metric in found if metric.value is not None]
    least = min(values, default=0.0)
    wide = least > 0 and max(values) / least > _WIDE
    is_corrected = _are_wider(_ranked(name, sessions, obstacles))
    return BoardMetric(
        name=name,
        better=better,
        question=question,
        is_logarithmic=wide,
        is_corrected=is_corrected,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """The range of the bars of a metric."""

    least: float
    most: float
    is_logarithmic: bool

    @classmethod
    def of(cls, found: Sequence[MetricResult], is_logarithmic: bool) -> _Axis:
        values = [metric.value or 0.0 for metric in found]
        highs = [shown_interval(metric).high or 0.0 for metric in found]
        lows = [shown_interval(metric).low or 0.0 for metric in found]
        most = max(filter(math.isfinite, (*values, *highs)), default=0.0)
        if is_logarithmic:
            return cls(_BELOW * min(values), most, True)
        if any(metric.statistic is Statistic.SHARE for metric in found):
            most = max(most, 1.0)
        least = min(filter(math.isfinite, (*values, *lows)), default=0.0)
        return cls(min(least, 0.0), max(most, 0.0), False)

    def place(self, value: float | None) -> float | None:
        """Return the place of a value in per cent."""
        if value is None or not math.isfinite(value) or self.most <= self.least:
            return None
        least, most, at = self.least, self.most, value
        if self.is_logarithmic:
            if value <= 0:
                return 0.0
            least, most, at = (math.log10(each) for each in (least, most, value))
        return round(min(max((at - least) / (most - least), 0.0), 1.0) * 100, 2)


def _column(
    name: str,
    sessions: Sequence[Collected],
    obstacles: Sequence[str],
    is_logarithmic: bool,
) -> list[BoardCell]:
    """Return the cells of a metric, in the order of the sessions."""
    found = [_found(name, each) for each in sessions]
    axis = _Axis.of([metric for metric in found if metric], is_logarithmic)
    ranks = _ranks(name, sessions, obstacles)
    are_ranked = any(rank is not None for rank in ranks)
    keys = []
    for at, (session, metric) in enumerate(zip(sessions, found, strict=True)):
        is_unranked = are_ranked and ranks[at] is None
        is_ordered = not obstacles[at]
        key = _key(session, metric, is_unranked=is_unranked, is_ordered=is_ordered)
        keys.append(key)
    order = sorted(range(len(sessions)), key=keys.__getitem__)
    cells = []
    for at, metric in enumerate(found):
        cell = _cell(metric, axis, place=order.index(at), rank=ranks[at])
        cells.append(replace(cell, obstacle=obstacles[at]))
    return cells


def _key(
    session: Collected,
    metric: MetricResult | None,
    *,
    is_unranked: bool,
    is_ordered: bool,
) -> tuple[bool, bool, bool, float]:
    """Sort the best first, then sessions without a rank where others have one, then
    those without a value, then invalid ones. Values that are not `is_ordered` keep the
    order of the sessions.
    """
    value = 0.0 if metric is None or metric.value is None else metric.value
    sign = -1 if metric is not None and metric.higher_is_better else 1
    ordered = sign * value if is_ordered else 0.0
    return not session.counts, metric is None, is_unranked, ordered


#: The ends of an interval.
_Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A metric of a session that has a rank: its 95 % interval, and the one that holds
    together with those of the other sessions; None where that is not known.
    """

    higher_is_better: bool
    alone: _Ends
    together: _Ends | None

    def is_beaten_by(self, other: _Ranked, *, together: bool) -> bool:
        """Check whether the interval of `other` lies wholly on the better side."""
        ends = [
            each.together if together and each.together else each.alone
            for each in (self, other)
        ]
        worse, better = ends if self.higher_is_better else ends[::-1]
        return better[0] > worse[1]


def _ranked(
    name: str, sessions: Sequence[Collected], obstacles: Sequence[str]
) -> list[_Ranked | None]:
    """Return the metric of each session that has a rank, else None."""
    found = []
    for each, why_not in zip(sessions, obstacles, strict=True):
        has_rank = each.counts and not why_not
        found.append(_found(name, each) if has_rank else None)
    counted = [metric if metric and _is_known(metric) else None for metric in found]
    count = sum(metric is not None for metric in counted)
    return [
        None if metric is None else _ranked_metric(metric, count) for metric in counted
    ]


def _is_known(metric: MetricResult) -> bool:
    return metric.higher_is_better is not None and not shown_interval(metric).reason


def _ranked_metric(metric: MetricResult, count: int) -> _Ranked:
    interval = shown_interval(metric)
    low = -math.inf if interval.low is None else interval.low
    high = math.inf if interval.high is None else interval.high
    together = held_together(metric, interval, count)
    return _Ranked(
        higher_is_better=metric.higher_is_better is True,
        alone=(low, high),
        together=together,
    )


def _are_wider(ranked: Sequence[_Ranked | None]) -> bool:
    """Check whether the ranks of a metric are of intervals that hold together."""
    known = [each for each in ranked if each is not None]
    return len(known) < 2 or all(each.together is not None for each in known)


def _ranks(
    name: str, sessions: Sequence[Collected], obstacles: Sequence[str]
) -> list[int | None]:
    ranked = _ranked(name, sessions, obstacles)
    together = _are_wider(ranked)
    others = [each for each in ranked if each is not None]
    ranks: list[int | None] = []
    for own in ranked:
        if own is None:
            ranks.append(None)
            continue
        better = sum(own.is_beaten_by(each, together=together) for each in others)
        ranks.append(1 + better)
    return ranks


def _cell(
    metric: MetricResult | None, axis: _Axis, *, place: int, rank: int | None
) -> BoardCell:
    if metric is None:
        return BoardCell(
            value="–",
            unit="",
            interval="",
            number="",
            reason="",
            obstacle="",
            place=place,
            rank=None,
            at=None,
            low=None,
            high=None,
        )
    text = stated(metric)
    interval: IntervalResult = shown_interval(metric)
    return BoardCell(
        value=text.value,
        unit=text.unit,
        interval=ends(interval, metric.value, text.factor),
        number=repr(metric.value),
        reason=interval.reason,
        obstacle="",
        place=place,
        rank=rank,
        at=axis.place(metric.value),
        low=axis.place(interval.low),
        high=axis.place(interval.high),
    )
