# SPDX-License-Identifier: Apache-2.0
"""A trial as columns of numbers: a row for each sample, a column for each of its
windows. Statistics of many samples are computed from them at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rig.arrays import Bools, Float64s, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class WindowArrays:
    """Latencies and energies of windows, NaN where there is none; `lost` tells those
    without an energy from those whose energy is not finite.
    """

    latency_s: Float64s
    energy_j: Float64s
    lost: Bools
    #: Results computed from the latencies alone, by a name; the same for windows that
    #: differ in their energies only.
    of_latencies: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        latencies_s: Sequence[float],
        energies_j: Sequence[float | None],
        shape: tuple[int, ...],
    ) -> WindowArrays:
        """Put windows into arrays of that shape, row by row."""
        lost = np.array([energy_j is None for energy_j in energies_j], np.bool_)
        latency_s = np.array(latencies_s, np.float64).reshape(shape)
        energy_j = np.array(energies_j, np.float64).reshape(shape)
        return cls(latency_s, energy_j, lost.reshape(shape))

    def of_width(self, width: int) -> WindowArrays:
        """Return the table with so many columns, also where it has no row; raises
        ValueError for another width.
        """
        shape = len(self.latency_s), width
        latency_s = self.latency_s.reshape(shape)
        return WindowArrays(
            latency_s,
            self.energy_j.reshape(shape),
            self.lost.reshape(shape),
            self.of_latencies,
        )

    def moved(self, latency_s: Float64s, energy_j: Float64s) -> WindowArrays:
        """Return the windows with other latencies and energies, in the order of rows;
        lost energies stay so.
        """
        latency_s = latency_s.reshape(self.latency_s.shape)
        energy_j = energy_j.reshape(self.latency_s.shape)
        is_same = np.array_equal(latency_s, self.latency_s)
        kept = self.of_latencies if is_same else {}
        return WindowArrays(latency_s, energy_j, self.lost, kept)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredColumns:
    """The samples of a trial, all with as many windows, and its idle times.

    `right` is whether the answer of each sample is correct, `answered` whether it has
    one; `repeats` are the runs in each window; `members` are the rows of the task's
    samples, a pair (row, index) for each.
    """

    samples: WindowArrays
    idles: WindowArrays
    right: Bools
    answered: Bools
    repeats: Int64s
    members: Int64s

    def without(self, gone: Collection[int]) -> MeasuredColumns:
        """Return the trial without the task's samples `gone`: latencies and energies of
        a batch without some of its samples are not known.
        """
        is_gone = np.isin(self.members[:, 1], list(gone))
        rows = len(self.right)
        gone_of = np.bincount(self.members[is_gone, 0], minlength=rows)
        left_of = np.bincount(self.members[~is_gone, 0], minlength=rows)
        kept = (left_of > 0) | (gone_of == 0)
        unknown = (gone_of[kept] > 0)[:, None]
        new_rows = np.cumsum(kept) - 1
        members = self.members[~is_gone]
        latency_s = np.where(unknown, np.nan, self.samples.latency_s[kept])
        energy_j = np.where(unknown, np.nan, self.samples.energy_j[kept])
        samples = WindowArrays(
            latency_s,
            energy_j,
            self.samples.lost[kept],
        )
        return replace(
            self,
            samples=samples,
            right=self.right[kept],
            answered=self.answered[kept],
            repeats=self.repeats[kept],
            members=np.stack([new_rows[members[:, 0]], members[:, 1]], axis=1),
        )
