# SPDX-License-Identifier: Apache-2.0
"""The lines of samples.jsonl as frozen dataclasses, for those who read them; rig/store/codec.py
writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.model.scores import Costs
from rig.store import typed
from rig.store.session_folder import SAMPLES, read_lines


@dataclass(frozen=True, slots=True)
class WindowLine:
    """A measured window; its energy is None where samples were lost, or there is no monitor."""

    phase: str
    start_s: float
    stop_s: float
    latency_s: float
    latency_u_s: float | None
    energy_j: float | None
    energy_u_j: float | None


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


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """How the answer to one sample of a batch scored."""

    label: str
    answer: str
    scores: tuple[float, ...] = typed.optional(())
    case: str | None = typed.optional()
    costs: Costs | None = typed.optional()
    fault: str | None = typed.optional()


@dataclass(frozen=True, slots=True)
class SearchLine:
    """How a search was asked for; it is one to a target, or has a fixed time-out."""

    timeout_s: float
    seed: int
    target: int | None


@dataclass(frozen=True, slots=True)
class CrossingLine:
    """A threshold of a search, with the window until it was reached; None: it was not."""

    threshold: int
    resolved: bool
    by_device: bool
    window: WindowLine | None
    least_s: float | None = typed.optional()
    bounds_j: tuple[float | None, float | None] | None = typed.optional()


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLine:
    """A timed query, one window of a stream, or a search; what others have is None or empty."""

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
    costs: Costs | None = typed.optional()
    crossings: tuple[CrossingLine, ...] = typed.optional(())
    windows: tuple[WindowLine, ...]


@dataclass(frozen=True, slots=True)
class TrialLines:
    """All lines of a trial's samples.jsonl."""

    idles: tuple[WindowLine, ...] = ()
    streams: tuple[StreamLine, ...] = ()
    samples: tuple[SampleLine, ...] = ()


def read(folder: Path) -> TrialLines:
    """Read the samples.jsonl of a trial; one that is not there has no lines. Raises DataError."""
    place = str(folder / SAMPLES)
    idles = []
    streams = []
    samples = []
    for line in read_lines(folder / SAMPLES):
        match line:
            case {"idle": window}:
                idles.append(typed.from_json(WindowLine, window, place))
            case {"stream": stream}:
                streams.append(typed.from_json(StreamLine, stream, place))
            case _:
                samples.append(typed.from_json(SampleLine, line, place))
    return TrialLines(tuple(idles), tuple(streams), tuple(samples))
