# SPDX-License-Identifier: Apache-2.0
"""A metric over time as a picture: value and 95 % interval of each session, by date,
with axes for each series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rig.api.archive.results_table import TableRow, labels_of, numbers_of
from rig.api.archive.series import by_series
from rig.api.trials.pictures import save_picture
from rig.files.plain_text import visible
from rig.model.picture import Picture
from rig.units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL_IN = 2.2
_MARGIN_IN = 0.8


def save(path: Path, name: str, found: Sequence[TableRow]) -> None:
    """Draw a metric of sessions into a file; raises DataError."""
    import matplotlib.style
    from matplotlib.figure import Figure

    from rig.report.style import SERIES, STYLE, label

    groups = by_series(found)
    with matplotlib.style.context(["default", STYLE]):
        height = _MARGIN_IN + _PANEL_IN * len(groups)
        figure = Figure(figsize=(8, height), layout="constrained")
        panels = figure.subplots(len(groups), sharex=True, squeeze=False)[:, 0]
        for axes, (series, rows) in zip(panels, groups.items(), strict=True):
            axes.set_title(visible(f"{series.title}, {series.about}"), size=9)
            _draw(axes, name, rows, SERIES[0])
        figure.autofmt_xdate()
        label(figure, ", ".join(labels_of(found)))
        save_picture(Picture("history", name, figure, ""), path)


def _draw(axes: Axes, name: str, found: Sequence[TableRow], colour: str) -> None:
    """Draw value and interval of each session of a series."""
    sizes = [abs(each.row.value) for each in found]
    largest = max(filter(math.isfinite, sizes), default=0.0)
    factor, unit = scale(largest, found[0].row.unit)
    numbers = np.array([numbers_of(each.metric) for each in found]) * factor
    values, lows, highs = numbers.T
    times = [_time(each.row.created_utc) for each in found]
    axes.plot(times, values, "o-", color=colour, lw=0.8, ms=4)  # type: ignore[arg-type]
    axes.vlines(times, lows, highs, color=colour, lw=1.6)  # type: ignore[arg-type]
    axes.set_ylabel(f"{name} in {unit}" if unit else name)


def _time(created_utc: str) -> datetime:
    try:
        return datetime.fromisoformat(created_utc).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
