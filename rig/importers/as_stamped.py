# SPDX-License-Identifier: Apache-2.0
"""Rows at uneven times, integrated as they are stamped, and the uncertainty of that.

Between two rows current, voltage and power are taken to go straight from the one
reading to the other. The trace has even cells, each with the mean of that line over the
cell, so that every integral over it is that of the line. The readings in between are
not known: power is taken to lie anywhere between the two readings, as a rectangular
distribution, independent from one interval to the next; stamps by half a step of their
last digit, or by their scatter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Array, Bools, Float64s
from rig.errors import DataError
from rig.importers import given_rate
from rig.importers.digital_levels import LevelStretches
from rig.stats.summary import NORMAL_95
from rig.trace.writer import TraceWriter
from rig.units import scale, share

#: A pause is so many times longer than 95 % of all intervals: the power in it is not
#: known.
_PAUSE = 8.0
#: At most so many cells for each row, however short the shortest interval is.
_CELLS = 16
#: A cell is so much shorter than a short interval: a window cuts little of it.
_OF_SHORT = 4.0
#: Rows are held in memory.
_MOST_ROWS = 20_000_000
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Stamped:
    """Rows in the order of their times, which begin at 0: current, voltage, power.

    `pauses` are intervals without known readings, by the number of the row that they
    begin with.
    """

    times_s: Float64s
    current: Float64s
    voltage: Float64s
    pauses: NDArray[np.intp]
    resolution_s: float

    @classmethod
    def of(
        cls,
        times_s: Float64s,
        current: Float64s,
        voltage: Float64s,
        resolution_s: float,
        name: str,
    ) -> Stamped:
        """Return rows without those that are no numbers, which leave a pause; DataError
        where too few are left, or more than fit into memory.
        """
        if len(times_s) > _MOST_ROWS:
            raise DataError(
                f"{name} is unevenly sampled, and too long to be integrated as it is"
                " stamped",
                evidence=f"{len(times_s)} rows",
                try_next="a part of it, or resample it at even times",
            )
        known = np.isfinite(current) & np.isfinite(voltage)
        if int(known.sum()) < 2:
            raise DataError(f"{name} has no two readings", try_next="another column")
        places = np.flatnonzero(known)
        steps_s = np.diff(times_s[known])
        usual_s = float(np.quantile(steps_s, 0.95))
        lost = np.diff(places) > 1
        pauses = np.flatnonzero(lost | (steps_s > _PAUSE * usual_s))
        return cls(times_s[known], current[known], voltage[known], pauses, resolution_s)

    @property
    def power(self) -> Float64s:
        """Power of each row."""
        return self.current * self.voltage

    @property
    def cells(self) -> tuple[int, float]:
        """Number of cells of the trace, and the length of each in seconds."""
        length_s = float(self.times_s[-1] - self.times_s[0])
        short_s = float(np.quantile(np.diff(self.times_s), 0.1)) / _OF_SHORT
        shortest_s = max(short_s, length_s / (_CELLS * len(self.times_s)))
        count = max(math.ceil(length_s / shortest_s - 1e-9), 1)
        return count, length_s / count

    def energy_u_j(self, start_s: float, stop_s: float) -> float:
        """Return the standard uncertainty of the energy between two instants that the
        stamps cause."""
        return self._open(self.power, start_s, stop_s)

    def charge_u_c(self, start_s: float, stop_s: float) -> float:
        """Return the standard uncertainty of the charge between two instants that the
        stamps cause."""
        return self._open(self.current, start_s, stop_s)

    def note(self, name: str) -> str:
        """Return in words how it was integrated, and what that leaves open over the
        whole."""
        stop_s = float(self.times_s[-1])
        steps_s = np.diff(self.times_s)
        energy_j = float(np.sum(_areas(self.times_s, self.power)))
        unsure_j = self.energy_u_j(0.0, stop_s)
        half_j = NORMAL_95 * unsure_j
        factor, unit = scale(half_j, "J")
        part = f", {share(half_j / abs(energy_j))}" if energy_j else ""
        pauses = f"; {len(self.pauses)} pauses are gaps" if len(self.pauses) else ""
        return (
            f"{name}: rows are {_short(steps_s.min())} to {_short(steps_s.max())}"
            " apart, and are integrated as stamped, straight from one to the next:"
            f" that leaves ±{half_j * factor:.2g} {unit} (95 %) open over the"
            f" whole{part}{pauses}"
        )

    @property
    def stamp_u_s(self) -> float:
        """Standard uncertainty of one stamp: its rounding, and its scatter.

        Whether uneven steps are those of the samples or of the program that stamped
        them is not known: as much as a program usually scatters by may be the latter.
        """
        steps_s = np.diff(self.times_s)
        scatter_s = float(np.std(np.delete(steps_s, self.pauses)) / math.sqrt(2))
        usual_s = float(np.median(steps_s))
        most_s = given_rate.JITTER * usual_s / math.sqrt(3)
        return max(self.resolution_s / math.sqrt(12), min(scatter_s, most_s))

    def _open(self, values: Float64s, start_s: float, stop_s: float) -> float:
        """Return the standard uncertainty of the integral of `values` between two
        instants."""
        steps_s = np.diff(self.times_s)
        between = (np.diff(values) * steps_s) ** 2 / 12.0
        # A stamp that is off by d moves the area by d times half the difference of its
        # neighbours.
        around = np.zeros(len(values))
        around[1:-1] = (values[2:] - values[:-2]) / 2.0
        moved = (around * self.stamp_u_s) ** 2
        first = int(np.searchsorted(self.times_s, start_s, side="right")) - 1
        last = int(np.searchsorted(self.times_s, stop_s, side="left"))
        rows = slice(max(first, 0), last)
        # An end lies between stamps that are off as well.
        ends = np.interp([start_s, stop_s], self.times_s, values) * self.stamp_u_s
        variance = between[rows].sum() + moved[rows].sum() + np.square(ends).sum()
        return math.sqrt(float(variance))


@dataclass(frozen=True, slots=True)
class SyncRows:
    """The SYNC line of rows: kind ("none", "stamps", "voltage"), times of its rows, and
    their levels or volts.
    """

    kind: str
    times_s: Float64s
    values: Array
    levels: LevelStretches = field(default_factory=lambda: LevelStretches(""))

    @property
    def edge_hz(self) -> float:
        """Return one over the longest interval with an edge; 0 without a line."""
        if len(self.values) < 2:
            return 0.0
        above = self.values
        if self.kind == "voltage":
            above = self.values > (self.values.min() + self.values.max()) / 2
        changes = np.flatnonzero(np.diff(above.astype(np.int8)))
        steps_s = np.diff(self.times_s)
        return 1.0 / float(steps_s[changes].max() if len(changes) else steps_s.max())

    def write(self, middles_s: Float64s, writer: TraceWriter) -> None:
        """Write the line at the middles of cells: a level is held to the next row, a
        voltage goes straight to it.
        """
        if self.kind == "voltage" and not len(self.values):
            writer.sync_voltage(np.full(len(middles_s), np.nan))
        elif self.kind == "voltage":
            writer.sync_voltage(np.interp(middles_s, self.times_s, self.values))
        elif self.kind == "stamps":
            at = np.searchsorted(self.times_s, middles_s, side="right") - 1
            self.levels.add(writer.samples, self.values[np.maximum(at, 0)])


def write(rows: Stamped, sync: SyncRows, writer: TraceWriter) -> None:
    """Write the cells of rows."""
    count, cell_s = rows.cells
    lost = _lost(rows, count, cell_s)
    for first in range(0, count, _PIECE):
        stop = min(first + _PIECE, count)
        borders_s = np.arange(first, stop + 1, dtype=np.float64) * cell_s
        current = np.diff(_integral(rows.times_s, rows.current, borders_s)) / cell_s
        power = np.diff(_integral(rows.times_s, rows.power, borders_s)) / cell_s
        voltage = _voltage(rows, current, power, borders_s)
        sync.write((borders_s[:-1] + borders_s[1:]) / 2, writer)
        current = np.where(lost[first:stop], np.nan, current)
        writer.analog(
            current, voltage, unreadable="a pause between rows, or no reading"
        )


def _voltage(
    rows: Stamped, current: Float64s, power: Float64s, borders_s: Float64s
) -> Float64s:
    """Return what current has to be multiplied with to give the power, where that is a
    voltage of these rows; else the voltage's own mean.
    """
    means_v = np.diff(_integral(rows.times_s, rows.voltage, borders_s)) / np.diff(
        borders_s
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = power / current
    least, most = rows.voltage.min(), rows.voltage.max()
    slack = 1e-6 * max(abs(least), abs(most))
    fits = (
        np.isfinite(expected) & (expected >= least - slack) & (expected <= most + slack)
    )
    return np.where(fits, expected, means_v)


def _lost(rows: Stamped, count: int, cell_s: float) -> Bools:
    """Return which cells touch a pause."""
    lost = np.zeros(count, dtype=bool)
    for begin in rows.pauses.tolist():
        first = math.floor(rows.times_s[begin] / cell_s + 1e-9)
        last = math.ceil(rows.times_s[begin + 1] / cell_s - 1e-9)
        lost[first:last] = True
    return lost


def _areas(times_s: Float64s, values: Float64s) -> Float64s:
    areas: Float64s = np.diff(times_s) * (values[1:] + values[:-1]) / 2.0
    return areas


def _integral(times_s: Float64s, values: Float64s, at_s: Float64s) -> Float64s:
    """Return the integral of straight lines through `values` from the first row to each
    instant."""
    total = np.concatenate([[0.0], np.cumsum(_areas(times_s, values))])
    row = np.clip(np.searchsorted(times_s, at_s, side="right") - 1, 0, len(times_s) - 2)
    into_s = np.minimum(at_s, times_s[-1]) - times_s[row]
    slope = (values[row + 1] - values[row]) / (times_s[row + 1] - times_s[row])
    integral: Float64s = total[row] + into_s * (values[row] + slope * into_s / 2.0)
    return integral


def _short(value_s: Any) -> str:
    factor, unit = scale(float(value_s), "s")
    return f"{float(value_s) * factor:.3g} {unit}"
