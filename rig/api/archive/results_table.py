# SPDX-License-Identifier: Apache-2.0
"""Results of many sessions as one table: a row for each metric of each session."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.api.archive.collected import Collected, collected, session_folders
from rig.errors import DataError, did_you_mean, storage_error
from rig.files import table_file
from rig.model.metric import Prominence
from rig.results.document import MetricResult, Results
from rig.results.stated import shown_interval
from rig.store.session_folder import write_text

if TYPE_CHECKING:
    import pandas

#: The key of [metadata] that names the measured thing, such as a commit.
COMMIT = "commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """A metric of a session, in SI units; a number that does not exist is NaN.

    `commit` is that of [metadata], else the firmware's version, else the rig's
    revision. `same_` and `other_` are the ends of the 95 % intervals for the same
    samples and for other samples. `outcome` is the session's.
    """

    session: str
    created_utc: str
    commit: str
    bench: str
    task: str
    scenario: str
    device: str
    monitor: str
    labels: str
    outcome: str
    metric: str
    value: float
    unit: str
    same_low: float
    same_high: float
    other_low: float
    other_high: float
    standard_uncertainty: float


_HEADS = tuple(field.name for field in fields(ResultRow))


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with its metric as results.json has it, and its session."""

    row: ResultRow
    metric: MetricResult
    session: Collected


def collect(places: Iterable[Path]) -> list[Collected]:
    """Read the sessions at some places, each a session or a folder of sessions, the
    oldest first.
    """
    return [collected(path) for path in session_folders(places)]


def rows(
    sessions: Sequence[Collected], names: Sequence[str] = (), *, every: bool = False
) -> list[TableRow]:
    """Return the named metrics of sessions, else their headline metrics, else `every`
    metric; raises DataError for a name that no session has.
    """
    found = list(chain.from_iterable(map(_rows, sessions)))
    known = dict.fromkeys(each.row.metric for each in found)
    for name in names:
        if name not in known:
            raise DataError(
                f"no session has a metric {name}",
                try_next=did_you_mean(name, known, 3) or "rig results --all",
            )
    if names:
        return [each for each in found if each.row.metric in names]
    headline = Prominence.HEADLINE
    return [each for each in found if every or each.metric.prominence is headline]


def _rows(session: Collected) -> Iterator[TableRow]:
    if session.results is None:
        return
    listed = session.listed
    for name, metric in session.results.metrics.items():
        same, other = metric.same_samples, metric.other_samples
        row = ResultRow(
            session=listed.name,
            created_utc=listed.created_utc,
            commit=commit_of(session.results),
            bench=listed.bench,
            task=listed.task,
            scenario=listed.scenario,
            device=listed.device,
            monitor=listed.monitors,
            labels=", ".join(label.text for label in session.labels),
            outcome=listed.outcome,
            metric=name,
            value=_number(metric.value),
            unit=metric.unit,
            same_low=_number(same.low),
            same_high=_number(same.high),
            other_low=_number(other.low),
            other_high=_number(other.high),
            standard_uncertainty=_number(same.standard_uncertainty),
        )
        yield TableRow(row, metric, session)


def commit_of(results: Results) -> str:
    """Return the version that a session measured."""
    facts = results.provenance.stored
    metadata = facts.get("metadata")
    named = metadata.get(COMMIT) if isinstance(metadata, dict) else None
    device = facts.get("sut")
    firmware = device.get("firmware") if isinstance(device, dict) else None
    return str(named or firmware or facts.get("revision") or "")


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _content(found: Sequence[TableRow]) -> dict[str, list[Any]]:
    return {name: _column(found, name) for name in _HEADS}


def _column(found: Sequence[TableRow], name: str) -> list[Any]:
    return [getattr(each.row, name) for each in found]


def labels_of(found: Sequence[TableRow]) -> tuple[str, ...]:
    """Return the labels of all rows, each once."""
    every = chain.from_iterable(each.session.labels for each in found)
    return tuple(dict.fromkeys(label.text for label in every))


def frame(found: Sequence[TableRow]) -> pandas.DataFrame:
    """Return rows as a table; `attrs["labels"]` are those of all sessions."""
    import pandas

    table = pandas.DataFrame(_content(found))
    table.attrs.update(labels=labels_of(found))
    return table


def results_table(
    *places: Path | str, metrics: Sequence[str] = (), every: bool = False
) -> pandas.DataFrame:
    """Return the results of sessions, or of those in folders, as one table: a row for
    each metric of each session, with both 95 % intervals, labels, device and monitor.

    Without `metrics` the headline ones are in it, with `every` all.
    """
    return frame(rows(collect(map(Path, places)), metrics, every=every))


def write_csv(path: Path, found: Sequence[TableRow]) -> None:
    """Write rows as CSV: SI units, an empty cell where there is no number."""
    columns = _content(found).values()
    lines = [_HEADS, *(map(_cell, line) for line in zip(*columns, strict=True))]
    labels = table_file.labels_line(labels_of(found))
    write_text(path, labels + table_file.text(lines))


def _cell(value: object) -> object:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return value


def write_parquet(path: Path, found: Sequence[TableRow]) -> None:
    """Write rows as Parquet, the labels as its metadata; raises DataError where pyarrow
    is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(
            "Parquet files need pyarrow, which is not installed",
            try_next="pip install 'neurorig[parquet]', or write CSV",
        ) from error
    table = pyarrow.table(_content(found))
    labels = {"labels": ", ".join(labels_of(found))}
    try:
        parquet.write_table(table.replace_schema_metadata(labels), path)
    except OSError as error:
        raise storage_error(error, path) from error


def numbers_of(metric: MetricResult) -> tuple[float, float, float]:
    """Return value and ends of the interval that a table with one interval shows."""
    interval = shown_interval(metric)
    return _number(metric.value), _number(interval.low), _number(interval.high)
