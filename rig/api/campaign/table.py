# SPDX-License-Identifier: Apache-2.0
"""The results of a campaign by axis: a row for each combination of values, a metric
with its interval in each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rig.api.campaign.grid import Grid
from rig.api.campaign.standing import CellStanding, CellStatus, Survey
from rig.api.sessions.session import Session
from rig.api.sessions.tables import column
from rig.errors import DataError
from rig.files import table_file
from rig.model.metric import Prominence
from rig.results import repeated
from rig.results.document import MetricResult, Results
from rig.results.labels import Label
from rig.results.stated import shown_interval
from rig.results.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """One combination of values: the sessions that are done, of so many repetitions,
    their worst outcome, their labels, and their headline metrics.

    `notes` say why a session does not count or a metric is missing.
    """

    values: Mapping[str, Any]
    sessions: tuple[str, ...]
    repetitions: int
    outcomes: tuple[Outcome, ...]
    labels: tuple[Label, ...]
    metrics: Mapping[str, MetricResult]
    notes: tuple[str, ...] = ()


def rows(grid: Grid, survey: Survey) -> list[CampaignRow]:
    """Return the rows in the order of the grid's values; sessions with an invalid trial
    have no numbers in them.
    """
    by_values: dict[str, list[CellStanding]] = {}
    for standing in survey.rows:
        by_values.setdefault(_key(grid, standing.cell.values), []).append(standing)
    return [_row(by_values[key]) for key in sorted(by_values)]


def _key(grid: Grid, values: Mapping[str, Any]) -> str:
    """Return a text that sorts combinations as the axes have their values."""
    places = [f"{axis.values.index(values[axis.name]):06}" for axis in grid.axes]
    return " ".join(places)


def _row(standings: Sequence[CellStanding]) -> CampaignRow:
    done = [each for each in standings if each.state is CellStatus.DONE]
    done.sort(key=lambda each: each.cell.repetition)
    notes: list[str] = []
    labels: list[Label] = []
    outcomes: list[Outcome] = []
    valid: list[Results] = []
    names: list[str] = []
    for each in done:
        assert each.session is not None
        results = Session(each.session).results
        names.append(each.session.name)
        outcomes.append(results.outcome)
        labels = _each_once([*labels, *results.labels])
        if results.outcome is Outcome.INVALID:
            notes.append(f"{each.cell.name}: INVALID: its numbers are no results")
        else:
            valid.append(results)
    metrics: dict[str, MetricResult] = {}
    for name in _headlines(valid):
        single = [results.metrics.get(name) for results in valid]
        try:
            metrics[name] = repeated.of_sessions([one for one in single if one])
        except DataError as error:
            notes.append(f"{done[0].cell.name}: {name}: {error.cause}")
    return CampaignRow(
        values=standings[0].cell.values,
        sessions=tuple(names),
        repetitions=len(standings),
        outcomes=tuple(outcomes),
        labels=tuple(labels),
        metrics=metrics,
        notes=tuple(notes),
    )


def _headlines(found: Sequence[Results]) -> list[str]:
    names: dict[str, None] = {}
    for results in found:
        for name, metric in results.metrics.items():
            if metric.prominence is Prominence.HEADLINE:
                names[name] = None
    return list(names)


def metric_names(campaign_rows: Sequence[CampaignRow]) -> list[str]:
    """Return the metrics of all rows, each once, in their order."""
    return list(
        dict.fromkeys(chain.from_iterable(row.metrics for row in campaign_rows))
    )


def csv_text(grid: Grid, campaign_rows: Sequence[CampaignRow]) -> str:
    """Return the table as CSV, in SI units: for each metric its value and the ends of
    its 95 % interval, empty where there are none.
    """
    names = metric_names(campaign_rows)
    known = chain.from_iterable(row.metrics.items() for row in campaign_rows)
    columns = {name: column(name, metric.unit) for name, metric in known}
    records = []
    for row in campaign_rows:
        record: dict[str, Any] = {
            axis.name: row.values[axis.name] for axis in grid.axes
        }
        outcomes = " ".join(dict.fromkeys(map(str, row.outcomes)))
        labels = "; ".join(label.text for label in row.labels)
        record |= {
            "repetitions": row.repetitions,
            "done": len(row.sessions),
            "outcomes": outcomes,
            "labels": labels,
        }
        for name in names:
            record |= _numbers(columns[name], row.metrics.get(name))
        records.append(record | {"sessions": " ".join(row.sessions)})
    return table_file.of_records(records)


def _numbers(of_unit: str, metric: MetricResult | None) -> dict[str, float | None]:
    heads = (of_unit, f"{of_unit}_low", f"{of_unit}_high")
    if metric is None:
        return dict.fromkeys(heads)
    interval = shown_interval(metric)
    numbers = (metric.value, interval.low, interval.high)
    cells = (None if number is None else float(number) for number in numbers)
    return dict(zip(heads, cells, strict=True))


def labels_of(campaign_rows: Sequence[CampaignRow]) -> list[Label]:
    """Return the labels of all rows, each once."""
    return _each_once(list(chain.from_iterable(row.labels for row in campaign_rows)))


def _each_once(labels: Sequence[Label]) -> list[Label]:
    return list({label.text: label for label in labels}.values())
