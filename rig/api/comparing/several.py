# SPDX-License-Identifier: Apache-2.0
"""Many sessions, each compared with one of them: a row a metric and session, as a
table, as CSV and as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.api.comparing.comparison import SessionComparison, compare
from rig.api.comparing.metric_pairs import WITH_REASON, ComparisonOutcome, MetricPair
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.api.sessions.session import Session
from rig.errors import DAMAGE, DataError, RigError, cause_of, did_you_mean
from rig.files import table_file
from rig.files.plain_text import visible
from rig.model.metric import Prominence
from rig.results.document import MetricResult, Results
from rig.results.stated import Notes

SCHEMA = "neurorig-differences-1"
HEADS = ("session", "value", "difference", "± 95 %", "outcome")
REFERENCE = "the first"
#: A note, and the numbers of the sessions that it is about.
_SessionsNote = tuple[str, tuple[int, ...]]

#: Outcomes whose sessions a reader looks for.
_TELLING = (
    ComparisonOutcome.DIFFERS,
    ComparisonOutcome.IF_UNCHANGED,
    ComparisonOutcome.IF_ALONE,
)


@dataclass(frozen=True, slots=True)
class NumberedSession:
    """A session of a comparison, numbered from 1; `results` is None where it has none
    that can be read, for the `reason`.
    """

    number: int
    session: Session
    results: Results | None
    reason: str = ""

    @classmethod
    def of(cls, number: int, session: Session) -> NumberedSession:
        """Read the results of a session."""
        try:
            return cls(number, session, session.results)
        except (RigError, OSError, *DAMAGE) as error:
            return cls(number, session, None, cause_of(error))

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.session.path.name

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.results.sut if self.results else ""

    @property
    def monitor(self) -> str:
        """The names of the monitors."""
        return self.results.monitor if self.results else ""

    @property
    def task(self) -> str:
        """Task and scenario."""
        found = self.results
        return f"{found.task}, {found.scenario}" if found else ""


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """A metric of all sessions: those that have it, and the pair of the first one with
    each of the others.
    """

    name: str
    rows: tuple[tuple[NumberedSession, MetricResult, MetricPair | None], ...]

    @property
    def same_samples(self) -> bool:
        """Whether a difference uses the intervals for the same samples."""
        pairs = [pair for _, _, pair in self.rows if pair is not None]
        return not pairs or any(pair.same_samples for pair in pairs)

    @property
    def reasons(self) -> list[str]:
        """Why sessions have no difference: "2, 3: not comparable: the tasks differ"."""
        numbers: dict[str, list[int]] = {}
        for each, _, pair in self.rows:
            if pair is not None and pair.outcome in WITH_REASON:
                text = f"{pair.outcome.value}: {pair.reason}"
                numbers.setdefault(text, []).append(each.number)
        return [f"{in_ranges(about)}: {text}" for text, about in numbers.items()]

    @property
    def summary(self) -> str:
        """How many sessions have each outcome, and which those are that differ:
        "differs: session 7; no difference shown: 42"; empty where the first session has
        no such metric.
        """
        numbers: dict[ComparisonOutcome, list[int]] = {}
        for each, _, pair in self.rows:
            if pair is not None and pair.first is not None:
                numbers.setdefault(pair.outcome, []).append(each.number)
        parts = []
        for outcome in ComparisonOutcome:
            about = numbers.get(outcome, [])
            shown = str(len(about))
            if outcome in _TELLING:
                shown = f"session{'s' * (len(about) != 1)} {in_ranges(about)}"
            parts += [f"{outcome.value}: {shown}"] * bool(about)
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class SeveralSessions:
    """Sessions; each but the first is compared with the first.

    The 95 % of a metric's differences hold for all of them together. `metrics` are
    those that were asked for; `notes` are the notes on the comparisons with the numbers
    of their sessions.
    """

    sessions: tuple[NumberedSession, ...]
    comparisons: tuple[SessionComparison, ...]
    metrics: tuple[ComparedMetric, ...]
    notes: tuple[_SessionsNote, ...]

    @property
    def statement(self) -> str:
        """The meaning of the differences."""
        count = len(self.comparisons)
        together = (
            f"; the 95 % hold for the {count} differences of a metric together"
            " (Bonferroni), but not for several metrics together"
        )
        return (
            f"each session less {REFERENCE}, with the uncertainty of the difference as"
            f" if no error were common to both{together if count > 1 else ''}"
        )

    @property
    def labelled(self) -> list[str]:
        """Which sessions with results each label is of: "SIMULATED: sessions 1, 3"."""
        measured = [each for each in self.sessions if each.results is not None]
        numbers: dict[str, list[int]] = {}
        for each in measured:
            for label in each.session.labels:
                numbers.setdefault(label, []).append(each.number)
        lines = []
        for label, about in numbers.items():
            sessions = f"session{'s' * (len(about) != 1)} {in_ranges(about)}"
            is_in_all = len(about) == len(measured)
            lines.append(f"{label}: {'every session' if is_in_all else sessions}")
        return lines


def in_ranges(numbers: Iterable[int]) -> str:
    """Return rising numbers as text, three or more in a row by their ends: "2-4, 6"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts: list[str] = []
    for run in runs:
        shown = [f"{run[0]}-{run[-1]}"] if len(run) > 2 else list(map(str, run))
        texts += shown
    return ", ".join(texts)


