# SPDX-License-Identifier: Apache-2.0
"""Windows that are known before a trace is read, and the sums of whole blocks in them,
which are taken while all samples are read to look for lost ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.arrays import Float32s
from rig.trace.integrate import BlockSums, Sums
from rig.trace.samples import BLOCK

#: All of a trace, in seconds from its first sample.
WHOLE_S = (0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Windows that will be summed, in seconds from the first sample, and the upper ends
    of the ranges of the current. `whole_without_sync` adds the whole trace where it has
    no SYNC line.
    """

    windows_s: tuple[tuple[float, float], ...] = ()
    ranges_a: tuple[float, ...] = ()
    whole_without_sync: bool = False

    def windows(self, has_sync: bool) -> tuple[tuple[float, float], ...]:
        """Return the windows in a trace with or without a SYNC line."""
        if has_sync or not self.whole_without_sync:
            return self.windows_s
        return (*self.windows_s, WHOLE_S)


#: No windows.
UNFORESEEN = Foreseen()


class KnownSums:
    """Sums of the blocks of a trace that lie in a window, given in seconds: an integral
    that has their sums does not read their samples.
    """

    def __init__(
        self,
        windows_s: Sequence[tuple[float, float]],
        ranges_a: Sequence[float],
        sample_hz: float,
    ) -> None:
        windows = np.array(windows_s, dtype=np.float64).reshape(-1, 2) * sample_hz
        self._windows = windows[windows[:, 1] - windows[:, 0] >= BLOCK]
        self._sums = Sums(ranges_a)
        self._blocks: dict[tuple[int, int], BlockSums] = {}

    def add(
        self, first: int, current_a: Float32s, voltage_v: Float32s
    ) -> BlockSums | None:
        """Keep the sums of a block of samples, `first` the number of its first one, and
        return them; None where the block lies in no window.
        """
        last = first + len(current_a)
        starts, stops = self._windows.T
        if not np.any((starts <= first) & (stops >= last)):
            return None
        # Lost samples may be infinite.
        with np.errstate(invalid="ignore"):
            block = self._sums.of_block(current_a, voltage_v)
        self._blocks[first, last] = block
        return block

    def of(
        self, first: int, last: int, ranges_a: tuple[float, ...]
    ) -> BlockSums | None:
        """Return the sums over samples first <= k < last, where they are known by these
        ranges of the current.
        """
        if self._sums.ranges_a != ranges_a:
            return None
        return self._blocks.get((first, last))
