# SPDX-License-Identifier: Apache-2.0
"""Energy counters, read at uneven times -> mean power on an even grid; pure, and no
joule is lost on the way.

Between two readings energy is taken to flow evenly: cumulative energy is a broken line,
and a sample is the difference of that line over one period of the grid. What rounding
to 32 bits takes from one sample the next one gets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rig.simulation.world import NS_PER_S
from rig.trace.trace import Gap


def counted(
    previous: int, present: int, modulus: int | None, most: float
) -> int | None:
    """Return how far a counter went between two readings, across one wrap at `modulus`
    where it has one; None where it cannot have gone forward: that would be more than
    `most`.
    """
    step = present - previous
    if step < 0 and modulus is not None:
        step += modulus
    return step if 0 <= step <= most else None


class CounterGrid:
    """Turns readings (time, cumulative energy) into samples of mean power at
    `sample_hz`; time 0 is the first reading.

    A stretch of more than `longest_s` between two readings is a gap: its energy is
    right, but where in it the energy went is not known.
    """

    def __init__(self, sample_hz: float, longest_s: float) -> None:
        self._period_ns = NS_PER_S / sample_hz
        self._longest_ns = longest_s * NS_PER_S
        self.start_ns: int | None = None
        self._at = 0
        self._time_ns = 0  # of the last reading, since the first
        self._energy_j = self._bound_j = (
            0.0  # at the last reading, and at the end of the last sample
        )
        self._carry_w = 0.0
        self._gaps: list[Gap] = []

    @property
    def rest_j(self) -> float:
        """The energy that has been read and is in no sample yet."""
        return (
            self._energy_j - self._bound_j + self._carry_w * self._period_ns / NS_PER_S
        )

    def put(self, time_ns: int, energy_j: float) -> NDArray[np.float32]:
        """Take a reading, later than the last one; return the samples (W) that it
        completes. Raises ValueError.
        """
        if self.start_ns is None:
            self.start_ns = time_ns
            self._energy_j = energy_j
            self._bound_j = energy_j
            return np.zeros(0, dtype=np.float32)
        since_ns = time_ns - self.start_ns
        if since_ns <= self._time_ns:
            raise ValueError(
                f"a reading at {since_ns} ns comes after one at {self._time_ns} ns"
            )
        if since_ns - self._time_ns > self._longest_ns:
            self._note(
                self._time_ns,
                since_ns,
                "the energy counter was not read for"
                f" {(since_ns - self._time_ns) / 1e6:.0f} ms",
            )
        stop = max(int(since_ns / self._period_ns), self._at)
        ends_ns = np.arange(self._at + 1, stop + 1, dtype=np.float64) * self._period_ns
        share = (ends_ns - self._time_ns) / (since_ns - self._time_ns)
        ends_j = self._energy_j + share * (energy_j - self._energy_j)
        means_w = np.diff(np.concatenate([[self._bound_j], ends_j])) / (
            self._period_ns / NS_PER_S
        )
        self._at = stop
        self._time_ns = since_ns
        self._energy_j = energy_j
        if len(ends_j):
            self._bound_j = float(ends_j[-1])
        return self._rounded(means_w)

    def doubt(self, from_ns: int, to_ns: int, cause: str) -> None:
        """Note that readings between two times, in the clock of `put`, are not to be
        trusted."""
        if self.start_ns is not None and to_ns > self.start_ns:
            self._note(max(from_ns - self.start_ns, 0), to_ns - self.start_ns, cause)

    def gaps(self) -> Iterator[Gap]:
        """Return and forget the gaps."""
        gaps = self._gaps
        self._gaps = []
        yield from gaps

    def _note(self, from_ns: int, to_ns: int, cause: str) -> None:
        start = int(from_ns / self._period_ns)
        self._gaps.append(
            Gap(
                start,
                math.ceil(to_ns / self._period_ns),
                cause,
            )
        )

    def _rounded(self, means_w: NDArray[np.float64]) -> NDArray[np.float32]:
        samples_w = np.empty(len(means_w), dtype=np.float32)
        for at, mean_w in enumerate(means_w):
            wanted_w = float(mean_w) + self._carry_w
            samples_w[at] = wanted_w
            self._carry_w = wanted_w - float(samples_w[at])
        return samples_w