def compare_several(
    sessions: Sequence[Session], names: Sequence[str] = (), *, every: bool = False
) -> SeveralSessions:
    """Compare each session with the first one, in the named metrics, else the headline
    metrics, else `every` metric.

    Raises DataError where the first has no results, or no session has a named metric.
    """
    numbered = [
        NumberedSession.of(number, session)
        for number, session in enumerate(sessions, start=1)
    ]
    first, *others = numbered
    if first.results is None:
        raise DataError(
            f"{first.name} has no results, and the others are compared with it",
            evidence=first.reason,
            try_next="a session with results as the first one",
        )
    comparisons = [
        compare(first.session, other.session, len(others)) for other in others
    ]
    chosen = list(_names(numbered, names, every))
    metrics = tuple(_metric(name, numbered, comparisons) for name in chosen)
    notes = tuple(_notes(others, comparisons))
    return SeveralSessions(
        sessions=tuple(numbered),
        comparisons=tuple(comparisons),
        metrics=metrics,
        notes=notes,
    )


def _names(
    sessions: Sequence[NumberedSession], names: Sequence[str], every: bool
) -> Iterator[str]:
    prominent: dict[str, bool] = {}
    for each in sessions:
        metrics = each.results.metrics if each.results else {}
        for name, row in metrics.items():
            is_headline = row.prominence is Prominence.HEADLINE
            prominent[name] = prominent.get(name, False) or is_headline
    refuse_unknown(names, list(prominent))
    for name, is_headline in prominent.items():
        if name in names or (not names and (every or is_headline)):
            yield name


