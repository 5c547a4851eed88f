# SPDX-License-Identifier: Apache-2.0
"""A metric over time as a picture: value and 95 % interval of each session, by date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rig.api.archive.results_table import TableRow, labels_of, numbers_of
from rig.api.trials.pictures import save_picture
from rig.model.picture import Picture
from rig.units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save(path: Path, name: str, found: Sequence[TableRow]) -> None:
    """Draw a metric of sessions into a file; raises DataError."""
    import matplotlib.style
    from matplotlib.figure import Figure

    from rig.report.style import SERIES, STYLE, label

    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(8, 3), layout="constrained")
        axes = figure.subplots()
        devices = list(dict.fromkeys(each.row.device for each in found))
        largest = max((abs(each.row.value) for each in found), default=0.0)
        factor, unit = scale(largest, found[0].row.unit)
        for place, device in enumerate(devices):
            of_device = [each for each in found if each.row.device == device]
            _draw(axes, of_device, factor, SERIES[place % len(SERIES)])
        axes.set_ylabel(f"{name} in {unit}" if unit else name)
        axes.legend()
        figure.autofmt_xdate()
        label(figure, ", ".join(labels_of(found)))
        save_picture(Picture("history", name, figure, ""), path)


def _draw(axes: Axes, found: Sequence[TableRow], factor: float, colour: str) -> None:
    """Draw value and interval of each session of a device."""
    numbers = np.array([numbers_of(each.metric) for each in found]) * factor
    values, lows, highs = numbers.T
    times = [_time(each.row.created_utc) for each in found]
    name = found[0].row.device
    axes.plot(times, values, "o-", color=colour, lw=0.8, ms=4, label=name)  # type: ignore[arg-type]
    axes.vlines(times, lows, highs, color=colour, lw=1.6)  # type: ignore[arg-type]


def _time(created_utc: str) -> datetime:
    try:
        return datetime.fromisoformat(created_utc).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
