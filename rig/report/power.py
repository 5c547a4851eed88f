# SPDX-License-Identifier: Apache-2.0
"""The power over one sample with its SYNC line, and how far SYNC edges lie off the time
base."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rig.errors import DataError
from rig.report.samples import TrialSamples
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES, Plot, svg
from rig.results.document import Results
from rig.store import completion_lines, session_folder
from rig.store.session_folder import SessionFolder
from rig.timebase.align import RESIDUAL_LIMIT_PERIODS
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.trace.reduced import ReducedSpan
from rig.trace.trace import Gap, Trace
from rig.units import quantity, scale

#: More samples of the monitor than this are drawn as columns of their mean, smallest
#: and largest; so many are held at a time.
_COLUMNS = 1200
_HELD = 4_000_000
#: More points than this become an image.
_DENSE = 2000

View = tuple[float, float]


def open_trace(session: SessionFolder, number: int, name: str, hashed: bool) -> Trace:
    """Open a trace that is as it was recorded: the reader of a damaged one may crash
    the process. `hashed`: that is known already.
    """
    folder = session.recorded(number)
    path = folder / name
    recorded = []
    for event in session.journal().events:
        if session.trial(event.trial) == folder:
            recorded.append(event.files.get(name))
    if not path.exists() or not (hashed or session_folder.sha256(path) in recorded):
        raise DataError(f"{path} is missing or was changed")
    return Trace.open(path)


def residual_limit_s(results: Results) -> float:
    """Return how far an edge may lie off the line, as rig/timebase/align.py has it for
    the first monitor.
    """
    provenance = results.provenance
    edge_hz = next(iter(provenance.monitors.values())).edge_hz
    return RESIDUAL_LIMIT_PERIODS / edge_hz + 1 / provenance.sut.tick_hz


def power(trace: Trace, trial: TrialSamples, results: Results) -> Plot:
    """Draw the power over the sample nearest to the median latency, its phases, idle
    power and the SYNC line.
    """
    totals_s = trial.latency_s.sum(axis=1)
    place = int(np.argmin(np.abs(totals_s - np.median(totals_s))))
    zero_s = float(trial.start_s[place, 0])
    view_s = _view(trace, zero_s, float(trial.stop_s[place, -1]))
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    axes, sync = figure.subplots(2, 1, sharex=True, height_ratios=[9, 1])
    factor, how = draw_power(axes, trace, view_s, zero_s)
    _draw_phases((axes, sync), trial, place, results.provenance.task.phases)
    _draw_gaps(axes, trace, view_s, zero_s)
    if trial.idle_w is not None:
        idle = f"idle power: {quantity(trial.idle_w, 'W')}"
        dashes = (0, (5, 3))
        axes.axhline(trial.idle_w * factor, color=INK, ls=dashes, lw=0.9, label=idle)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
    _draw_sync(sync, trace, view_s, zero_s)
    figure.legend(
        loc="outside upper left", ncols=3, handlelength=1.4, columnspacing=1.6
    )
    runs = f", {trial.repeat} runs of each phase in a row" if trial.repeat > 1 else ""
    which = (
        f"Trial {trial.trial}, sample {place + 1} of {len(totals_s)}: the one nearest"
        f" to the median latency{runs}."
    )
    means = any(_is_in_view(span, trace, view_s) for span in trace.reduced)
    left = " Dots: means in place of samples." if means else ""
    return (
        svg(figure, "power", results.labels),
        f"{which} {how} Dotted: SYNC marks.{left}",
    )


def _view(trace: Trace, start_s: float, stop_s: float) -> View:
    """Return a window with a margin on both sides, up to the marks of the
    neighbours."""
    near_s = 4 / min(trace.edge_hz, trace.sample_hz)
    far_s = max(0.12 * (stop_s - start_s), near_s)
    before = trace.falls_s[trace.falls_s < start_s - near_s][-1:].tolist()
    after = trace.falls_s[trace.falls_s > stop_s + near_s][:1].tolist()
    return max(start_s - far_s, 0.0, *before), min(
        stop_s + far_s, trace.duration_s, *after
    )


def draw_power(
    axes: Axes, trace: Trace, view_s: View, zero_s: float
) -> tuple[float, str]:
    """Draw the samples, or columns of them, and return the factor of the axis and how
    it was drawn.
    """
    first = math.ceil(view_s[0] * trace.sample_hz)
    last = math.floor(view_s[1] * trace.sample_hz)
    per_column = math.ceil((last - first) / _COLUMNS)
    block = []
    held = per_column * max(_HELD // per_column, 1)
    for at in range(first, last - per_column + 1, held):
        count = min(held, (last - at) // per_column * per_column)
        # From the middle of the first sample to the middle of the last: these are read
        # whole.
        _, power_w = trace.power_w(
            (at + 0.5) / trace.sample_hz, (at + count - 0.5) / trace.sample_hz
        )
        columns = power_w.reshape(-1, per_column)
        least_w = columns.min(axis=1)
        average_w = columns.mean(axis=1)
        block.append([least_w, average_w, columns.max(axis=1)])
    low_w, mean_w, high_w = np.concatenate(block, axis=1)
    factor, unit = scale(float(high_w.max()), "W")
    samples = first + per_column * (np.arange(len(mean_w)) + 0.5)
    times_ms = (samples / trace.sample_hz - zero_s) * 1e3
    axes.fill_between(
        times_ms, low_w * factor, high_w * factor, color=FAINT, alpha=0.45, lw=0
    )
    axes.plot(times_ms, mean_w * factor, color=INK, lw=0.9, drawstyle="steps-mid")
    axes.set_ylabel(f"power ({unit})")
    if per_column == 1:
        return factor, ""
    return (
        factor,
        (
            f"Line: means of {per_column} samples each; grey: the smallest and"
            " largest of them."
        ),
    )


def _draw_phases(
    both: Sequence[Axes], trial: TrialSamples, place: int, phases: Sequence[str]
) -> None:
    upper = both[0]
    zero_s = trial.start_s[place, 0]
    starts_ms = (trial.start_s[place] - zero_s) * 1e3
    stops_ms = (trial.stop_s[place] - zero_s) * 1e3
    for number, name in enumerate(phases):
        start_ms = starts_ms[number]
        stop_ms = stops_ms[number]
        latency_s = float(trial.latency_s[place, number])
        energy_j = float(trial.energy_j[place, number])
        label = (
            f"{name}: {quantity(latency_s, 's')},"
            f" {quantity(energy_j / latency_s, 'W')}, {quantity(energy_j, 'J')}"
        )
        colour = SERIES[number % len(SERIES)]
        upper.axvspan(start_ms, stop_ms, color=colour, alpha=0.22, lw=0, label=label)
        if stop_ms - start_ms > 0.08 * (stops_ms[-1] - starts_ms[0]):
            at = ((start_ms + stop_ms) / 2, 0.985)
            units = ("data", "axes fraction")
            upper.annotate(
                name,
                at,
                xycoords=units,
                ha="center",
                va="top",
                weight="bold",
                size=9.5,
            )
    for axes in both:
        for mark_ms in [*starts_ms, stops_ms[-1]]:
            axes.axvline(mark_ms, color=INK, lw=0.7, ls=":")


def _draw_gaps(axes: Axes, trace: Trace, view_s: View, zero_s: float) -> None:
    """Draw where samples are lost, and where means stand in their place."""
    stretches: list[Gap | ReducedSpan] = [*trace.gaps, *trace.reduced]
    for stretch in stretches:
        if not _is_in_view(stretch, trace, view_s):
            continue
        start_ms = (stretch.start / trace.sample_hz - zero_s) * 1e3
        stop_ms = (stretch.stop / trace.sample_hz - zero_s) * 1e3
        colour, hatch = (BAD, "////") if isinstance(stretch, Gap) else (FAINT, "....")
        axes.axvspan(
            start_ms, stop_ms, facecolor="none", edgecolor=colour, hatch=hatch, lw=0
        )


def _is_in_view(stretch: Gap | ReducedSpan, trace: Trace, view_s: View) -> bool:
    start_s = stretch.start / trace.sample_hz
    stop_s = stretch.stop / trace.sample_hz
    return start_s < view_s[1] and stop_s > view_s[0]


def _draw_sync(axes: Axes, trace: Trace, view_s: View, zero_s: float) -> None:
    edges = [(at, 0) for at in trace.falls_s.tolist()]
    edges += [(at, 1) for at in trace.rises_s.tolist()]
    edges.sort()
    inside = [(at, level) for at, level in edges if view_s[0] <= at <= view_s[1]]
    before = 1 - inside[0][1] if inside else 1
    after = inside[-1][1] if inside else before
    points = [(view_s[0], before), *inside, (view_s[1], after)]
    times_ms = [(at - zero_s) * 1e3 for at, _ in points]
    levels = [level for _, level in points]
    axes.plot(times_ms, levels, color=INK, lw=0.9, drawstyle="steps-post")
    xlim = [(at - zero_s) * 1e3 for at in view_s]
    axes.set(
        ylim=(-0.25, 1.25),
        yticks=[],
        xlabel="time from the first mark (ms)",
        xlim=xlim,
    )
    axes.set_ylabel("SYNC", rotation=0, ha="right", va="center")


def residuals(
    session: SessionFolder, trace: Trace, number: int, results: Results
) -> Plot:
    """Draw the distance of the SYNC edges of one trial from the fitted line; edges that
    pair with no mark are left out.
    """
    timebase = next(
        trial.timebase for trial in results.trials if trial.number == number
    )
    assert timebase is not None
    if results.provenance.sut.clock == EDGE_CLOCK:
        return (
            Markup(),
            (
                "Not drawn: the device tells no time, and the edges themselves are the"
                " times of its marks."
            ),
        )
    if timebase.nominal_rate:
        return (
            Markup(),
            (
                "Not drawn: no line is fitted, as marks and trace are tied at one"
                " instant, and clocks are taken at their word."
            ),
        )
    completions = completion_lines.read(session.recorded(number))
    marks = chain.from_iterable(done.completion.marks for done in completions)
    marks_s = np.array([timebase.seconds(mark.tick) for mark in marks])
    halfway_s = (trace.falls_s[1:] + trace.falls_s[:-1]) / 2
    nearest_s = trace.falls_s[np.searchsorted(halfway_s, marks_s)]
    away_us = (nearest_s - marks_s) * 1e6
    paired = np.abs(away_us) <= timebase.residual_max_s * 1e6 + 1e-6
    limit_s = residual_limit_s(results)
    rail = next(iter(results.provenance.monitors))
    figure = Figure(figsize=(10.4, 2.5), layout="constrained")
    axes = figure.subplots()
    axes.axhspan(-limit_s * 1e6, limit_s * 1e6, color=GOOD, alpha=0.16, lw=0)
    dense = len(marks_s) > _DENSE
    colour = SERIES[0]
    axes.plot(
        marks_s[paired], away_us[paired], "o", ms=2.2, color=colour, rasterized=dense
    )
    axes.set(xlabel=f"time in trial {number} (s)", ylabel="edge minus fitted line (µs)")
    whose = f" of rail {rail}" if rail else ""
    caption = (
        f"Trial {number}, every paired SYNC edge{whose}. Shaded: the limit, "
        f"{RESIDUAL_LIMIT_PERIODS:.0f} samples of the SYNC input"
    )
    caption += " and a tick of the device."
    return svg(figure, "residuals", results.labels), caption
