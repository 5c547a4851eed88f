# SPDX-License-Identifier: Apache-2.0
"""Histories of a site: the headline metrics of one bench on one device over its
sessions, by date and commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.api.archive.collected import Collected
from rig.api.archive.results_table import TableRow, numbers_of, rows
from rig.api.archive.series import Series, by_series
from rig.api.site.traces import as_script
from rig.results.stated import ends, shown_interval, stated
from rig.units import scale

#: The script of the histories.
SCRIPT = "history.js"
_LEAST = 2
_COMMIT = 10
_DATE = 16
#: The page of each session.
_Pages = Mapping[Path, str]


def histories(sessions: Sequence[Collected], pages: _Pages) -> list[dict[str, Any]]:
    """Return the history of each series with two sessions or more that count, as the
    page's script has it; `pages` are the pages of the sessions.
    """
    groups = by_series(rows([session for session in sessions if session.counts]))
    found = (_history(series, group, pages) for series, group in groups.items())
    return [each for each in found if each is not None]


def script(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the script that hands histories to the page."""
    return as_script("rigHistories", list(found))


def _history(
    series: Series, group: Sequence[TableRow], pages: _Pages
) -> dict[str, Any] | None:
    """Return the history of a group; None where no metric has two values."""
    by_metric: dict[str, list[TableRow]] = {}
    for each in group:
        by_metric.setdefault(each.row.metric, []).append(each)
    metrics = []
    for name, found in by_metric.items():
        if len(found) >= _LEAST:
            metrics.append(_metric(name, found, pages))
    if not metrics:
        return None
    return {
        "title": series.title,
        "about": series.about,
        "metrics": metrics,
    }


def _metric(name: str, found: Sequence[TableRow], pages: _Pages) -> dict[str, Any]:
    largest = max(abs(each.metric.value or 0.0) for each in found)
    factor, unit = scale(largest, found[0].row.unit)
    return {
        "name": name,
        "unit": unit,
        "points": [_point(each, factor, pages) for each in found],
    }


def _point(each: TableRow, factor: float, pages: _Pages) -> dict[str, Any]:
    row = each.row
    value, low, high = (number * factor for number in numbers_of(each.metric))
    text = stated(each.metric)
    interval = ends(shown_interval(each.metric), each.metric.value, text.factor)
    return {
        "date": row.created_utc[:_DATE].replace("T", " "),
        "commit": row.commit[:_COMMIT],
        "session": row.session,
        "page": pages.get(each.session.listed.path, ""),
        "labels": [label.text for label in each.session.labels],
        "outcome": row.outcome,
        "value": _known(value),
        "low": _known(low),
        "high": _known(high),
        "text": f"{text.value} {text.unit}".rstrip(),
        "interval": interval,
    }


def _known(number: float) -> float | None:
    return number if number == number else None
