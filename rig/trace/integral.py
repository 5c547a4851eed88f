# SPDX-License-Identifier: Apache-2.0
"""What an integral over one window of a trace says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from rig.trace.integrate import Sums


class EndPower(NamedTuple):
    """Power beside an end of a window, in watts: of the samples outside and inside of
    the one that the end lies in."""

    outside_w: float
    inside_w: float


@dataclass(frozen=True, slots=True)
class Integral:
    """Integral over one window, range by range of the current: energy, charge, voltage
    over time, and time; and the power at its ends.

    `ends` are start and stop. Where `stepped`, samples that they cut count for what
    they leave of them with the power inside; `cut` says whether each end cuts one, and
    `apart_j` by how much that sample's own reading differs (rig/trace/end_samples.py).
    `lost_s` of it were lost: there the mean of the rest stands in. `beyond_j` of the
    energy were measured at a current beyond all ranges; the last range has it too.
    """

    start_s: float
    stop_s: float
    energy_j: float
    charge_c: float
    least_w: float
    most_w: float
    ends: tuple[EndPower, EndPower]
    range_energy_j: tuple[float, ...]
    range_charge_c: tuple[float, ...]
    range_volt_s: tuple[float, ...]
    lost_s: float = 0.0
    beyond_j: float = 0.0
    stepped: bool = False
    cut: tuple[bool, bool] = (True, True)
    apart_j: tuple[float, float] = (0.0, 0.0)

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return self.stop_s - self.start_s

    @property
    def volt_s(self) -> float:
        """Voltage summed over time, all ranges of the current together."""
        return math.fsum(self.range_volt_s)


def integral_of(
    sums: Sums,
    between_s: tuple[float, float],
    samples: float,
    lost: int,
    sample_hz: float,
    ends: tuple[EndPower, EndPower],
    *,
    stepped: bool = False,
    cut: tuple[bool, bool] = (True, True),
    apart_j: tuple[float, float] = (0.0, 0.0),
) -> Integral:
    """Return what sums over a window of so many samples say; `lost` of them were left
    out of the sums, and the mean of the others stands in for them.
    """
    start_s, stop_s = between_s
    held = sums.sums * (
        samples / (samples - lost) / sample_hz if lost else 1 / sample_hz
    )
    beyond_j = float(held[0, -1]) if held.shape[1] > 1 else 0.0
    if held.shape[1] > 1:
        held[:, -2] += held[:, -1]
        held = held[:, :-1]
    energy_j, charge_c, volt_s = (tuple(row) for row in held.tolist())
    return Integral(
        start_s=start_s,
        stop_s=stop_s,
        energy_j=sum(energy_j),
        charge_c=sum(charge_c),
        least_w=sums.least_w,
        most_w=sums.most_w,
        ends=ends,
        range_energy_j=energy_j,
        range_charge_c=charge_c,
        range_volt_s=volt_s,
        lost_s=lost / sample_hz,
        beyond_j=beyond_j,
        stepped=stepped,
        cut=cut,
        apart_j=apart_j,
    )


def seen(end: EndPower, sums: Sums) -> EndPower:
    """Return an end with a known power outside: where that sample was lost, the power
    of the window that is farthest from the power inside."""
    if math.isfinite(end.outside_w) or not math.isfinite(end.inside_w):
        return end
    seen_w = [
        power_w
        for power_w in (end.inside_w, sums.least_w, sums.most_w)
        if math.isfinite(power_w)
    ]
    return EndPower(
        max(seen_w, key=lambda power_w: abs(power_w - end.inside_w)), end.inside_w
    )
