# SPDX-License-Identifier: Apache-2.0
"""Searches: how the gap to the target falls over time, seed by seed, and the gaps that
are left, cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rig.model.picture import Picture
from rig.model.scores import Costs
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES
from rig.results import document
from rig.stats.summary import mean
from rig.store import provenance_file, sample_lines, session_folder
from rig.store.sample_lines import SampleLine, SearchLine
from rig.store.session_folder import SessionFolder
from rig.units import quantity

#: The thresholds of the rules, in percent of the target: "0.1, 0.05, 0.01".
_BANDS = (10, 5, 1)
#: Gaps nearer to 0 than this (percent) are drawn on a line, others on a logarithm.
_LINEAR = 1.0
_PANELS = 6
_COLUMNS = 3
#: A gap of so many percent has the strongest colour.
_STRONGEST = 15.0
_CELL = re.compile(r"(\d+)n_([\dp]+)pct")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSearch:
    """A search that gave a vector: its cell, the index of its workload, and its
    line."""

    case: str
    index: int
    solve: SearchLine
    costs: Costs
    line: SampleLine


def pictures(folder: Path) -> list[Picture]:
    """Draw the searches of a session."""
    session = SessionFolder(folder)
    lines = searches(session)
    names = provenance_file.read(session).task.names
    return [over_time(lines, names), heat(lines)]


def searches(session: SessionFolder) -> list[DrawnSearch]:
    """Read the searches of all trials that gave a vector and have a target."""
    trials = document.read(session.path / session_folder.RESULTS).trials
    drawn = []
    for trial in trials:
        for line in sample_lines.read(session.trial(trial.number)).samples:
            if line.solve is None or line.costs is None:
                continue
            search = DrawnSearch(
                case=line.case or "",
                index=line.indices[0],
                solve=line.solve,
                costs=line.costs.costs(),
                line=line,
            )
            if search.costs.official is not None or search.costs.best_known is not None:
                drawn.append(search)
    return drawn


def over_time(lines: Sequence[DrawnSearch], names: Sequence[str] = ()) -> Picture:
    """Draw the gap of each search against the time at which the device knew it, a panel
    for each cell; `names` are those of the task's workloads.
    """
    title = "Cost over time"
    cells = sorted({line.case for line in lines}, key=_order)[-_PANELS:]
    if not cells:
        return Picture(
            "searches",
            title,
            None,
            "Not drawn: no search gave a vector, or none has a target.",
        )
    rows = -(-len(cells) // _COLUMNS)
    figure = Figure(figsize=(10.4, 0.5 + 2.6 * rows), layout="constrained")
    columns = min(len(cells), _COLUMNS)
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
    grid = list(panels.flat)
    for axes, cell in zip(grid, cells, strict=False):
        _draw_cell(axes, [line for line in lines if line.case == cell])
        axes.set_title(cell.replace("n_", " nodes, ").replace("pct", " %"))
    for axes in grid[len(cells) :]:
        axes.set_visible(False)
    _draw_seeds(figure, [line for line in lines if line.case in cells], names)
    figure.supxlabel(
        "time since the workload was loaded and the search began", size=8.5
    )
    figure.supylabel("gap to the target cost (%)", size=8.5)
    caption = (
        "A line a search, a colour a workload (seed), all trials; dots are its marks, "
        "its end is the vector that it returned, "
    )
    caption += (
        "as the host evaluates it. Line at 0: the official target (the best known one "
        "where there is none); shaded: gaps to 10, "
    )
    caption += (
        "5 and 1 %; below 0 the target is beaten. Dotted: the best known costs, where "
        "they are others."
    )
    more = len({line.case for line in lines}) - len(cells)
    caption += f" {more} more cells are not drawn." if more else ""
    return Picture("searches", title, figure, caption)


def _order(case: str) -> tuple[int, float, str]:
    return (*_cell(case), case) if _CELL.fullmatch(case) else (0, 0.0, case)


def _draw_cell(axes: Axes, lines: Sequence[DrawnSearch]) -> None:
    for band in _BANDS:
        axes.axhspan(0, band, color=GOOD, alpha=0.10, lw=0)
    axes.axhline(0, color=INK, lw=0.9)
    workloads = sorted({line.index for line in lines})
    targets = dict.fromkeys(
        (line.index, _target(line), line.costs.best_known) for line in lines
    )
    for index, target, best in targets:
        if best not in (None, target):
            color = SERIES[workloads.index(index) % len(SERIES)]
            axes.axhline(
                _percent(best, target),
                color=color,
                lw=0.6,
                ls=":",
            )
    for line in lines:
        colour = SERIES[workloads.index(line.index) % len(SERIES)]
        target = _target(line)
        at_s = []
        gaps = []
        for crossing in line.line.crossings:
            if crossing.window:
                at_s.append(crossing.window.latency_s)
                gaps.append(_percent(crossing.threshold, target))
        at_s.append(line.line.windows[0].latency_s)
        gaps.append(_percent(line.costs.cost, target))
        axes.plot(at_s, gaps, color=colour, lw=0.8, alpha=0.7, drawstyle="steps-post")
        axes.plot(at_s[:-1], gaps[:-1], "o", ms=2.2, color=colour)
        axes.plot(at_s[-1:], gaps[-1:], "D", ms=3.2, color=colour, mfc="none")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda at_s, _: quantity(at_s, "s"))
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=0.7)
    labels = [*map(str, _BANDS), "0", "50", "100"]
    axes.set_yticks([*_BANDS, 0, 50, 100], labels=labels)
    axes.minorticks_off()


def _draw_seeds(
    figure: Figure, lines: Sequence[DrawnSearch], names: Sequence[str]
) -> None:
    """Say which colour is which seed, where it is the same one in every panel."""
    seeds: dict[int, set[str]] = {}
    for case in {line.case for line in lines}:
        workloads = sorted({line.index for line in lines if line.case == case})
        for place, index in enumerate(workloads):
            name = names[index] if index < len(names) else ""
            seeds.setdefault(place, set()).add(name.removeprefix(f"{case}_s"))
    if not all(len(found) == 1 and all(found) for found in seeds.values()):
        return
    patches = [
        Patch(
            color=SERIES[place % len(SERIES)], label=f"seed {next(iter(seeds[place]))}"
        )
        for place in sorted(seeds)
    ]
    figure.legend(
        handles=patches, loc="outside upper left", ncols=len(patches), handlelength=1.0
    )


def _target(line: DrawnSearch) -> int:
    """Return the official target of a search, the best known one where there is
    none."""
    target = (
        line.costs.best_known if line.costs.official is None else line.costs.official
    )
    assert target is not None
    return target


def _percent(cost: int, target: int) -> float:
    if target:
        return 100.0 * (cost - target) / abs(target)
    return 0.0 if cost == target else 100.0


def heat(lines: Sequence[DrawnSearch]) -> Picture:
    """Draw the mean gap of each cell, nodes by density, a panel for each fixed
    time-out."""
    title = "Gaps by size and density"
    fixed = [
        line
        for line in lines
        if line.solve.target is None and _CELL.fullmatch(line.case)
    ]
    if not fixed:
        return Picture(
            "gaps", title, None, "Not drawn: no search had a fixed time-out."
        )
    timeouts_s = sorted({line.solve.timeout_s for line in fixed})[-_PANELS:]
    cells = {_cell(line.case) for line in fixed}
    nodes = sorted({cell[0] for cell in cells})
    densities = sorted({cell[1] for cell in cells})
    columns = min(len(timeouts_s), _COLUMNS)
    rows = -(-len(timeouts_s) // columns)
    figure = Figure(
        figsize=(10.4, 0.6 + rows * (0.7 + 0.34 * len(nodes))), layout="constrained"
    )
    grid = list(
        figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    )
    colours = LinearSegmentedColormap.from_list("gap", [GOOD, "#ffffff", BAD])
    for axes, timeout_s in zip(grid, timeouts_s, strict=False):
        of_cell: dict[tuple[int, float], list[float]] = {}
        for line in fixed:
            if line.solve.timeout_s == timeout_s:
                percent = _percent(line.costs.cost, _target(line))
                of_cell.setdefault(_cell(line.case), []).append(percent)
        gaps = np.full((len(nodes), len(densities)), np.nan)
        for (count, density), percents in of_cell.items():
            gaps[nodes.index(count), densities.index(density)] = mean(percents)
        axes.imshow(
            gaps,
            cmap=colours,
            vmin=-_STRONGEST,
            vmax=_STRONGEST,
            aspect="auto",
            alpha=0.8,
        )
        _write_gaps(axes, gaps)
        axes.set(
            xticks=range(len(densities)),
            xticklabels=[f"{density:g} %" for density in densities],
        )
        yticklabels = [str(count) for count in nodes]
        axes.set(
            yticks=range(len(nodes)),
            yticklabels=yticklabels,
            title=quantity(timeout_s, "s"),
        )
    for axes in grid[len(timeouts_s) :]:
        axes.set_visible(False)
    figure.supxlabel("density", size=8.5)
    figure.supylabel("nodes", size=8.5)
    caption = (
        "Mean gap to the official target (the best known one where there is none) in "
        "percent, over seeds and trials, after each "
    )
    caption += "time-out. Green: the target is beaten."
    return Picture("gaps", title, figure, caption)


def _cell(case: str) -> tuple[int, float]:
    match = _CELL.fullmatch(case)
    assert match is not None
    return int(match[1]), float(match[2].replace("p", "."))


def _write_gaps(axes: Axes, gaps: np.ndarray[Any, Any]) -> None:
    for (row, column), gap in np.ndenumerate(gaps):
        shown = "0" if gap == 0 else f"{gap:+.1f}".replace("-", "−")
        if np.isnan(gap):
            shown = "–"
        color = FAINT if np.isnan(gap) else "#1a1a1c"
        axes.text(
            column,
            row,
            shown,
            ha="center",
            va="center",
            size=8,
            color=color,
        )
