# SPDX-License-Identifier: Apache-2.0
"""Digital lines of a file that tells their levels sample by sample: low, high, both
within one sample, or not known.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Bools, Float64s, Int64s
from rig.errors import DataError
from rig.importers.advice import Advice, give
from rig.trace.edges import Edges
from rig.trace.writer import TraceWriter

Levels = NDArray[np.int8]

HIGH = 1
LOW = 0
BOTH = 2
UNKNOWN = -1
#: More changes than this is no line between a device and a monitor, but noise.
_CHANGES = 1 << 21


class LevelStretches:
    """Collects a line as stretches of equal level, by their first sample; unknown
    levels end one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._firsts: list[Int64s] = []
        self._levels: list[Levels] = []
        self._last = UNKNOWN
        self._count = 0

    def add(self, first: int, levels: Levels) -> None:
        """Append levels of samples from `first` on; raises DataError when they change
        as no line does.
        """
        self.add_at(np.arange(first, first + len(levels), dtype=np.int64), levels)

    def add_at(self, places: Int64s, levels: Levels) -> None:
        """Append levels of some samples, each valid until the next one; raises
        DataError as `add`.
        """
        changes = np.flatnonzero(np.diff(levels, prepend=np.int8(self._last)))
        self._count += len(changes)
        if self._count > _CHANGES:
            raise DataError(
                f"{self.name} changes more than {_CHANGES} times",
                evidence=f"within {int(places[-1]) + 1} samples",
                try_next=Advice(give(", if it is no digital line", sync="none")),
            )
        if len(changes):
            self._append(places[changes], levels[changes])

    def lose(self, first: int) -> None:
        """Note that the level is not known from `first` on."""
        firsts = np.array([first], dtype=np.int64)
        self._append(firsts, np.array([UNKNOWN], dtype=np.int8))

    def edges(self, rate_hz: float) -> Edges:
        """Return the edges in seconds."""
        times_s, falls, _ = self._found(rate_hz)
        return Edges(times_s[falls], times_s[~falls])

    def stamp(self, rate_hz: float, writer: TraceWriter, notes: list[str]) -> None:
        """Stamp the edges into a trace."""
        times_s, falls, unclear = self._found(rate_hz)
        for at_s, fall in zip(times_s.tolist(), falls.tolist(), strict=True):
            writer.stamp(at_s, fall=fall)
        if unclear:
            notes.append(
                f"{unclear} times SYNC changes faster than the samples tell: these"
                " edges are left out"
            )

    def _append(self, firsts: Int64s, levels: Levels) -> None:
        self._firsts.append(firsts)
        self._levels.append(levels)
        self._last = int(levels[-1])

    def _found(self, rate_hz: float) -> tuple[Float64s, Bools, int]:
        """Return the times of edges, which of them fall, and the number of unknown
        ones. Between two samples an edge is half a sample early, as rig/trace/trace.py
        has it; within a sample that was both, in its middle.
        """
        firsts = np.concatenate([*self._firsts, [-1]])
        levels = np.concatenate([[UNKNOWN], *self._levels, [UNKNOWN]])
        before, level, after = levels[:-2], levels[1:-1], levels[2:]
        was_known = (before == LOW) | (before == HIGH)
        is_step = was_known & ((level == LOW) | (level == HIGH))
        is_both = level == BOTH
        is_short = np.diff(firsts) == 1
        is_told = is_both & was_known & ((after == LOW) | (after == HIGH)) & is_short
        returns = is_told & (after == before)
        numbers = [np.flatnonzero(mask) for mask in (is_step, is_told, returns)]
        order = np.argsort(np.concatenate(numbers), kind="stable")
        step, stated, back = numbers
        at = np.concatenate(
            [firsts[step] - 0.5, firsts[stated] + 0.5, firsts[back] + 0.5]
        )
        falls = np.concatenate(
            [level[step] == LOW, before[stated] == HIGH, before[back] == LOW]
        )
        unclear = int(np.count_nonzero(is_both & ~is_told))
        return at[order] / rate_hz, falls[order], unclear


class DigitalLines:
    """The levels of all digital lines of a file; one may be SYNC."""

    def __init__(self, names: Iterable[str], sync: str) -> None:
        self._of = {name: LevelStretches(name) for name in names}
        self._sync = sync
        self._faults: dict[str, DataError] = {}

    def add_at(self, name: str, places: Int64s, levels: Levels) -> None:
        """Append levels of a line; raises DataError where those of SYNC change as no
        line does.
        """
        if name in self._faults:
            return
        try:
            self._of[name].add_at(places, levels)
        except DataError as error:
            if name == self._sync:
                raise
            self._faults[name] = error
            del self._of[name]

    def stamp(self, rate_hz: float, writer: TraceWriter, notes: list[str]) -> None:
        """Stamp the edges of SYNC into a trace."""
        if self._sync in self._of:
            self._of[self._sync].stamp(rate_hz, writer, notes)

    def edges(self, rate_hz: float) -> dict[str, Edges | DataError]:
        """Return the edges of each line, or why it has none."""
        return self._faults | {
            name: line.edges(rate_hz) for name, line in self._of.items()
        }
