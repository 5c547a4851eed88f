# SPDX-License-Identifier: Apache-2.0
"""Block of live data: samples of one rail, reduced to some 2000 columns a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A column is the samples of so much time, or one sample where they are further apart.
COLUMN_S = 0.0005


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """Least, mean and most power of each column, and the edges of SYNC, of one rail.

    For pictures: every number in results comes from the closed trace. Times are seconds
    of the trace; column i begins at `start_s` + i * `column_s`. A column without a good
    sample is NaN. Edges may lie before or after the columns, as they came. `lost` is
    how many samples are missing or not to be trusted, in the columns and before them.
    `trace` counts the traces of the rail from 1: with each the times begin again.
    `at_s` is when the newest sample was handed over (time.monotonic).
    """

    rail: str
    start_s: float
    column_s: float
    least_w: NDArray[np.float32]
    mean_w: NDArray[np.float32]
    most_w: NDArray[np.float32]
    falls_s: NDArray[np.float64]
    rises_s: NDArray[np.float64]
    lost: int
    trace: int = 1
    at_s: float = 0.0

    @property
    def stop_s(self) -> float:
        """Return where the last column ends."""
        return self.start_s + len(self.mean_w) * self.column_s

    @property
    def times_s(self) -> NDArray[np.float64]:
        """Middles of the columns."""
        middles = np.arange(len(self.mean_w), dtype=np.float64) + 0.5
        times_s: NDArray[np.float64] = self.start_s + middles * self.column_s
        return times_s


Observer = Callable[[LiveBlock], None]
