# SPDX-License-Identifier: Apache-2.0
"""Plots of a stream: decisions beside the scenes that were played, and the time of each
decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rig.model.picture import Picture
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES
from rig.results import document
from rig.results.document import TrialResult
from rig.store import sample_lines, session_folder
from rig.store.sample_lines import StreamLine, WindowLine
from rig.store.session_folder import SessionFolder

#: A longer stream is shown by its beginning.
_SHOWN_S = 60.0


@dataclass(frozen=True, slots=True)
class DrawnDecision:
    """A decision: the answer, and the window from its newest sample to it."""

    answer: str
    correct: bool
    response: WindowLine


def pictures(folder: Path, deadline_s: float) -> list[Picture]:
    """Draw the first stream of the first valid trial, and the deadlines of all trials;
    a `deadline_s` of 0 is a hop.
    """
    session = SessionFolder(folder)
    trials = document.read(folder / session_folder.RESULTS).trials
    return [
        decisions(session, trials, deadline_s),
        deadlines(session, trials, deadline_s),
    ]


def decisions(
    session: SessionFolder, trials: Sequence[TrialResult], deadline_s: float
) -> Picture:
    """Draw the scenes of a trial's first stream, the decisions under them, and their
    latencies."""
    title = "Decisions and scenes"
    chosen = next((trial for trial in trials if trial.valid), trials[0])
    lines = sample_lines.read(session.trial(chosen.number))
    stream = next(iter(lines.streams), None)
    hops = []
    for line in lines.samples:
        is_of_stream = stream is not None and line.step == stream.step
        if line.response is not None and is_of_stream:
            hops.append(DrawnDecision(line.answer, line.correct, line.response))
    if stream is None or not hops:
        return Picture("decisions", title, None, "Not drawn: no stream was answered.")
    zero_s = stream.whole.start_s
    stop_s = min(stream.whole.stop_s - zero_s, _SHOWN_S)
    figure = Figure(figsize=(10.4, 3.9), layout="constrained")
    bars, times = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, 1.5])
    labels = sorted(
        {scene.label for scene in stream.scenes} | {hop.answer for hop in hops}
    )
    colours = {label: SERIES[place % len(SERIES)] for place, label in enumerate(labels)}
    _draw_scenes(bars, stream, zero_s, colours)
    _draw_decisions(bars, hops, zero_s, stream.whole.stop_s - zero_s, colours)
    bars.set(
        yticks=[1, 0],
        yticklabels=["played", "decided"],
        ylim=(-0.6, 1.6),
        xlim=(0, stop_s),
    )
    _draw_latencies(times, hops, zero_s, deadline_s or stream.hop_s)
    for axes in (bars, times):
        for scene in stream.scenes[1:]:
            axes.axvline(scene.onset_s - zero_s, color=INK, lw=0.8, ls=":")
    times.set_xlabel(
        f"time from the beginning of the stream, trial {chosen.number} (s)"
    )
    patches = [Patch(color=colours[label], label=label) for label in labels]
    figure.legend(
        handles=patches, loc="outside upper left", ncols=len(labels), handlelength=1.0
    )
    caption = (
        "Dotted: a new scene begins. A decision stands from its mark to the next; "
        "hatched where wrong, by the scene in which "
    )
    caption += (
        "most of the newest hop lies. Below: from the moment a window was captured to "
        "its decision; shaded: the deadline."
    )
    caption += " Only the beginning is shown." if stop_s == _SHOWN_S else ""
    return Picture("decisions", title, figure, caption)


def deadlines(
    session: SessionFolder, trials: Sequence[TrialResult], deadline_s: float
) -> Picture:
    """Draw each trial as a line of time: its decisions, those that missed the deadline,
    onsets."""
    title = "Deadlines"
    rows = {
        trial.number: sample_lines.read(session.trial(trial.number)) for trial in trials
    }
    if not any(lines.streams for lines in rows.values()):
        return Picture("deadlines", title, None, "Not drawn: no stream was played.")
    figure = Figure(figsize=(10.4, 0.9 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots()
    counts = []
    for number, lines in rows.items():
        due = sum(stream.due for stream in lines.streams)
        in_time = 0
        for stream in lines.streams:
            zero_s = stream.whole.start_s
            onsets_s = [scene.onset_s - zero_s for scene in stream.scenes]
            axes.vlines(onsets_s, number - 0.3, number + 0.3, color=INK, lw=1.0)
            limit_s = deadline_s or stream.hop_s
            mine = [
                line.response
                for line in lines.samples
                if line.response is not None and line.step == stream.step
            ]
            kept = [
                window.stop_s - zero_s for window in mine if window.latency_s <= limit_s
            ]
            late = [
                window.stop_s - zero_s for window in mine if window.latency_s > limit_s
            ]
            axes.plot(kept, [number] * len(kept), "o", ms=2.4, color=SERIES[0])
            axes.plot(late, [number] * len(late), "o", ms=5, color=BAD)
            in_time += len(kept)
        counts.append(f"trial {number}: {due - in_time} of {due}")
    yticklabels = [str(number) for number in rows]
    ylim = (max(rows) + 0.6, min(rows) - 0.6)
    axes.set(
        yticks=list(rows),
        yticklabels=yticklabels,
        ylim=ylim,
        xlabel="time from the beginning of the stream (s)",
        ylabel="trial",
    )
    caption = (
        "Each dot is a decision, a large one came after its deadline; upright: a new"
        " scene begins. Deadlines missed, windows without a decision included:"
        f" {'; '.join(counts)}."
    )
    return Picture("deadlines", title, figure, caption)


def _draw_scenes(
    axes: Axes, stream: StreamLine, zero_s: float, colours: dict[str, str]
) -> None:
    starts_s = [scene.onset_s - zero_s for scene in stream.scenes]
    stops_s = [*starts_s[1:], stream.whole.stop_s - zero_s]
    for scene, start_s, stop_s in zip(stream.scenes, starts_s, stops_s, strict=True):
        axes.barh(
            1,
            stop_s - start_s,
            left=start_s,
            height=0.8,
            color=colours[scene.label],
            alpha=0.75,
            lw=0,
        )


def _draw_decisions(
    axes: Axes,
    hops: Sequence[DrawnDecision],
    zero_s: float,
    end_s: float,
    colours: dict[str, str],
) -> None:
    starts_s = [hop.response.stop_s - zero_s for hop in hops]
    for hop, start_s, stop_s in zip(
        hops, starts_s, [*starts_s[1:], end_s], strict=True
    ):
        wrong = "" if hop.correct else "////"
        (bar,) = axes.barh(
            0,
            stop_s - start_s,
            left=start_s,
            height=0.8,
            color=colours[hop.answer],
            alpha=0.75,
            lw=0,
        )
        bar.set(hatch=wrong, edgecolor=BAD)


def _draw_latencies(
    axes: Axes, hops: Sequence[DrawnDecision], zero_s: float, deadline_s: float
) -> None:
    latencies_ms = [hop.response.latency_s * 1e3 for hop in hops]
    late = [latency > deadline_s * 1e3 for latency in latencies_ms]
    axes.axhspan(0, deadline_s * 1e3, color=GOOD, alpha=0.12, lw=0)
    at_s = [hop.response.stop_s - zero_s for hop in hops]
    axes.vlines(at_s, 0, latencies_ms, color=FAINT, lw=0.8)
    for beyond, colour in ((False, SERIES[0]), (True, BAD)):
        mine = [place for place, is_late in enumerate(late) if is_late is beyond]
        mine_s = [at_s[place] for place in mine]
        mine_ms = [latencies_ms[place] for place in mine]
        axes.plot(mine_s, mine_ms, "o", ms=3.2, color=colour)
    ylim = (
        0,
        1.15 * max(*latencies_ms, min(deadline_s * 1e3, 4 * max(latencies_ms))),
    )
    axes.set(
        ylabel="decided after (ms)",
        ylim=ylim,
    )
