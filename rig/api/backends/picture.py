# SPDX-License-Identifier: Apache-2.0
"""A comparison of backends as a picture: a line a backend, a panel for the agreement of
decisions and one for each main metric, with intervals, coloured by where the number
comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from rig.api.backends.rows import BackendRow, ModelComparison
from rig.files.plain_text import visible
from rig.model.origin import Origin
from rig.report.style import BAD, FAINT, INK, SERIES, STYLE
from rig.units import plural, quantity

_OF_ORIGINS = (SERIES[0], SERIES[2], SERIES[3], SERIES[1])
_COLOURS = dict(zip(map(str, Origin), _OF_ORIGINS, strict=True))
#: Distinguishable without colours.
_MARKERS = dict(zip(map(str, Origin), "osD^", strict=True))
_ROW_IN = 0.34
#: Values stand on a logarithmic axis where the largest is more than so many times the
#: least.
_WIDE = 8.0
Panel = list[tuple[float, float, float, str] | None]


def write(comparison: ModelComparison, path: Path) -> None:
    """Write the picture; the suffix of the name selects the format (png, svg, pdf)."""
    write_drawn(partial(drawing, comparison), path)


def write_drawn(draw: Callable[[], Drawing], path: Path) -> None:
    """Draw in the style of the report, on paper of its own, which a dark page does not
    change, and write the picture.
    """
    with (
        matplotlib.style.context(["default", STYLE]),
        matplotlib.rc_context({"svg.hashsalt": "neurorig-backends"}),
    ):
        draw().savefig(
            path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None
        )


def drawing(comparison: ModelComparison) -> Drawing:
    """Return the picture."""
    names = comparison.main_metrics
    wide = 1.9 + 2.5 * (1 + len(names))
    figure = Drawing(
        figsize=(wide, 1.55 + _ROW_IN * len(comparison.rows)), layout="constrained"
    )
    panels = figure.subplots(1, 1 + len(names), sharey=True, squeeze=False)[0]
    _draw(
        panels[0],
        "decisions as the reference",
        "1",
        [_decided(row) for row in comparison.rows],
    )
    for axes, name in zip(panels[1:], names, strict=True):
        unit = next(
            one.unit for row in comparison.rows if (one := row.figure(name)) is not None
        )
        _draw(axes, visible(name), unit, [_value(row, name) for row in comparison.rows])
    panels[0].set_yticks(
        range(len(comparison.rows)), [_line_name(row) for row in comparison.rows]
    )
    panels[0].set_ylim(len(comparison.rows) - 0.5, -0.5)
    # Text that extends over the next panel is not covered by it.
    panels[0].set_zorder(2)
    panels[0].patch.set_visible(False)
    for place, row in enumerate(comparison.rows):
        if row.failure is not None:
            _no_result(panels[0], place, row)
    figure.suptitle(
        visible(f"{comparison.model}: {plural(comparison.samples, 'sample')}"),
        x=0.01,
        ha="left",
        size=10,
    )
    _legend(figure, panels, comparison)
    return figure


def _line_name(row: BackendRow) -> str:
    """Name a backend, with the verdict below where it is not PASS."""
    return "\n".join(filter(None, (visible(row.name), row.doubt)))


def _decided(row: BackendRow) -> tuple[float, float, float, str] | None:
    if row.agreement is None:
        return None
    share = row.agreement.decisions.share
    return (share.value, *share.interval(), "")


def _value(row: BackendRow, name: str) -> tuple[float, float, float, str] | None:
    figure = row.figure(name)
    if figure is None or figure.value is None:
        return None
    low, high = (figure.value if end is None else end for end in figure.interval)
    return figure.value, low, high, figure.origin


def _draw(axes: Axes, title: str, unit: str, values: Panel) -> None:
    axes.set_title(title, loc="left")
    for place, value in enumerate(values):
        if value is None:
            continue
        middle, low, high, origin = value
        colour = _COLOURS.get(origin, INK)
        # An interval that does not hold its value (it can be one for other samples) is
        # drawn as is.
        axes.hlines(place, low, high, color=colour, linewidth=1.6)
        axes.plot(middle, place, _MARKERS.get(origin, "o"), color=colour, markersize=5)
        if unit != "1":
            text = quantity(middle, unit)
            at, above = (middle, place), (0, 5)
            axes.annotate(
                text, at, xytext=above, ha="center",
                textcoords="offset points", size=7, color=INK,
            )  # fmt: skip
    known = [value for value in values if value is not None]
    scale_axis(axes, unit, list(chain.from_iterable(value[:3] for value in known)))


def scale_axis(axes: Axes, unit: str, ends: Sequence[float]) -> None:
    """Set the axis of values: shares from 0 to 1, others from 0 or logarithmic."""
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    if unit == "1":
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        return
    if ends and min(ends) > 0 and max(ends) > _WIDE * min(ends):
        axes.set_xscale("log")
        axes.set_xlim(min(ends) / 2.5, max(ends) * 2.5)
    else:
        left = min(0.0, *ends, 0.0)
        axes.set_xlim(left=left, right=1.25 * max([*ends, 0.0]) or None)
        axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: quantity(value, unit))
    axes.xaxis.set_minor_formatter("")


def _no_result(axes: Axes, place: int, row: BackendRow) -> None:
    assert row.failure is not None
    text = visible(row.failure.cause).replace("\n", " ")
    shown = text if len(text) <= 70 else text[:67] + "..."
    words = axes.text(
        0.0, place, f"did not run: {shown}", va="center", size=7, color=FAINT
    )
    # it may reach over the next panel, which has no value of this backend
    words.set_in_layout(False)


def _legend(figure: Drawing, panels: list[Axes], comparison: ModelComparison) -> None:
    figures = chain.from_iterable(row.figures for row in comparison.rows)
    used = {shown.origin for shown in figures}
    handles = []
    for name, colour in _COLOURS.items():
        if name in used:
            marker = _MARKERS[name]
            handles.append(
                Line2D([], [], color=colour, marker=marker, linewidth=1.6, label=name)
            )
    labels = dict.fromkeys(chain.from_iterable(row.labels for row in comparison.rows))
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    bars = (
        "bars: 95 %, of times and energies for the same samples, of shares for others"
    )
    figure.supxlabel(bars, size=7, x=0.99, ha="right", color=FAINT)
    marked = visible(", ".join(labels))
    panels[-1].set_title(marked, loc="right", color=BAD, size=8, y=1.09)
