# SPDX-License-Identifier: Apache-2.0
"""A metric of a finished session, and comparisons with a limit that know its
interval."""

from __future__ import annotations

import html
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from numbers import Real
from typing import TYPE_CHECKING, Any

from rig.errors import did_you_mean
from rig.results import stated
from rig.results.document import IntervalResult, MetricResult
from rig.results.labels import beside
from rig.results.verdict import Outcome
from rig.stats.interval import Interval
from rig.units import ends, not_known, quantity, scale

if TYPE_CHECKING:
    import pandas

SAME_SAMPLES = "same_samples"
OTHER_SAMPLES = "other_samples"
_QUESTIONS = {SAME_SAMPLES: "measured again", OTHER_SAMPLES: "for other samples"}
HEADS = ("metric", "value", "unit", *_QUESTIONS.values())

#: The verdict on one metric in a word.
WORDS: dict[bool | None, str] = {
    True: Outcome.PASS.upper(),
    False: Outcome.FAIL.upper(),
    None: Outcome.NOT_TESTED.upper(),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of a comparison: true or false, and the text that says why."""

    ok: bool
    text: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class SessionMetric:
    """A metric as the session states it, in SI units.

    `standard_uncertainty` is the combined one (GUM): instrument, time base and scatter
    of the trials. None where the metric's interval is not made of one, as that of a
    percentile or a share. `same_samples` is the 95 % interval in which the value would
    lie if the same samples were measured again, `other_samples` the one for other
    samples of the same kind. `verdict` says whether the metric replicates by the
    session's rule; None where the rule does not look at it. `value` is NaN where there
    is none. `labels` are those of the session, such as SIMULATED.
    """

    name: str
    value: float
    unit: str
    standard_uncertainty: float | None
    same_samples: Interval
    other_samples: Interval
    per_trial: tuple[float, ...]
    verdict: bool | None
    higher_is_better: bool | None
    row: MetricResult | None = field(compare=False, default=None)
    labels: tuple[str, ...] = field(compare=False, default=())

    @classmethod
    def of(
        cls,
        name: str,
        row: MetricResult,
        verdict: bool | None,
        labels: tuple[str, ...] = (),
    ) -> SessionMetric:
        """Return a metric from its row of results.json."""
        same = _interval(row.same_samples)
        return cls(
            name=name,
            value=_number(row.value),
            unit=row.unit,
            standard_uncertainty=same.standard_uncertainty,
            same_samples=same,
            other_samples=_interval(row.other_samples),
            per_trial=tuple(_number(trial.value) for trial in row.per_trial),
            verdict=verdict,
            higher_is_better=row.higher_is_better,
            row=row,
            labels=labels,
        )

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __lt__(self, limit: object) -> bool:
        return self._compared(operator.lt, limit)

    def __le__(self, limit: object) -> bool:
        return self._compared(operator.le, limit)

    def __gt__(self, limit: object) -> bool:
        return self._compared(operator.gt, limit)

    def __ge__(self, limit: object) -> bool:
        return self._compared(operator.ge, limit)

    def surely_below(self, limit: float, interval: str = SAME_SAMPLES) -> Comparison:
        """Check whether the whole interval is below a limit: shown to be below."""
        return self._judged(
            limit, interval, "surely below", lambda known: known.high < limit
        )

    def surely_above(self, limit: float, interval: str = SAME_SAMPLES) -> Comparison:
        """Check whether the whole interval is above a limit: shown to be above."""
        return self._judged(
            limit, interval, "surely above", lambda known: known.low > limit
        )

    def possibly_below(self, limit: float, interval: str = SAME_SAMPLES) -> Comparison:
        """Check whether a part of the interval is below a limit: not shown to be
        above."""
        return self._judged(
            limit, interval, "possibly below", lambda known: known.low < limit
        )

    def possibly_above(self, limit: float, interval: str = SAME_SAMPLES) -> Comparison:
        """Check whether a part of the interval is above a limit: not shown to be
        below."""
        return self._judged(
            limit, interval, "possibly above", lambda known: known.high > limit
        )

    def statement(self) -> str:
        """Return value, both intervals and verdict in words, a line each."""
        judged = WORDS | {None: "NOT TESTED: the rule does not look at this metric"}
        lines = [
            f"{self.name} is {quantity(self.value, self.unit)}{beside(self.labels)}"
        ]
        lines += [
            f"{question}: {self._range(getattr(self, which))}"
            for which, question in _QUESTIONS.items()
        ]
        return "\n".join(
            [*lines, f"verdict of the session on it: {judged[self.verdict]}"]
        )

    def __repr__(self) -> str:
        expanded = self.same_samples.expanded_uncertainty
        other = f"{_QUESTIONS[OTHER_SAMPLES]} {self._range(self.other_samples)}"
        marked = beside(self.labels)
        if expanded is not None:
            return (
                f"{self.name} = {quantity(self.value, self.unit, expanded)},"
                f" {other}{marked}"
            )
        same = self._answer(SAME_SAMPLES)
        return (
            f"{self.name} = {quantity(self.value, self.unit)}, {same}, {other}{marked}"
        )

    def _repr_html_(self) -> str:
        return labels_html(self.labels) + table_html(HEADS, [cells(self)])

    def _compared(self, compare: Callable[[float, float], Any], limit: object) -> bool:
        if not isinstance(limit, Real):
            return NotImplemented  # type: ignore[no-any-return]
        return bool(compare(self.value, float(limit)))

    def _judged(
        self, limit: float, which: str, how: str, judge: Callable[[Interval], bool]
    ) -> Comparison:
        if which not in _QUESTIONS:
            raise ValueError(
                f"interval {which!r}: it is {' or '.join(map(repr, _QUESTIONS))}"
            )
        interval: Interval = getattr(self, which)
        ok = interval.known and math.isfinite(self.value) and judge(interval)
        verb = "" if ok else "not " if interval.known else "cannot be said to be "
        value = f"{self.name} = {quantity(self.value, self.unit)}"
        range_ = self._answer(which)
        return Comparison(
            ok,
            f"{verb}{how} {quantity(limit, self.unit)}: {value}, {range_},"
            f" {WORDS[self.verdict]}{beside(self.labels)}",
        )

    def _answer(self, which: str) -> str:
        interval: Interval = getattr(self, which)
        words = [self._range(interval), _QUESTIONS[which]]
        # A reason is no number that the question could follow.
        return " ".join(words if interval.known else reversed(words))

    def _range(self, interval: Interval) -> str:
        if not interval.known:
            return not_known(interval.reason or "the value is not finite")
        values = (self.value, interval.low, interval.high)
        sizes = [abs(value) for value in values if math.isfinite(value)]
        shown = max(sizes, default=None)
        if math.isfinite(self.value) and self.value:
            shown = abs(self.value)
        factor, unit = scale(shown, self.unit)
        return (
            f"{ends(interval.low, interval.high, self.value, factor)} {unit}".rstrip()
        )


class Metrics(Mapping[str, SessionMetric]):
    """The metrics of a session by name; `absent` says why others are missing."""

    def __init__(
        self, metrics: Mapping[str, SessionMetric], absent: Mapping[str, str]
    ) -> None:
        self._metrics = dict(metrics)
        self.absent = dict(absent)

    def __getitem__(self, name: str) -> SessionMetric:
        try:
            return self._metrics[name]
        except KeyError:
            raise KeyError(self._missing(name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __repr__(self) -> str:
        return f"<Metrics: {', '.join(self._metrics) or 'none'}{beside(self.labels)}>"

    def _repr_html_(self) -> str:
        rows = [cells(metric) for metric in self._metrics.values()]
        return labels_html(self.labels) + table_html(HEADS, rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside every number: SIMULATED, GENERATED DATA, ..."""
        every = (metric.labels for metric in self._metrics.values())
        return tuple(dict.fromkeys(chain.from_iterable(every)))

    @property
    def table(self) -> pandas.DataFrame:
        """All metrics as a table: a row each, by name; value, unit, the ends of
        both 95 % intervals, standard uncertainty, verdict. `attrs["labels"]` are the
        session's labels.
        """
        import pandas

        rows = [_row(metric) for metric in self._metrics.values()]
        found = pandas.DataFrame(rows, index=pandas.Index(self._metrics, name="metric"))
        found.attrs.update(labels=self.labels)
        return found

    def _missing(self, name: str) -> str:
        if name in self.absent:
            return f"{name} is absent: {self.absent[name]}"
        hint = did_you_mean(name, self._metrics, 3).strip() or f"there are {list(self)}"
        return f"no metric {name}: {hint}"


def _row(metric: SessionMetric) -> dict[str, Any]:
    return {
        "value": metric.value,
        "unit": metric.unit,
        "same_low": metric.same_samples.low,
        "same_high": metric.same_samples.high,
        "other_low": metric.other_samples.low,
        "other_high": metric.other_samples.high,
        "standard_uncertainty": metric.standard_uncertainty,
        "verdict": WORDS[metric.verdict],
    }


def cells(metric: SessionMetric) -> tuple[str, ...]:
    """Return a metric as cells of a table, to the digits that its intervals allow."""
    if metric.row is None:
        return metric.name, quantity(metric.value, metric.unit), "", "", ""
    text = stated.stated(metric.row)
    return metric.name, text.value, text.unit, text.same_samples, text.other_samples


def labels_html(labels: Sequence[str]) -> str:
    """Return labels in HTML, as they stand above numbers."""
    marked = " ".join(f"<mark><b>{html.escape(label)}</b></mark>" for label in labels)
    return f"<p>{marked}</p>" if labels else ""


def table_html(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in HTML; the content of its cells is escaped."""
    head = _row_html("th", heads)
    body = "".join(_row_html("td", row) for row in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _row_html(element: str, cells: tuple[str, ...]) -> str:
    inside = "".join(f"<{element}>{html.escape(cell)}</{element}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _interval(row: IntervalResult) -> Interval:
    """Return an interval of results.json, where null is no bound, or no interval at
    all."""
    missing = bool(row.reason)
    return Interval(
        low=_number(row.low, math.nan if missing else -math.inf),
        high=_number(row.high, math.nan if missing else math.inf),
        method=row.method,
        units=row.units,
        reason=row.reason,
        standard_uncertainty=row.standard_uncertainty,
        coverage_factor=row.coverage_factor,
    )


def _number(value: float | None, otherwise: float = math.nan) -> float:
    return otherwise if value is None else float(value)
