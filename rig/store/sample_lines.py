# SPDX-License-Identifier: Apache-2.0
"""The lines of samples.jsonl, written and read: idle times, streams, samples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rig.files import typed
from rig.model.steps import Solve
from rig.model.trial import Crossing, Sample, Streamed, Trial, Window
from rig.store.completion_lines import CostsLine, ScoreLine
from rig.store.session_folder import SAMPLES, read_lines


@dataclass(frozen=True, slots=True)
class WindowLine:
    """A measured window; its energy is None where samples were lost, or there is no
    monitor."""

    phase: str
    start_s: float
    stop_s: float
    latency_s: float
    latency_u_s: float | None
    energy_j: float | None
    energy_u_j: float | None

    @classmethod
    def of(cls, window: Window) -> WindowLine:
        """Return a window as a line has it."""
        return typed.like(cls, window)


@dataclass(frozen=True, slots=True)
class SceneLine:
    """A scene of a stream, and when its first sample was captured."""

    label: str
    onset_s: float


@dataclass(frozen=True, slots=True)
class StreamLine:
    """A stream, from the moment at which it began to its end."""

    step: int
    due: int
    hop_s: float
    window_s: float
    preloaded: bool
    scenes: tuple[SceneLine, ...]
    whole: WindowLine

    @classmethod
    def of(cls, stream: Streamed) -> StreamLine:
        """Return a stream as a line has it."""
        scenes = tuple(map(SceneLine, stream.labels, stream.onsets_s))
        return typed.like(cls, stream, scenes=scenes, whole=WindowLine.of(stream.whole))


@dataclass(frozen=True, slots=True)
class SearchLine:
    """How a search was asked for; it is one to a target, or has a fixed time-out."""

    timeout_s: float
    seed: int
    target: int | None

    @classmethod
    def of(cls, solve: Solve) -> SearchLine:
        """Return a search as a line has it."""
        return typed.like(cls, solve)


@dataclass(frozen=True, slots=True)
class CrossingLine:
    """A threshold of a search, with the window until it was reached; None: it was
    not."""

    threshold: int
    resolved: bool
    by_device: bool
    window: WindowLine | None
    least_s: float | None = typed.optional()
    bounds_j: tuple[float | None, float | None] | None = typed.optional()

    @classmethod
    def of(cls, crossing: Crossing) -> CrossingLine:
        """Return a threshold as a line has it."""
        window = WindowLine.of(crossing.window) if crossing.window else None
        return typed.like(cls, crossing, window=window)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLine:
    """A timed query, one window of a stream, or a search; what others have is None or
    empty."""

    step: int
    indices: tuple[int, ...]
    repeat: int
    window: int | None = typed.optional()
    scene: int | None = typed.optional()
    response: WindowLine | None = typed.optional()
    since_onset: WindowLine | None = typed.optional()
    label: str
    answer: str
    correct: bool
    each: tuple[ScoreLine, ...] = typed.optional(())
    scores: tuple[float, ...] = typed.optional(())
    case: str | None = typed.optional()
    solve: SearchLine | None = typed.optional()
    costs: CostsLine | None = typed.beside("solve")
    crossings: tuple[CrossingLine, ...] = typed.beside("solve", ())
    windows: tuple[WindowLine, ...]

    @classmethod
    def of(cls, sample: Sample) -> SampleLine:
        """Return a sample as a line has it."""
        hop = sample.hop
        return typed.like(
            cls,
            sample,
            window=hop.window if hop else None,
            scene=hop.scene if hop else None,
            response=WindowLine.of(hop.response) if hop else None,
            since_onset=WindowLine.of(hop.since_onset) if hop else None,
            each=tuple(map(ScoreLine.of, sample.each)),
            scores=tuple(sample.scores),
            case=sample.case if sample.scores or sample.solve else None,
            solve=SearchLine.of(sample.solve) if sample.solve else None,
            costs=CostsLine.of(sample.costs) if sample.costs else None,
            crossings=tuple(map(CrossingLine.of, sample.crossings)),
            windows=tuple(map(WindowLine.of, sample.windows)),
        )


@dataclass(frozen=True, slots=True)
class IdleRow:
    """A line of an idle time."""

    idle: WindowLine


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A line of a stream."""

    stream: StreamLine


@dataclass(frozen=True, slots=True)
class TrialLines:
    """All lines of a trial's samples.jsonl."""

    idles: tuple[WindowLine, ...] = ()
    streams: tuple[StreamLine, ...] = ()
    samples: tuple[SampleLine, ...] = ()


def read(folder: Path) -> TrialLines:
    """Read the samples.jsonl of a trial; one that is not there has no lines. Raises
    DataError."""
    place = str(folder / SAMPLES)
    idles = []
    streams = []
    samples = []
    for line in read_lines(folder / SAMPLES):
        if "idle" in line:
            idles.append(typed.from_json(IdleRow, line, place).idle)
        elif "stream" in line:
            streams.append(typed.from_json(StreamRow, line, place).stream)
        else:
            samples.append(typed.from_json(SampleLine, line, place))
    return TrialLines(tuple(idles), tuple(streams), tuple(samples))


def text(trial: Trial) -> str:
    """Return samples.jsonl: idle windows first, then streams, then one line a
    sample."""
    measured = trial.measured
    lines: list[IdleRow | StreamRow | SampleLine] = []
    lines += [IdleRow(WindowLine.of(window)) for window in measured.idles]
    lines += [StreamRow(StreamLine.of(stream)) for stream in measured.streams]
    lines += map(SampleLine.of, measured.samples)
    return "".join(json.dumps(typed.to_json(line)) + "\n" for line in lines)
