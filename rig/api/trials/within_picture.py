# SPDX-License-Identifier: Apache-2.0
"""A picture of the changes in the course of each trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rig.api.trials.within import RULE, WithinTrial, sentences
from rig.arrays import Float64s
from rig.model.picture import Picture
from rig.report.style import FAINT, SERIES

#: More points a trial are drawn as means of neighbours.
_POINTS = 300
_COLUMNS = 2
NAME = "within_trials"
TITLE = "Within trials"


def picture(rows: Sequence[WithinTrial]) -> Picture | None:
    """Draw each quantity of each phase over time, a colour a trial; None where there
    are none.
    """
    whats = list(dict.fromkeys((row.phase, row.quantity) for row in rows))
    if not whats:
        return None
    lines = -(-len(whats) // _COLUMNS)
    figure = Figure(figsize=(10.4, 0.6 + 2.4 * lines), layout="constrained")
    columns = min(len(whats), _COLUMNS)
    grid = list(figure.subplots(lines, columns, sharex=True, squeeze=False).flat)
    trials = sorted({row.trial for row in rows})
    colours = {trial: SERIES[(trial - 1) % len(SERIES)] for trial in trials}
    for axes, (phase, quantity) in zip(grid, whats, strict=False):
        axes.axhline(0, color=FAINT, lw=0.8)
        axes.set_title(f"{quantity} of {phase}")
        for row in rows:
            if (row.phase, row.quantity) != (phase, quantity):
                continue
            times_s, percents = _thinned(row.times_s, row.relative * 100)
            axes.plot(times_s, percents, "o", ms=2.6, color=colours[row.trial])
            if row.found:
                ends_s = np.array([row.times_s[0], row.times_s[-1]])
                line = (row.line.at_zero + row.line.slope * ends_s) * 100
                axes.plot(ends_s, line, "--", lw=1.6, color=colours[row.trial])
    for axes in grid[len(whats) :]:
        axes.set_visible(False)
    figure.supxlabel("time since the trial's first sample (s)", size=8.5)
    figure.supylabel("less the other trials (%)", size=8.5)
    handles = [Patch(color=colours[trial], label=f"trial {trial}") for trial in trials]
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=len(trials),
        handlelength=1.0,
    )
    text = " ".join(sentences(rows)) or "No trial drifts."
    return Picture(NAME, TITLE, figure, f"{text} {RULE}")


def _thinned(times_s: Float64s, values: Float64s) -> tuple[list[float], list[float]]:
    """Return means of neighbours, where there are many points."""
    parts = min(len(times_s), _POINTS)
    mean_times_s = [float(part.mean()) for part in np.array_split(times_s, parts)]
    mean_values = [float(part.mean()) for part in np.array_split(values, parts)]
    return mean_times_s, mean_values
