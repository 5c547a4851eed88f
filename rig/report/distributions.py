# SPDX-License-Identifier: Apache-2.0
"""Plots of the distributions of latency and energy, of all trials and trial by
trial."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rig.report.samples import TrialSamples
from rig.report.style import INK, SERIES, Array, Margins, Plot, svg
from rig.results import labels
from rig.results.document import Results
from rig.units import scale

#: Room for counts of six digits, for titles and names, and above these for labels; in
#: inches.
_LEFT_IN = 0.62
_RIGHT_IN = 0.2
_BOTTOM_IN = 0.42
_TOP_IN = 0.24
_LABELS_IN = 0.18
_BETWEEN_IN = (0.5, 0.16)


def distributions(what: str, trials: Sequence[TrialSamples], results: Results) -> Plot:
    """Draw a histogram a phase over all trials, and under it each trial by itself."""
    phases = results.provenance.task.phases
    unit = "J" if what == "energy" else "s"
    values = [
        trial.energy_j if what == "energy" else trial.latency_s for trial in trials
    ]
    pooled = np.concatenate([np.zeros((0, len(phases))), *values])
    if not np.isfinite(pooled).any(axis=0).all():
        return Markup(), f"Not drawn: no sample has its {what}."
    top_in = _TOP_IN + (_LABELS_IN if labels.texts(results.labels) else 0.0)
    margins = Margins(_LEFT_IN, _RIGHT_IN, _BOTTOM_IN, top_in, _BETWEEN_IN)
    figure = Figure(figsize=(10.4, 3.1), layout=margins)
    grid = figure.subplots(
        2, len(phases), sharex="col", height_ratios=[2.2, 1], squeeze=False
    )
    for place, name in enumerate(phases):
        factor, shown = scale(float(np.nanmedian(pooled[:, place])), unit)
        axes = grid[0, place]
        colour = SERIES[place % len(SERIES)]
        _draw_histogram(
            axes,
            pooled[:, place][np.isfinite(pooled[:, place])] * factor,
            colour,
        )
        of_phase = [each[:, place] * factor for each in values]
        _draw_ranges(grid[1, place], trials, of_phase, colour)
        grid[0, place].set_title(name)
        grid[1, place].set_xlabel(f"{what} ({shown})")
    grid[0, 0].set_ylabel("samples")
    grid[1, 0].set_ylabel("trial")
    caption = (
        "Top: all trials together, with median and 99th percentile. Below, a row a "
        "trial: 1st to 99th percentile, the mean as a dot"
    )
    if not all(trial.valid for trial in trials):
        caption += ", hollow where invalid"
    return (
        svg(figure, what, results.labels),
        f"{caption}.",
    )


def _draw_histogram(axes: Axes, values: Array, colour: str) -> None:
    low = float(values.min())
    high = float(values.max())
    slack = max((high - low) * 0.02, abs(high) * 1e-6, 1e-9)
    # The rule of Freedman and Diaconis, within bounds.
    quartiles_apart = float(np.subtract(*np.percentile(values, (75, 25))))
    width = 2 * quartiles_apart / len(values) ** (1 / 3)
    bins = min(max(math.ceil((high - low) / width), 8), 70) if width > 0 else 8
    counts, edges = np.histogram(values, bins, range=(low - slack, high + slack))
    axes.stairs(counts, edges, fill=True, color=colour, alpha=0.75)
    for percent, style in ((50, "-"), (99, "--")):
        at = float(np.percentile(values, percent))
        axes.axvline(at, color=INK, lw=0.9, ls=style)
        axes.text(
            at,
            1.0,
            f"\u00a0p{percent}",
            transform=axes.get_xaxis_transform(),
            va="top",
            size=7.5,
        )
    axes.set_ylim(0, float(counts.max()) * 1.15)
    axes.locator_params(axis="y", integer=True)


def _draw_ranges(
    axes: Axes, trials: Sequence[TrialSamples], values: Sequence[Array], colour: str
) -> None:
    known = [each[np.isfinite(each)] for each in values]
    rows = [row for row, each in enumerate(known) if len(each)]
    percentiles = [np.percentile(known[row], (1, 99)) for row in rows]
    ranges = np.array(percentiles).reshape(-1, 2)
    axes.hlines(rows, *ranges.T, color=colour, lw=2.2, alpha=0.6)
    for valid in (True, False):
        these = [row for row in rows if trials[row].valid is valid]
        means = [known[row].mean() for row in these]
        axes.plot(
            means, these, "o", ms=4, color=colour, mfc=colour if valid else "none"
        )
    yticklabels = [str(trial.trial) for trial in trials]
    ylim = (len(trials) - 0.4, -0.6)
    axes.set(
        yticks=range(len(trials)),
        yticklabels=yticklabels,
        ylim=ylim,
    )
