# SPDX-License-Identifier: Apache-2.0
"""Gaps: monitor samples that are missing, or not to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.arrays import Bools, Int64s, Reals
from rig.errors import DataError
from rig.files import json_lines


@dataclass(frozen=True, slots=True)
class Gap:
    """Analog samples start <= k < stop are lost or not to be trusted."""

    start: int
    stop: int
    cause: str


class GapIndex:
    """The gaps of a trace, found by the window that they touch."""

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self._gaps = gaps
        self._order = sorted(range(len(gaps)), key=lambda number: gaps[number].start)
        starts = [gaps[number].start for number in self._order]
        stops = [gaps[number].stop for number in self._order]
        self._starts = np.array(starts, dtype=np.int64)
        self._reached = np.maximum.accumulate(np.array(stops, dtype=np.int64))
        self._joined = joined(gaps)
        bounds = [(gap.start, gap.stop) for gap in self._joined]
        self._bounds = np.array(bounds, dtype=np.int64).reshape(-1, 2)
        lengths = self._bounds[:, 1] - self._bounds[:, 0]
        self._before = np.concatenate([[0], np.cumsum(lengths)])

    def first(self, start: float, stop: float) -> Gap | None:
        """Return the first gap, in the order of the file, that touches a window."""
        low = int(np.searchsorted(self._reached, start, side="right"))
        high = int(np.searchsorted(self._starts, stop, side="left"))
        numbers = sorted(self._order[low:high])
        touching = (self._gaps[number] for number in numbers)
        return next((gap for gap in touching if gap.stop > start), None)

    def joined(self, start: float, stop: float) -> list[Gap]:
        """Return the gaps that touch a window, those that overlap as one."""
        low, high = self._range(start, stop)
        return self._joined[low:high]

    def lost(self, start: float, stop: float, margin: int) -> int | None:
        """Return how many samples the gaps that touch a window have; None where one is
        closer to an end than `margin`.
        """
        low, high = self._range(start, stop)
        if low >= high:
            return 0
        is_at_start = self._bounds[low, 0] < start + margin
        is_at_stop = self._bounds[high - 1, 1] > stop - margin
        if is_at_start or is_at_stop:
            return None
        return int(self._before[high] - self._before[low])

    def _range(self, start: float, stop: float) -> tuple[int, int]:
        if not self._joined:
            return 0, 0
        low = np.searchsorted(self._bounds[:, 1], start, side="right")
        high = np.searchsorted(self._bounds[:, 0], stop, side="left")
        return int(low), int(high)


def joined(gaps: Sequence[Gap]) -> list[Gap]:
    """Return gaps in order, those that overlap as one."""
    joined: list[Gap] = []
    for gap in sorted(gaps, key=lambda gap: gap.start):
        if joined and gap.start <= joined[-1].stop:
            last = joined.pop()
            gap = Gap(last.start, max(last.stop, gap.stop), last.cause)
        joined.append(gap)
    return joined


def outside(first: int, count: int, gaps: Sequence[Gap]) -> Bools:
    """Return which samples from number `first` on are in no gap."""
    kept = np.ones(count, dtype=bool)
    for gap in gaps:
        kept[max(gap.start - first, 0) : max(gap.stop - first, 0)] = False
    return kept


def read(path: Path) -> tuple[Gap, ...]:
    """Read the gaps of a trace; none where there is no file. Raises DataError."""
    try:
        gaps = tuple(json_lines.read(path, Gap))
    except FileNotFoundError:
        return ()
    try:
        # Numbers beyond 64 bits are no samples.
        np.array([(gap.start, gap.stop) for gap in gaps], dtype=np.int64)
    except OverflowError as error:
        raise DataError(
            f"{path} has a line of another form", evidence=str(error)
        ) from error
    return gaps


def unreadable(current: Reals, voltage: Reals) -> Int64s:
    """Return the runs of samples whose current or voltage is not finite: a row each of
    first and last + 1.
    """
    # The sum of products is finite where all of them are, and quick.
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.einsum("i,i", current, voltage)
    if np.isfinite(total):
        return np.zeros((0, 2), dtype=np.int64)
    return runs(~(np.isfinite(current) & np.isfinite(voltage)))


def runs(mask: Bools) -> Int64s:
    """Return the runs of a mask: a row each of first and last + 1."""
    borders = np.diff(mask.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(borders).reshape(-1, 2)
