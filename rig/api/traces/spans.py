# SPDX-License-Identifier: Apache-2.0
"""Spans of a trial for drawing: each measured window, and the phases of warm-up
queries, as columns of numpy arrays in the seconds of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Int64s

Array = NDArray[np.float64]

#: Kinds of spans.
KINDS = ("idle", "stream", "sample", "crossing", "warm-up")
IDLE, STREAM, SAMPLE, CROSSING, WARM_UP = range(len(KINDS))
#: No step, no sample; whether an answer is right is not known.
NONE = -1


@dataclass(frozen=True, slots=True)
class TrialSpan:
    """A span: a phase of a step, from `start_s` to `stop_s`; `sample` is the first of
    its samples. Unknown values are None; energy and latency are those of one of
    `repeat` runs, and so are their standard uncertainties, `energy_u_j` and
    `latency_u_s`.
    """

    kind: str
    phase: str
    start_s: float
    stop_s: float
    step: int | None
    sample: int | None
    repeat: int
    latency_s: float | None
    latency_u_s: float | None
    energy_j: float | None
    energy_u_j: float | None
    correct: bool | None

    @property
    def warm_up(self) -> bool:
        """Whether it is of a query that does not count."""
        return self.kind == KINDS[WARM_UP]

    @property
    def flags(self) -> tuple[str, ...]:
        """Return what there is to say of it: "warm-up", "wrong", "no energy"."""
        has_no_energy = self.energy_j is None and not self.warm_up
        states = {
            "warm-up": self.warm_up,
            "wrong": self.correct is False,
            "no energy": has_no_energy,
        }
        return tuple(word for word, holds in states.items() if holds)


def _known_value(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _known_count(count: int) -> int | None:
    return None if count == NONE else int(count)


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of a trial in the order of their starts, a column each.

    `kind` counts in KINDS, `phase` in `phases`; `step` and `sample` are NONE, and
    energies and latencies NaN, where there are none; `correct` is 1, 0, or NONE without
    a score. `reached_s` is the latest stop of this span and all before it: the first
    span that reaches a moment is found by it.
    """

    phases: tuple[str, ...]
    start_s: Array
    stop_s: Array
    reached_s: Array
    kind: Int64s
    phase: Int64s
    step: Int64s
    sample: Int64s
    repeat: Int64s
    latency_s: Array
    latency_u_s: Array
    energy_j: Array
    energy_u_j: Array
    correct: Int64s

    def __len__(self) -> int:
        return len(self.start_s)

    def __getitem__(self, place: int) -> TrialSpan:
        correct = _known_count(self.correct[place])
        return TrialSpan(
            kind=KINDS[int(self.kind[place])],
            phase=self.phases[int(self.phase[place])],
            start_s=float(self.start_s[place]),
            stop_s=float(self.stop_s[place]),
            step=_known_count(self.step[place]),
            sample=_known_count(self.sample[place]),
            repeat=int(self.repeat[place]),
            latency_s=_known_value(self.latency_s[place]),
            latency_u_s=_known_value(self.latency_u_s[place]),
            energy_j=_known_value(self.energy_j[place]),
            energy_u_j=_known_value(self.energy_u_j[place]),
            correct=None if correct is None else bool(correct),
        )

    def __iter__(self) -> Iterator[TrialSpan]:
        return (self[place] for place in range(len(self)))

    def within(self, start_s: float, stop_s: float) -> NDArray[np.intp]:
        """Return the places of the spans that touch a stretch of time."""
        first = int(np.searchsorted(self.reached_s, start_s, side="right"))
        last = int(np.searchsorted(self.start_s, stop_s, side="left"))
        inside = np.arange(first, max(first, last))
        return inside[self.stop_s[inside] > start_s]

    @property
    def borders_s(self) -> Array:
        """All starts and stops, ascending, each once."""
        return np.unique(np.concatenate([self.start_s, self.stop_s]))
