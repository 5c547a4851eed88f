# SPDX-License-Identifier: Apache-2.0
"""Energy and charge of samples as they come, with the uncertainty of the instrument's
limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rig.trace.integral import EndPower, Integral, integral_of
from rig.trace.integrate import Sums
from rig.trace.trace import LOST_LIMIT
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.window_effects import beyond, charge_u_c, of_energy, ranges_a

_Floats = NDArray[np.float32]
#: Number of samples that are summed at once.
_AT_ONCE = 1 << 18
#: Samples begin and end where they are counted: the ends of a sum are exact.
_EXACT = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Energy and charge of a number of samples, `lost` ones included; None where too
    many are lost.

    `energy_u_j` and `charge_u_c` are standard uncertainties, None where the limits do
    not reach; `remark` then says why.
    """

    samples: int = 0
    lost: int = 0
    duration_s: float = 0.0
    energy_j: float | None = None
    energy_u_j: float | None = None
    charge_c: float | None = None
    charge_u_c: float | None = None
    remark: str = ""

    @property
    def power_w(self) -> float | None:
        """Mean power in W."""
        return self._per_second(self.energy_j)

    @property
    def power_u_w(self) -> float | None:
        """Standard uncertainty of the mean power in W.

        That of the energy over the duration: an upper bound, as the error of the sample
        clock, some ppm, cancels in a mean.
        """
        return self._per_second(self.energy_u_j)

    @property
    def current_a(self) -> float | None:
        """Mean current in A."""
        return self._per_second(self.charge_c)

    @property
    def current_u_a(self) -> float | None:
        """Standard uncertainty of the mean current in A, as for the power."""
        return self._per_second(self.charge_u_c)

    def _per_second(self, amount: float | None) -> float | None:
        return None if amount is None else amount / self.duration_s


class Accumulated:
    """Sum of all samples so far, equal to the integral over their trace. Not
    thread-safe; lost samples are taken for the mean of the others, as in the integral
    of a trace."""

    def __init__(self, sample_hz: float, accuracy: Accuracy) -> None:
        self.sample_hz = sample_hz
        self._accuracy = accuracy
        self._sums = Sums(ranges_a(accuracy))
        self.samples = 0
        self.lost = 0
        #: Number of summed samples that were reported as wrong afterwards.
        self._doubtful = 0

    def add(self, current_a: _Floats, voltage_v: _Floats) -> None:
        """Add samples; those that are no numbers are lost."""
        for at in range(0, len(current_a), _AT_ONCE):
            current, voltage = (
                current_a[at : at + _AT_ONCE],
                voltage_v[at : at + _AT_ONCE],
            )
            self.samples += len(current)
            if not np.isfinite(np.einsum("i,i", current, voltage)):
                good = np.isfinite(current) & np.isfinite(voltage)
                self.lost += len(current) - int(np.count_nonzero(good))
                current, voltage = current[good], voltage[good]
            self._sums.add(current, voltage)

    def include(self, other: Accumulated) -> None:
        """Add what another one of the same rate and limits has summed."""
        self._sums.sums += other._sums.sums
        self._sums.least_w = min(self._sums.least_w, other._sums.least_w)
        self._sums.most_w = max(self._sums.most_w, other._sums.most_w)
        self.samples += other.samples
        self.lost += other.lost
        self._doubtful += other._doubtful

    def skip(self, samples: int) -> None:
        """Count samples that were lost."""
        self.samples += samples
        self.lost += samples

    def distrust(self, samples: int) -> None:
        """Count samples that were added, and are not to be trusted."""
        self._doubtful += samples

    def amounts(self) -> Amounts:
        """Return what there is so far."""
        lost = self.lost + self._doubtful
        duration_s = self.samples / self.sample_hz
        known = Amounts(self.samples, lost, duration_s)
        if not self.samples or self.lost > LOST_LIMIT * self.samples:
            remark = (
                f"{lost} of {self.samples} samples are lost" if self.samples else ""
            )
            return replace(known, remark=remark)
        integral = self._integral(duration_s)
        known = replace(known, energy_j=integral.energy_j, charge_c=integral.charge_c)
        if over := beyond(integral, self._accuracy):
            return replace(known, remark=f"{over}: no limits of error are known there")
        remark = ""
        if self._doubtful:
            remark = (
                f"{self._doubtful} samples that are not to be trusted are in the sums"
            )
        how = self._accuracy, self.sample_hz, _EXACT
        return replace(
            known,
            energy_u_j=of_energy(integral, *how).energy_u_j,
            charge_u_c=charge_u_c(integral, *how) if integral.volt_s else None,
            remark=remark,
        )

    def _integral(self, duration_s: float) -> Integral:
        mean_w = math.fsum(self._sums.sums[0]) / max(self.samples - self.lost, 1)
        end = EndPower(mean_w, mean_w)
        between_s = (0.0, duration_s)
        return integral_of(
            self._sums,
            between_s,
            samples=self.samples,
            lost=self.lost,
            sample_hz=self.sample_hz,
            ends=(end, end),
        )
