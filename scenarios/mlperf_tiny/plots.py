# SPDX-License-Identifier: Apache-2.0
"""The five windows of each trial beside their median, which is the trial's result."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rig.model.picture import Picture
from rig.report.style import BAD, INK, SERIES
from rig.results import document
from rig.store import sample_lines, session_folder
from rig.store.sample_lines import SampleLine
from rig.store.session_folder import SessionFolder
from rig.units import scale
from scenarios.mlperf_tiny.counted import by_the_rule, counted

_SPREAD = 0.3


@dataclass(frozen=True, slots=True)
class DrawnTrial:
    """The windows of a trial that count."""

    number: int
    valid: bool
    windows: tuple[SampleLine, ...]


def pictures(folder: Path) -> list[Picture]:
    """Draw the windows of a session."""
    session = SessionFolder(folder)
    trials = document.read(folder / session_folder.RESULTS).trials
    drawn = []
    for trial in trials:
        lines = sample_lines.read(session.trial(trial.number))
        counted_lines = tuple(counted(lines.samples))
        drawn.append(DrawnTrial(trial.number, trial.valid, counted_lines))
    return [windows(drawn)]


def windows(trials: Sequence[DrawnTrial]) -> Picture:
    """Draw inferences a second, and energy where it is known, of each window, with the
    median."""
    title = "Windows and their median"
    every = list(chain.from_iterable(trial.windows for trial in trials))
    if not every or any(not window.windows[-1].latency_s > 0 for window in every):
        return Picture("windows", title, None, "Not drawn: no trial has a window.")
    energies = all(window.windows[-1].energy_j is not None for window in every)
    figure = Figure(figsize=(10.4, 2.6), layout="constrained")
    grid = figure.subplots(1, 2 if energies else 1, squeeze=False)[0]
    rates = [_rates(trial) for trial in trials]
    _draw(grid[0], trials, rates, "inferences per second")
    if energies:
        joules = [_energies_j(trial) for trial in trials]
        factor, unit = scale(max(max(row, default=0.0) for row in joules), "J")
        shown = [(np.asarray(row) * factor).tolist() for row in joules]
        _draw(grid[1], trials, shown, f"energy per inference ({unit})")
    short = sum(not by_the_rule(window) for window in every)
    caption = (
        "A dot a window, in the order in which they were measured; the line is the"
        " median of a trial's windows, its result. Hollow: the trial is invalid."
    )
    caption += (
        f" Windows that are shorter than the rule asks for (orange): {short}."
        if short
        else ""
    )
    return Picture("windows", title, figure, caption)


def _rates(trial: DrawnTrial) -> list[float]:
    return [1 / window.windows[-1].latency_s for window in trial.windows]


def _energies_j(trial: DrawnTrial) -> list[float]:
    return [window.windows[-1].energy_j or 0.0 for window in trial.windows]


def _draw(
    axes: Axes,
    trials: Sequence[DrawnTrial],
    values: Sequence[Sequence[float]],
    label: str,
) -> None:
    for trial, row in zip(trials, values, strict=True):
        if not row:
            continue
        places = trial.number + np.linspace(-_SPREAD, _SPREAD, len(row))
        for place, value, window in zip(places, row, trial.windows, strict=True):
            colour = SERIES[0] if by_the_rule(window) else BAD
            fill = colour if trial.valid else "none"
            axes.plot(place, value, "o", ms=4.5, color=colour, mfc=fill)
        median = statistics.median(row)
        left, right = trial.number - 1.3 * _SPREAD, trial.number + 1.3 * _SPREAD
        axes.plot([left, right], [median, median], color=INK, lw=1.6)
    axes.set(xticks=[trial.number for trial in trials], xlabel="trial", ylabel=label)
    axes.margins(x=0.05, y=0.15)
