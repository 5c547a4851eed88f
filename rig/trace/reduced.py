# SPDX-License-Identifier: Apache-2.0
"""Reduced spans of a trace: stretches of data transfer to the device, for which means
are kept in place of samples.

In the file, current and voltage then hold the samples outside of the spans, one after
the other. Means of current, voltage and power over `every` samples each are signals of
their own, of the whole recording. Numbers of samples count the recording in all other
modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.arrays import Float32s, Int64s
from rig.errors import DataError
from rig.files import json_lines

#: Spans of a trace, a line each, beside it.
REDUCED = "reduced.jsonl"
CURRENT_MEAN = 4
VOLTAGE_MEAN = 5
POWER_MEAN = 6
#: Each signal of samples with that of its means.
MEANS = {1: CURRENT_MEAN, 2: VOLTAGE_MEAN}
#: About so many means a second are kept. A slower monitor is not reduced: little would
#: be saved.
MEAN_HZ = 1000.0
LEAST_HZ = 20 * MEAN_HZ
#: So much on each side of an edge of SYNC is always kept.
MARGIN_S = 0.01

#: A mean of more samples is no trace's: those are of a hundred times the fastest
#: monitor.
_EVERY_MAX = 200_000
#: A killed process may lack so many means at the end.
_UNWRITTEN = 4096


def may_be_thinned(sync_kind: str, sample_hz: float) -> bool:
    """Check whether a trace of such a SYNC line and rate is thinned where that is
    wanted."""
    return sync_kind == "digital" and sample_hz >= LEAST_HZ


@dataclass(frozen=True, slots=True)
class ReducedSpan:
    """Samples start <= k < stop are kept as means alone: a line of reduced.jsonl."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Thinning:
    """Parameters of a trace whose spans may be reduced: a mean stands for `every`
    samples, and `margin` samples on each side of an edge are kept."""

    every: int
    margin: int

    @classmethod
    def at(cls, sample_hz: float) -> Thinning:
        """Return what suits a rate."""
        return cls(round(sample_hz / MEAN_HZ), round(MARGIN_S * sample_hz))


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """The reduced spans of a trace, a row each, in order; `before` is how many samples
    are missing before each of them, and `means` how many means there are.
    """

    thinning: Thinning
    bounds: Int64s
    before: Int64s
    means: int

    @classmethod
    def of(cls, thinning: Thinning, bounds: Int64s, means: int) -> Reduced:
        """Return spans with these bounds."""
        lengths = bounds[:, 1] - bounds[:, 0]
        return cls(thinning, bounds, np.cumsum(lengths) - lengths, means)

    @property
    def spans(self) -> tuple[ReducedSpan, ...]:
        """Spans."""
        return tuple(ReducedSpan(start, stop) for start, stop in self.bounds.tolist())

    @property
    def samples(self) -> int:
        """Number of missing samples."""
        return int((self.bounds[:, 1] - self.bounds[:, 0]).sum())

    def stored(self, place: int) -> int:
        """Return how many samples before number `place` are in the file."""
        at = int(np.searchsorted(self.bounds[:, 0], place, side="right")) - 1
        if at < 0:
            return place
        start, stop = map(int, self.bounds[at])
        return place - int(self.before[at]) - (min(place, stop) - start)

    def recorded(self, places: Int64s) -> Int64s:
        """Return the numbers in the recording of samples that are in the file at
        `places`."""
        spans = np.searchsorted(self.bounds[:, 0] - self.before, places, side="right")
        lengths = self.bounds[:, 1] - self.bounds[:, 0]
        indices: Int64s = places + np.concatenate([[0], np.cumsum(lengths)])[spans]
        return indices

    def touching(self, start: float, stop: float) -> ReducedSpan | None:
        """Return the first span that a window touches."""
        at = int(np.searchsorted(self.bounds[:, 1], start, side="right"))
        if at >= len(self.bounds) or self.bounds[at, 0] >= stop:
            return None
        return ReducedSpan(*self.bounds[at].tolist())

    def inside(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of spans among samples first <= k < last."""
        low = int(np.searchsorted(self.bounds[:, 1], first, side="right"))
        high = int(np.searchsorted(self.bounds[:, 0], last, side="left"))
        parts = []
        for start, stop in self.bounds[low:high].tolist():
            parts.append((max(start, first), min(stop, last)))
        return parts

    def read(self, reader: Any, signal: int, first: int, count: int) -> Float32s:
        """Return samples of the recording from number `first` on: in a span the means,
        each as often as it stands for; a mean that a killed process did not write is no
        number.
        """
        begin, end = self.stored(first), self.stored(first + count)
        if end > begin:
            kept = reader.fsr(signal, begin, end - begin)
        else:
            kept = np.zeros(0, np.float32)
        parts = []
        at, taken = first, 0
        for start, stop in self.inside(first, first + count):
            parts += [
                kept[taken : taken + start - at],
                self._held(reader, signal, start, stop),
            ]
            taken += start - at
            at = stop
        return np.concatenate([*parts, kept[taken:]]) if parts else kept

    def _held(self, reader: Any, signal: int, start: int, stop: int) -> Float32s:
        every = self.thinning.every
        begin, end = start // every, -(-stop // every)
        there = min(end, self.means)
        means = np.full(end - begin, np.nan, dtype=np.float32)
        if there > begin:
            means[: there - begin] = reader.fsr(MEANS[signal], begin, there - begin)
        return np.repeat(means, every)[start - begin * every : stop - begin * every]


def read(
    path: Path, thinning: Thinning, stored: int, lengths: Mapping[int, int], most: int
) -> Reduced:
    """Read the spans of a trace that has `stored` samples in its file, and cannot be of
    more than `most`; raises DataError.

    Of a process that was killed, lines may stand there whose samples are not in the
    file.
    """
    try:
        spans = json_lines.read(path, ReducedSpan)
    except FileNotFoundError as error:
        raise DataError(
            f"{path.name} is missing beside a trace: which samples that lacks is not"
            " known",
            try_next="the two together, as they were in one folder",
        ) from error
    pairs = [(span.start, span.stop) for span in spans]
    try:
        bounds = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    except OverflowError as error:
        raise DataError(
            f"{path} has a line of another form", evidence=str(error)
        ) from error
    flat = bounds.ravel()
    every = thinning.every
    is_ordered = not len(flat) or (flat[0] >= 0 and (np.diff(flat) > 0).all())
    if not 2 <= every <= _EVERY_MAX or not is_ordered:
        raise DataError(f"{path} has spans that are not in order")
    if (flat % every).any():
        raise DataError(
            f"{path} has a span that is no whole number of means", evidence=f"{every}"
        )
    means = min(lengths.get(signal, 0) for signal in (CURRENT_MEAN, VOLTAGE_MEAN))
    reduced = Reduced.of(thinning, bounds, means)
    there = bounds[reduced.bounds[:, 0] - reduced.before <= stored]
    if len(there) and there[-1, 1] > min((means + _UNWRITTEN) * every, most):
        raise DataError(
            f"{path} has spans beyond the recording", evidence=f"{means} means"
        )
    return Reduced.of(thinning, there, means)
