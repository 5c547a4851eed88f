# SPDX-License-Identifier: Apache-2.0
"""One trial: windows, samples, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rig.model.columns import MeasuredColumns, WindowArrays
from rig.model.effects import Effects, Influence
from rig.model.grid import Covered
from rig.model.metric import Metric
from rig.problems import Problem
from rig.timebase.timebase import Timebase

if TYPE_CHECKING:
    from rig.model.scores import Costs, Score
    from rig.model.steps import Solve


@dataclass(frozen=True, slots=True)
class Window:
    """One phase of one query, or one idle time: when (seconds of the first monitor),
    how long, how much energy.

    `latency_s` comes from device ticks scaled by the fit, `energy_j` from exact
    integration between the fitted edges, summed over all rails; both are divided by the
    number of repetitions, and so are the `effects` of their uncertainties.
    `energy_j` is None where samples were lost or no monitor recorded.
    """

    phase: str
    start_s: float
    stop_s: float
    latency_s: float
    energy_j: float | None
    effects: Effects = field(default_factory=Effects)

    @property
    def latency_u_s(self) -> float:
        """Standard uncertainty of the latency, in seconds."""
        return self.effects.latency_u_s

    @property
    def energy_u_j(self) -> float | None:
        """Standard uncertainty of the energy, in joules."""
        return None if self.energy_j is None else self.effects.energy_u_j


@dataclass(frozen=True, slots=True)
class Hop:
    """A window of a stream, as part of its sample: its number, the number of its scene,
    and two times that end at its decision.

    `response` begins when the window's last sample was captured, `since_onset` when the
    first sample of its scene was. Neither has an energy.
    """

    window: int
    scene: int
    response: Window
    since_onset: Window


@dataclass(frozen=True, slots=True)
class Streamed:
    """One stream: from its begin to its end (`whole`), and its scenes.

    `labels`, `onsets_s` (when their first samples were captured, seconds of the first
    monitor) and `indices` (of the task's samples) are of its scenes. `due` windows were
    asked for, one every `hop_s`.
    """

    step: int
    whole: Window
    labels: tuple[str, ...]
    onsets_s: tuple[float, ...]
    due: int
    hop_s: float
    window_s: float
    preloaded: bool
    indices: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Crossing:
    """One threshold of a search: the window from its start until the device knew it
    reached; None where it did not reach it.

    That moment is reported by the device (`by_device`), by its timer, or else it is
    that of the mark. `resolved` is False where the window is too short for the monitor
    or for the SYNC pulse. Then it is bounded: it is not longer than stated, nor shorter
    than `least_s` (SYNC pulses may have delayed a mark, or the search itself); its
    energy, computed from the average power of the next window that is resolved, lies
    within `bounds_j`. None: the window's own values.
    """

    threshold: int
    window: Window | None
    resolved: bool = True
    by_device: bool = False
    least_s: float | None = None
    bounds_j: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed query, or one window of a stream: its windows in the task's order of
    phases, and how the answer scored.

    `scores` and `case` as of a task's Score; where it is not `timed`, only the answer
    counts. A batch has one window, and `each` of its samples a score, in the order of
    `indices`; it has no label and answer itself, and is correct when all are. A search
    is `solve`, with its thresholds as `crossings`, and `costs` unless its answer was of
    no use.
    """

    step: int
    indices: tuple[int, ...]
    repeat: int
    windows: tuple[Window, ...]
    label: str
    answer: str
    correct: bool
    scores: tuple[float, ...] = ()
    case: str = ""
    timed: bool = True
    each: tuple[Score, ...] = ()
    hop: Hop | None = None
    solve: Solve | None = None
    costs: Costs | None = None
    crossings: tuple[Crossing, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was measured in one trial: timed samples, idle windows and streams, in
    the order they happened.
    """

    samples: tuple[Sample, ...]
    idles: tuple[Window, ...]
    streams: tuple[Streamed, ...] = ()

    @property
    def columns(self) -> MeasuredColumns:
        """Its samples and idle times as columns, made at each call; raises ValueError
        where samples differ in the number of their windows.
        """
        width = len(self.samples[0].windows) if self.samples else 0
        windows: list[Window] = []
        members: list[tuple[int, int]] = []
        for row, sample in enumerate(self.samples):
            windows += sample.windows
            members += [(row, index) for index in sample.indices]
        right = [sample.correct for sample in self.samples]
        answered = [bool(sample.answer) for sample in self.samples]
        repeats = [sample.repeat for sample in self.samples]
        return MeasuredColumns(
            samples=_arrays(windows, (len(self.samples), width)),
            idles=_arrays(self.idles, (len(self.idles),)),
            right=np.array(right, np.bool_),
            answered=np.array(answered, np.bool_),
            repeats=np.array(repeats, np.int64),
            members=np.array(members, np.int64).reshape(-1, 2),
        )


def _arrays(windows: Sequence[Window], shape: tuple[int, ...]) -> WindowArrays:
    latencies_s = [window.latency_s for window in windows]
    return WindowArrays.of(latencies_s, [window.energy_j for window in windows], shape)


class Varied(Measured):
    """A trial with windows that were moved, or without some of its samples.

    An uncertainty budget needs hundreds: what a scenario does not ask for is not made,
    and columns take a hundredth of the time of samples.
    """

    __slots__ = ("_columns", "_made", "_whole")
    _whole: Callable[[], Measured]
    _columns: Callable[[], MeasuredColumns]
    _made: Measured | None

    def __init__(
        self, whole: Callable[[], Measured], columns: Callable[[], MeasuredColumns]
    ) -> None:
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_made", None)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples as they are now."""
        return self._all().samples

    @property
    def idles(self) -> tuple[Window, ...]:
        """The idle times as they are now."""
        return self._all().idles

    @property
    def streams(self) -> tuple[Streamed, ...]:
        """The streams as they are now."""
        return self._all().streams

    @property
    def columns(self) -> MeasuredColumns:
        """Samples and idle times as they are now."""
        return self._columns()

    def _all(self) -> Measured:
        made = self._made or self._whole()
        object.__setattr__(self, "_made", made)
        return made


@dataclass(frozen=True, slots=True)
class Counts:
    """Marks of a trial, edges that its first monitor saw, and pairs that were made of
    them."""

    marks: int = 0
    edges: int = 0
    pairs: int = 0

    @classmethod
    def sum_of(cls, several: Iterable[Counts]) -> Counts:
        """Return the counts of several recordings together."""
        added = map(sum, zip(*map(astuple, several), strict=True))
        return cls(*added)


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial, reduced: its metrics, the fit of its time base (of the first rail;
    `rails` has all), and its problems; valid when it has none. `lines` state its
    results in the words of its benchmark, where that has any; it was recorded in so
    many `segments`.
    """

    number: int
    seed: int
    measured: Measured
    metrics: dict[str, Metric]
    timebase: Timebase | None
    problems: tuple[Problem, ...] = ()
    retransmissions: int = 0
    counts: Counts = field(default_factory=Counts)
    rails: dict[str, Timebase] = field(default_factory=dict)
    influences: dict[str, dict[str, Influence]] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    segments: int = 1
    survey: tuple[Covered, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the trial counts."""
        return not self.problems
