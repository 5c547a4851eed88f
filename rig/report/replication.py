# SPDX-License-Identifier: Apache-2.0
"""Each trial's deviation from the claimed value, or from the mean, against the
limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rig.model.metric import Deviation
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES, Plot, svg
from rig.results.document import MetricResult, Results
from rig.results.replication import LIMIT, deviation

#: Larger deviations than this lie at the edge of the drawing.
_SHOWN_DEVIATION = 0.20


def _away_of_trials(metric: MetricResult, claimed: float | None) -> list[float]:
    return [
        away_from(trial.value, claimed, metric.deviation) for trial in metric.per_trial
    ]


def dots(names: Sequence[str], results: Results) -> Plot:
    """Draw each trial's deviation from the claimed value, or from the mean, against the
    limit."""
    judged = results.replication.per_metric
    metrics = results.metrics
    claims = results.audit is not None
    names = [
        name for name in names if name in judged and not math.isnan(judged[name].mean)
    ]
    if not names:
        return Markup(), "Not drawn: nothing to compare."
    away = [_away_of_trials(metrics[name], judged[name].claimed) for name in names]
    distances = map(abs, chain.from_iterable(away))
    largest = max(filter(math.isfinite, distances), default=0.0)
    shown = min(max(1.15 * largest, 1.4 * LIMIT), _SHOWN_DEVIATION)
    figure = Figure(figsize=(10.4, 0.8 + 0.36 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(-LIMIT * 100, LIMIT * 100, color=GOOD, alpha=0.16, lw=0)
    axes.axvline(0, color=FAINT, lw=0.9)
    across = axes.get_yaxis_transform()
    rows = range(len(names))
    axes.hlines(rows, 0, 1, color=FAINT, lw=0.4, alpha=0.6, transform=across)
    _draw_dots(axes, away, shown, [trial.valid for trial in results.trials])
    for row, name in enumerate(names):
        if claims:
            of = metrics[name]
            distance = away_from(of.value, judged[name].claimed, of.deviation)
            at = float(np.clip(distance, -shown, shown)) * 100
            axes.plot(
                at, row, "D", ms=6, color=INK, mfc="none", zorder=4, clip_on=False
            )
    ylim = (len(names) - 0.4, -0.6)
    xlim = (-shown * 100, shown * 100)
    axes.set(
        yticks=rows,
        yticklabels=names,
        ylim=ylim,
        xlim=xlim,
    )
    reference, compared = (
        ("claimed value", "their mean (diamond)")
        if claims
        else ("mean of the trials", "each")
    )
    axes.set_xlabel(
        f"deviation from the {reference} (%); shaded: within {LIMIT * 100:.0f} %"
    )
    caption = (
        f"Dots are trials, from the top of each row down; the rule compares {compared}."
    )
    return svg(
        figure, "trials", results.labels
    ), caption + " Triangles lie beyond the scale; hollow dots are of invalid trials."


def _draw_dots(
    axes: Axes, away: Sequence[Sequence[float]], shown: float, valid: Sequence[bool]
) -> None:
    """Draw the trials of each row, those that look alike together."""
    offsets = np.linspace(-0.26, 0.26, len(valid)) if len(valid) > 1 else (0.0,)
    alike = dict[tuple[str, str, bool], list[tuple[float, float]]]()
    for row, distances in enumerate(away):
        for distance, counts, offset in zip(distances, valid, offsets, strict=True):
            beyond = abs(distance) > shown
            colour = BAD if abs(distance) > LIMIT else SERIES[0]
            marker = ("<" if distance < 0 else ">") if beyond else "o"
            at = math.copysign(0.985 * shown, distance) if beyond else distance
            alike.setdefault((marker, colour, counts), []).append(
                (at * 100, row + offset)
            )
    for (marker, colour, counts), places in alike.items():
        across, down = np.array(places).T
        fill = colour if counts else "none"
        axes.plot(across, down, marker, ms=4.2, color=colour, mfc=fill, zorder=3)


def away_from(value: float | None, reference: float | None, how: Deviation) -> float:
    """Return how far a value lies from a reference; not a number where one is not
    known."""
    return (
        math.nan
        if value is None or reference is None
        else deviation(value, reference, how)
    )
