# SPDX-License-Identifier: Apache-2.0
"""The newest seconds of every rail, in memory that does not grow."""

from __future__ import annotations

import math
import threading
import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from rig.live.block import LiveBlock

#: Edges that are kept of a rail; of more than these no picture shows any apart.
_EDGES_MAX = 20_000
#: Largest number of columns that are kept: an hour of the usual ones is 7.2 million.
_COLUMNS_MAX = 8_000_000


class Recent:
    """An observer that keeps the newest `seconds` of each rail; safe to use from any
    thread.

    Where a new trace begins, its rail begins again.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._rings: dict[str, _Ring] = {}
        self._newest_s = -math.inf

    def __call__(self, block: LiveBlock) -> None:
        """Take a block."""
        self.add(block)

    def add(self, block: LiveBlock) -> None:
        """Take a block."""
        with self._lock:
            ring = self._rings.get(block.rail)
            if ring is None or not ring.takes(block):
                ring = self._rings[block.rail] = _Ring(block, self._seconds)
            ring.add(block)
            self._newest_s = max(self._newest_s, block.at_s)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._rings.clear()
            self._newest_s = -math.inf

    @property
    def rails(self) -> tuple[str, ...]:
        """Rails with blocks, in the order of their first block."""
        with self._lock:
            return tuple(self._rings)

    @property
    def newest_age_s(self) -> float:
        """Return how long ago the newest sample was handed over; infinite where there
        is none."""
        return time.monotonic() - self._newest_s

    @property
    def size_b(self) -> int:
        """Bytes of all columns that are kept."""
        with self._lock:
            return sum(ring.columns.nbytes for ring in self._rings.values())

    def picture(
        self, seconds: float, columns: int, rail: str | None = None
    ) -> LiveBlock | None:
        """Return the newest `seconds` of a rail in at most so many columns, with the
        edges and the lost samples of its trace so far; None where there are no blocks.
        Without a name, of the first rail.

        Columns are put together in groups that stay in place while the picture moves.
        """
        with self._lock:
            name = next(iter(self._rings), "") if rail is None else rail
            ring = self._rings.get(name)
            return None if ring is None else ring.picture(seconds, columns)


class _Ring:
    """The newest columns of one trace of one rail."""

    def __init__(self, block: LiveBlock, seconds: float) -> None:
        self._rail = block.rail
        self._trace = block.trace
        self._column_s = block.column_s
        self._seconds = seconds
        size = min(math.ceil(seconds / block.column_s) + 1, _COLUMNS_MAX)
        self.columns = np.full((3, size), np.nan, dtype=np.float32)
        self._stop = self._number(block.start_s)  # the column after the newest
        self._first = self._stop
        self._falls: deque[float] = deque(maxlen=_EDGES_MAX)
        self._rises: deque[float] = deque(maxlen=_EDGES_MAX)
        self._lost = 0

    def takes(self, block: LiveBlock) -> bool:
        """Check whether a block belongs to this trace."""
        return block.trace == self._trace and block.column_s == self._column_s

    def add(self, block: LiveBlock) -> None:
        """Append a block; missing columns before it are NaN."""
        size = self.columns.shape[1]
        rows = np.stack([block.least_w, block.mean_w, block.most_w])
        start = max(self._number(block.start_s), self._stop)
        if rows.shape[1]:
            missing = min(start - self._stop, size)
            self._put(start - missing, np.full((3, missing), np.nan, dtype=np.float32))
            skipped = max(rows.shape[1] - size, 0)
            self._put(start + skipped, rows[:, skipped:])
            self._stop = start + rows.shape[1]
            self._first = max(self._first, self._stop - size)
        self._lost += block.lost
        for kept, new_s in ((self._falls, block.falls_s), (self._rises, block.rises_s)):
            kept.extend(new_s[-_EDGES_MAX:].tolist())
            while kept and kept[0] < self._first * self._column_s:
                kept.popleft()

    def picture(self, seconds: float, columns: int) -> LiveBlock:
        """Return the newest columns, in groups."""
        count = min(math.ceil(seconds / self._column_s), self._stop - self._first)
        group = max(math.ceil(count / max(columns, 1)), 1)
        first = self._stop - count
        # Whole groups, counted from the beginning of the trace; the newest may be
        # incomplete.
        first = max(-(-first // group) * group, self._first) if group > 1 else first
        numbers = np.arange(first, self._stop)
        held = self.columns[:, numbers % self.columns.shape[1]]
        if group > 1 and len(numbers):
            starts = np.arange(0, len(numbers), group)
            least = np.fmin.reduceat(held[0], starts)
            mean = _means(held[1], starts)
            most = np.fmax.reduceat(held[2], starts)
            held = np.stack([least, mean, most])
        start_s = first * self._column_s
        falls_s, rises_s = np.array(self._falls), np.array(self._rises)
        falls_s = falls_s[falls_s >= start_s]
        rises_s = rises_s[rises_s >= start_s]
        return LiveBlock(
            rail=self._rail,
            trace=self._trace,
            start_s=start_s,
            column_s=group * self._column_s,
            least_w=held[0],
            mean_w=held[1],
            most_w=held[2],
            falls_s=falls_s,
            rises_s=rises_s,
            lost=self._lost,
        )

    def _number(self, at_s: float) -> int:
        return round(at_s / self._column_s)

    def _put(self, first: int, rows: NDArray[np.float32]) -> None:
        """Write columns from number `first` on, over the end of the ring where they
        reach it."""
        size = self.columns.shape[1]
        at = first % size
        fits = min(rows.shape[1], size - at)
        self.columns[:, at : at + fits] = rows[:, :fits]
        self.columns[:, : rows.shape[1] - fits] = rows[:, fits:]


def _means(
    values: NDArray[np.float32], starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the mean of the known values of each group."""
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0), starts)
    counts = np.add.reduceat(known.astype(np.float32), starts)
    means: NDArray[np.float32] = np.full(len(starts), np.nan, dtype=np.float32)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
