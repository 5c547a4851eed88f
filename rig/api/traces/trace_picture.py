# SPDX-License-Identifier: Apache-2.0
"""A trace drawn by matplotlib: signals with their units, SYNC, phases and gaps, below
the session and the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter

from rig.api.traces.columns import UNITS, Band, Columns
from rig.api.traces.edges import EdgeTimes
from rig.api.traces.export import StretchOrigin
from rig.api.traces.place import TracePlace
from rig.api.traces.samples import between, levels_at
from rig.api.traces.spans import CROSSING, IDLE, WARM_UP, Spans
from rig.model.picture import Picture
from rig.report import palette
from rig.report.style import BAD, FAINT, INK, SERIES, STYLE, label
from rig.store import provenance_file
from rig.store.session_folder import SessionFolder

#: Columns of a picture: two for each pixel that a figure of this width has on a screen.
COLUMNS = 2000
_WIDTH_IN = 10.4
_SIGNAL_IN = 1.5
_SYNC_IN = 0.6
_HEAD_IN = 0.9
#: More spans are drawn as the curve alone.
_MOST_SPANS = 400
_SHARE = 0.16


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTrace:
    """Data of a trace between two times that a picture shows; no `edges` without
    SYNC.
    """

    name: str
    place: TracePlace | None
    limits_s: tuple[float, float]
    columns: Columns
    edges: EdgeTimes | None
    gaps_s: tuple[tuple[float, float], ...]
    spans: Spans | None


def drawn(trace: DrawnTrace) -> Picture:
    """Draw a part of a trace."""
    columns = trace.columns
    bands = {name: getattr(columns, name) for name in UNITS}
    signals = [name for name, band in bands.items() if band is not None]
    ratios = [_SIGNAL_IN] * len(signals) + [_SYNC_IN] * (trace.edges is not None)
    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(
            figsize=(_WIDTH_IN, _HEAD_IN + sum(ratios)), layout="constrained"
        )
        rows = figure.subplots(
            len(ratios), sharex=True, squeeze=False, height_ratios=ratios
        )
        lanes = list(rows.flat)
        for axes, name in zip(lanes, signals, strict=False):
            _draw_signal(axes, columns, bands[name], name)
        lanes[0].set_xlim(trace.limits_s)
        if trace.edges is not None:
            _draw_sync(lanes[-1], trace.edges, *trace.limits_s)
        _draw_phases(figure, lanes, trace)
        for axes in lanes:
            _draw_gaps(axes, trace)
        lanes[-1].xaxis.set_major_formatter(EngFormatter("s"))
        lanes[-1].set_xlabel("time since the first sample (s)")
        place = StretchOrigin(place=trace.place).place_text or trace.name
        label(figure, ", ".join(columns.labels), place)
    caption = "Least to most of each column, and its mean."
    return Picture("trace", f"Trace, {place}", figure, caption)


def _draw_signal(axes: Axes, columns: Columns, band: Band, name: str) -> None:
    colour = palette.SIGNALS[name]
    at_s = columns.middle_s
    axes.fill_between(
        at_s, band.least, band.most, step="mid", color=colour, alpha=0.35, lw=0
    )
    axes.plot(at_s, band.mean, color=colour, lw=0.9)
    axes.set_ylabel(f"{name} ({UNITS[name]})")
    axes.yaxis.set_major_formatter(EngFormatter(UNITS[name]))


def _draw_sync(axes: Axes, edges: EdgeTimes, start_s: float, stop_s: float) -> None:
    falls_s, rises_s = edges.seen_s[edges.falls], edges.seen_s[~edges.falls]
    inside_s = between(edges.seen_s, start_s, stop_s)
    times_s = np.concatenate([[start_s], inside_s, [stop_s]])
    levels = levels_at(falls_s, rises_s, times_s)
    axes.step(times_s, levels, where="post", color=INK, lw=0.8)
    axes.set_ylim(-0.3, 1.3)
    axes.set_yticks([0, 1], ["low", "high"])
    axes.set_ylabel("SYNC")


def _draw_phases(figure: Figure, lanes: list[Axes], trace: DrawnTrace) -> None:
    """Shade the windows, and name their colours: those of the window and the report."""
    spans, place_in = trace.spans, trace.place
    if spans is None or place_in is None:
        return
    of_task = provenance_file.read(SessionFolder(place_in.session)).task.phases
    places = spans.within(*trace.limits_s)
    places = places[spans.kind[places] != CROSSING]
    if not 0 < len(places) <= _MOST_SPANS:
        return
    colours: dict[str, str] = {}
    for place in places:
        name = spans.phases[spans.phase[place]]
        is_plain = spans.kind[place] in (IDLE, WARM_UP)
        number = palette.place(name, of_task) % len(SERIES)
        name = "warm-up" if spans.kind[place] == WARM_UP else name
        colours[name] = FAINT if is_plain else SERIES[number]
        start_s, stop_s = spans.start_s[place], spans.stop_s[place]
        for axes in lanes:
            axes.axvspan(start_s, stop_s, color=colours[name], alpha=_SHARE, lw=0)
    handles = [
        Patch(color=colour, alpha=0.5, label=name) for name, colour in colours.items()
    ]
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=len(colours),
        handlelength=1.0,
    )


def _draw_gaps(axes: Axes, trace: DrawnTrace) -> None:
    start_s, stop_s = trace.limits_s
    for first_s, last_s in trace.gaps_s:
        if last_s > start_s and first_s < stop_s:
            axes.axvspan(first_s, last_s, fc="none", ec=BAD, hatch="////", lw=0)