def refuse_unknown(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise DataError for a metric that no session has."""
    for name in names:
        if name not in known:
            raise DataError(
                f"no session has a metric {name}",
                try_next=did_you_mean(name, known, 3) or "rig results --all",
            )


def _metric(
    name: str,
    sessions: Sequence[NumberedSession],
    comparisons: Sequence[SessionComparison],
) -> ComparedMetric:
    pairs: list[MetricPair | None] = [None]
    for compared in comparisons:
        found = (pair for pair in compared.metrics if pair.name == name)
        pairs.append(next(found, None))
    rows = []
    for each, pair in zip(sessions, pairs, strict=True):
        row = each.results.metrics.get(name) if each.results else None
        if row is not None:
            rows.append((each, row, pair))
    return ComparedMetric(name, tuple(rows))


def _notes(
    others: Sequence[NumberedSession], comparisons: Sequence[SessionComparison]
) -> Iterator[_SessionsNote]:
    """Yield each note once, with the numbers of the sessions that it is about."""
    numbers: dict[str, list[int]] = {}
    for other, found in zip(others, comparisons, strict=True):
        for note in found.notes:
            numbers.setdefault(note, []).append(other.number)
    for note, about in numbers.items():
        yield note, tuple(about)


def cells(
    each: NumberedSession,
    row: MetricResult,
    pair: MetricPair | None,
    notes: Notes,
    *,
    same_samples: bool,
    interval: bool = True,
    relative: bool = True,
) -> dict[str, str]:
    """Return a row of a metric's table by its heads, values with their interval and
    differences with their share of the first value, or without; long reasons go to
    `notes`. `same_samples` is that of the metric.
    """
    if pair is None:
        alone = _alone(row, same_samples)
        value = value_text(alone, row, notes, with_interval=interval)
        return dict(zip(HEADS, (each.name, value, "", "", REFERENCE), strict=True))
    outcome = pair.outcome.value
    if pair.first is None:
        outcome = f"not in {REFERENCE}"
    value = value_text(pair, row, notes, with_interval=interval)
    difference = difference_text(pair, with_relative=relative)
    spread = spread_text(pair, pair.apart)
    texts = (each.name, value, difference, spread, outcome)
    return dict(zip(HEADS, texts, strict=True))


def _alone(row: MetricResult, same_samples: bool) -> MetricPair:
    """Return a metric of the first session as a pair of itself alone."""
    return MetricPair(
        name="",
        unit=row.unit,
        first=row,
        second=None,
        same_samples=same_samples,
        outcome=ComparisonOutcome.IN_ONE,
        reason="",
    )


def records(found: SeveralSessions) -> Iterator[dict[str, Any]]:
    """Yield a row a metric and session, in SI units."""
    for metric in found.metrics:
        for each, row, pair in metric.rows:
            shown = pair or _alone(row, metric.same_samples)
            record = _record(each, row, shown, is_first=pair is None)
            yield {"metric": metric.name, **record}


def _record(
    each: NumberedSession, row: MetricResult, pair: MetricPair, *, is_first: bool
) -> dict[str, Any]:
    interval = pair.interval(row)
    spread = pair.apart
    return {
        "session": str(each.session.path),
        "device": each.device,
        "monitor": each.monitor,
        "task": each.task,
        "labels": "; ".join(each.session.labels),
        "unit": row.unit,
        "value": row.value,
        "low": interval.low,
        "high": interval.high,
        "samples": "same" if pair.same_samples else "other",
        "difference": pair.difference,
        "relative": pair.relative,
        "standard_uncertainty": spread.standard_uncertainty if spread else None,
        "expanded_uncertainty": spread.expanded_uncertainty if spread else None,
        "outcome": REFERENCE if is_first else pair.outcome.value,
        "reason": pair.reason,
    }


def csv_text(found: SeveralSessions) -> str:
    """Return the comparison as CSV, in SI units."""
    return table_file.of_records(list(records(found)))


def tree(found: SeveralSessions) -> Mapping[str, Any]:
    """Return the comparison as a JSON tree, in SI units."""
    notes = [{"note": note, "sessions": list(about)} for note, about in found.notes]
    return {
        "schema": SCHEMA,
        "statement": found.statement,
        "reference": str(found.sessions[0].session.path),
        "comparisons": len(found.comparisons),
        "sessions": [str(each.session.path) for each in found.sessions],
        "notes": notes,
        "rows": list(records(found)),
    }


def markdown(found: SeveralSessions) -> str:
    """Return the comparison as sections of a page, one a metric."""
    lines = [f"* {_safe(line)}" for line in found.labelled]
    lines += [""] * bool(lines)
    lines += [f"Differences: {found.statement}.", ""]
    summaries = []
    for metric in found.metrics:
        if metric.summary:
            summaries.append(f"* {_safe(metric.name)}: {metric.summary}")
    lines += [*summaries, ""]
    for metric in found.metrics:
        lines += [f"### {metric.name}", "", f"| {' | '.join(HEADS)} |", _RULE]
        notes = Notes()
        for each, row, pair in metric.rows:
            shown = cells(each, row, pair, notes, same_samples=metric.same_samples)
            texts = list(shown.values())
            numbered = (f"{each.number} {each.name}", *texts[1:])
            lines.append(f"| {' | '.join(map(_safe, numbered))} |")
        below = [f"* {_safe(line)}" for line in (*metric.reasons, *notes.lines)]
        lines += ["", *below, *[""] * bool(below)]
    for note, about in found.notes:
        lines.append(f"* {in_ranges(about)}: {_safe(note)}")
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    return visible(text).replace("\n", " ").replace("|", "\\|")


_RULE = f"|{'---|' * len(HEADS)}"
