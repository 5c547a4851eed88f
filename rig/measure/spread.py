# SPDX-License-Identifier: Apache-2.0
"""The energy over several windows in one line: mean, median and spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rig.measure.trace_windows import WindowRow
from rig.units import plural, scale, share


@dataclass(frozen=True, slots=True)
class EnergySpread:
    """Energies of windows, each divided by `per`: their number, mean, median, standard
    deviation, least and most.
    """

    windows: int
    per: int
    mean_j: float
    median_j: float
    deviation_j: float
    least_j: float
    most_j: float

    def text(self) -> str:
        """Return the line."""
        what = (
            "energy" if self.per == 1 else f"energy of each of {self.per} in a window"
        )
        factor, unit = scale(max(abs(self.least_j), abs(self.most_j)), "J")
        energies_j = (
            self.mean_j,
            self.median_j,
            self.deviation_j,
            self.least_j,
            self.most_j,
        )
        mean, median, deviation, least, most = (
            f"{energy_j * factor:.5g} {unit}" for energy_j in energies_j
        )
        part = f" ({share(self.deviation_j / abs(self.mean_j))})" if self.mean_j else ""
        return (
            f"{what}, {plural(self.windows, 'window')}: mean {mean}, median {median},\n"
            f"spread {deviation}{part}, {least} to {most}"
        )


def spread_of(rows: Sequence[WindowRow], per: int = 1) -> EnergySpread | None:
    """Compute the spread of the windows' energies; None if one has no energy, or for
    fewer than two.
    """
    energies = [row.energy_j for row in rows if row.energy_j is not None]
    if len(energies) < 2 or len(energies) < len(rows):
        return None
    each = [energy_j / per for energy_j in energies]
    mean_j = math.fsum(each) / len(each)
    return EnergySpread(
        windows=len(each),
        per=per,
        mean_j=mean_j,
        median_j=statistics.median(each),
        deviation_j=statistics.stdev(each),
        least_j=min(each),
        most_j=max(each),
    )
