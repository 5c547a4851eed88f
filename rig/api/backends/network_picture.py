# SPDX-License-Identifier: Apache-2.0
"""A comparison of networks as a picture: a row a system, a colour a network, a panel a
metric; simulated figures are hollow, and settings of a device are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from rig.api.backends.forms import INSTRUCTIONS_HEAD, count_text
from rig.api.backends.networks import NetworkRow, NetworksComparison
from rig.api.backends.picture import scale_axis, write_drawn
from rig.api.backends.rows import SETTING, Figure
from rig.files.plain_text import visible
from rig.model.origin import Origin
from rig.report.style import BAD, FAINT, INK, SERIES
from rig.units import plural, quantity

#: In the order of the networks: also distinguishable without colours.
_COLOURS = (SERIES[0], BAD, SERIES[5], SERIES[3], SERIES[1], SERIES[4])
_MARKERS = "osD^vP"
#: The lines of a system take so much of its row.
_ROOM = 0.64
_ROW_IN = 0.3
_PAPER = "white"


def write(comparison: NetworksComparison, path: Path) -> None:
    """Write the picture; the suffix of the name selects the format (png, svg, pdf)."""
    write_drawn(partial(drawing, comparison), path)


def drawing(comparison: NetworksComparison) -> Drawing:
    """Return the picture."""
    counted = any(row.per_operation is not None for row in comparison.rows)
    count = len(comparison.metrics) + counted
    lines = len(comparison.systems) * (0.6 + len(comparison.networks))
    figure = Drawing(
        figsize=(1.4 + 2.3 * count, 1.5 + _ROW_IN * lines), layout="constrained"
    )
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for place, (axes, metric) in enumerate(
        zip(panels, comparison.metrics, strict=False)
    ):
        shown = [(row, row.figures[place]) for row in comparison.rows]
        _draw_metric(axes, metric, shown, comparison)
    if counted:
        _draw_counts(panels[-1], comparison)
    panels[0].set_yticks(
        range(len(comparison.systems)), [visible(each) for each in comparison.systems]
    )
    panels[0].set_ylim(len(comparison.systems) - 0.5, -0.5)
    for border in range(1, len(comparison.systems)):
        for axes in panels:
            axes.axhline(border - 0.5, color=FAINT, linewidth=0.4, alpha=0.5)
    _write_around(figure, comparison)
    return figure


def _draw_metric(
    axes: Axes,
    metric: str,
    shown: Sequence[tuple[NetworkRow, Figure | None]],
    comparison: NetworksComparison,
) -> None:
    axes.set_title(visible(metric), loc="left")
    unit = next((figure.unit for _, figure in shown if figure is not None), "")
    ends: list[float] = []
    for row, figure in shown:
        height = _height(row, comparison)
        if row.row.failure is not None:
            _say(axes, height, "did not run")
        elif row.row.counts == SETTING:
            _say(axes, height, "a setting, no result")
        elif figure is None or figure.value is None:
            _say(axes, height, "not measured")
        else:
            value = figure.value
            low, high = (value if end is None else end for end in figure.interval)
            ends += [value, low, high]
            axes.hlines(
                height, low, high, color=_colour(row, comparison), linewidth=1.6
            )
            text = f"{100 * value:.0f} %" if unit == "1" else quantity(value, unit)
            text += f", {row.row.doubt}" if row.row.doubt and unit != "1" else ""
            real = figure.origin not in (Origin.SIMULATED, Origin.MODELLED)
            _point(axes, row, comparison, value, text, filled=real)
    scale_axis(axes, unit, ends)


def _draw_counts(axes: Axes, comparison: NetworksComparison) -> None:
    """Draw the instructions of emulated systems for each operation."""
    axes.set_title(INSTRUCTIONS_HEAD, loc="left")
    counts = [
        row.per_operation for row in comparison.rows if row.per_operation is not None
    ]
    for row in comparison.rows:
        if row.per_operation is not None:
            text = count_text(row.per_operation)
            _point(axes, row, comparison, row.per_operation, text, filled=True)
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.25 * max(counts))


def _point(
    axes: Axes,
    row: NetworkRow,
    comparison: NetworksComparison,
    value: float,
    text: str,
    *,
    filled: bool,
) -> None:
    place = list(comparison.networks).index(row.network)
    colour, height = _colour(row, comparison), _height(row, comparison)
    marker = _MARKERS[place % len(_MARKERS)]
    fill = colour if filled else _PAPER
    axes.plot(value, height, marker, color=colour, markerfacecolor=fill, markersize=5)
    at, above = (value, height), (0, 4.5)
    axes.annotate(
        text, at, xytext=above, ha="center",
        textcoords="offset points", size=7.5, color=INK,
    )  # fmt: skip


def _say(axes: Axes, height: float, text: str) -> None:
    """Write why there is no point, at the left of a row."""
    across = axes.get_yaxis_transform()
    axes.text(0.02, height, text, va="center", size=7.5, color=FAINT, transform=across)


def _height(row: NetworkRow, comparison: NetworksComparison) -> float:
    names = list(comparison.networks)
    step = _ROOM / len(names)
    middle = (len(names) - 1) / 2
    place = names.index(row.network)
    return comparison.systems.index(row.system) + step * (place - middle)


def _colour(row: NetworkRow, comparison: NetworksComparison) -> str:
    place = list(comparison.networks).index(row.network)
    return _COLOURS[place % len(_COLOURS)]


def _write_around(figure: Drawing, comparison: NetworksComparison) -> None:
    """Put a legend of the networks below, the samples and the labels above."""
    handles = []
    for place, (name, model) in enumerate(comparison.networks.items()):
        effective = (
            f", {model.complexity.effective:,.0f} op." if model.complexity else ""
        )
        colour = _COLOURS[place % len(_COLOURS)]
        marker = _MARKERS[place % len(_MARKERS)]
        label = visible(f"{name}{effective}")
        line = Line2D([], [], color=colour, marker=marker, linewidth=1.6, label=label)
        handles.append(line)
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    figure.supxlabel(
        "hollow: simulated; bars: 95 %; a word: verdict that is not PASS",
        size=7.5,
        x=0.99,
        ha="right",
        color=FAINT,
    )
    first = next(iter(comparison.networks.values()))
    labels = dict.fromkeys(
        chain.from_iterable(row.row.labels for row in comparison.rows)
    )
    figure.suptitle(
        visible(
            f"{first.task}: {plural(first.samples, 'sample')}   {', '.join(labels)}"
        ),
        x=0.01,
        ha="left",
        size=9.5,
    )
