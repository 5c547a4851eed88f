# SPDX-License-Identifier: Apache-2.0
"""The readings of a meter over its newest second, with the uncertainty of the
instrument's limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.live.accumulated import Accumulated
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.mean_voltage import mean_voltage_u_v

_Floats = NDArray[np.float32]
#: "Now" is the mean of so long; the newest second is made of such pieces.
NOW_S = 0.05
PIECES = 20
#: The row of the voltage among current, voltage and power.
_VOLTAGE = 1


@dataclass(frozen=True, slots=True)
class MeterSpread:
    """A signal in the newest second: now, mean, standard deviation of the samples,
    least and most.

    `now_u` and `mean_u` are standard uncertainties by the instrument's limits, None
    where those do not reach.
    """

    now: float
    now_u: float | None
    mean: float
    mean_u: float | None
    deviation: float
    least: float
    most: float


class MeterPiece:
    """Sum, sum of squares, least and most of current, voltage and power (rows) of a
    short time of `size` samples, and their amounts."""

    def __init__(self, size: int, amounts: Accumulated) -> None:
        self._size = size
        self.amounts = amounts
        self.sums = np.zeros(3)
        self.squares = np.zeros(3)
        self.least = np.full(3, np.inf)
        self.most = np.full(3, -np.inf)

    @property
    def due(self) -> int:
        """Samples that the piece is still to get."""
        return self._size - self.amounts.samples

    @property
    def good(self) -> int:
        """Samples that were not lost."""
        return self.amounts.samples - self.amounts.lost

    def add(self, current_a: _Floats, voltage_v: _Floats) -> None:
        """Add samples; those that are no numbers are lost."""
        self.amounts.add(current_a, voltage_v)
        known = np.isfinite(current_a) & np.isfinite(voltage_v)
        if not known.all():
            current_a, voltage_v = current_a[known], voltage_v[known]
        if not len(current_a):
            return
        # In double precision: a small deviation is the difference of large squares.
        current, voltage = current_a.astype(np.float64), voltage_v.astype(np.float64)
        rows = (current, voltage, current * voltage)
        self.sums += [row.sum() for row in rows]
        self.squares += [np.dot(row, row) for row in rows]
        self.least = np.minimum(self.least, [row.min() for row in rows])
        self.most = np.maximum(self.most, [row.max() for row in rows])


@dataclass(frozen=True, slots=True)
class NewestSecond:
    """The signals of the newest second, None without samples, and why an uncertainty is
    not known."""

    current: MeterSpread | None = None
    voltage: MeterSpread | None = None
    power: MeterSpread | None = None
    remark: str = ""


class _Means:
    """Means of current, voltage and power over pieces, and their standard
    uncertainties: those of the sums since the start, in the same way."""

    def __init__(self, pieces: Sequence[MeterPiece], accuracy: Accuracy) -> None:
        amounts = Accumulated(pieces[0].amounts.sample_hz, accuracy)
        for piece in pieces:
            amounts.include(piece.amounts)
        good = amounts.samples - amounts.lost
        self.samples = good
        self.values = sum((piece.sums for piece in pieces), np.zeros(3)) / good
        least_v = min(piece.least[_VOLTAGE] for piece in pieces)
        most_v = max(piece.most[_VOLTAGE] for piece in pieces)
        lost_v = (most_v - least_v) * amounts.lost / amounts.samples
        mean_v = float(self.values[_VOLTAGE])
        voltage_u_v = mean_voltage_u_v(mean_v, good, accuracy, float(lost_v))
        known = amounts.amounts()
        self.u = (known.current_u_a, voltage_u_v, known.power_u_w)
        self.remark = known.remark


def newest_second(pieces: list[MeterPiece], accuracy: Accuracy) -> NewestSecond:
    """Return the signals in whole pieces; the newest is not whole."""
    whole = [piece for piece in pieces if piece.good and piece.due <= 0]
    whole = whole[-PIECES:]
    if not whole:
        return NewestSecond()
    now = _Means(whole[-1:], accuracy)
    second = _Means(whole, accuracy)
    mean = second.values
    square = sum((piece.squares for piece in whole), np.zeros(3)) / second.samples
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    least = np.min([piece.least for piece in whole], axis=0)
    most = np.max([piece.most for piece in whole], axis=0)
    current, voltage, power = (
        MeterSpread(
            now=float(now.values[row]),
            now_u=now.u[row],
            mean=float(mean[row]),
            mean_u=second.u[row],
            deviation=float(deviation[row]),
            least=float(least[row]),
            most=float(most[row]),
        )
        for row in range(3)
    )
    return NewestSecond(current, voltage, power, second.remark or now.remark)
