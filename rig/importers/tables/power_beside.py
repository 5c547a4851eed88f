# SPDX-License-Identifier: Apache-2.0
"""A power that a file has beside current and voltage, against their product: where
samples are means, the two differ. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rig.arrays import Array
from rig.importers.advice import Advice, AdvisedNote, give
from rig.units import share

#: Below this the difference is rounding: single precision, or the digits that were
#: printed.
_ROUNDING = 1e-4


@dataclass(slots=True)
class PowerBeside:
    """Sums of a power called `name` and of current times voltage, sample by sample."""

    name: str
    told: float = 0.0
    product: float = 0.0
    apart: float = 0.0
    size: float = 0.0

    def add(self, current: Array, voltage: Array, power: Array) -> None:
        """Add samples; those that lack one of the three do not count."""
        product = np.multiply(current, voltage, dtype=np.float64)
        known = np.isfinite(product) & np.isfinite(power)
        product = product[known]
        stated_w = power[known].astype(np.float64)
        self.told += float(stated_w.sum())
        self.product += float(product.sum())
        self.apart += float(np.abs(product - stated_w).sum())
        self.size += float(np.abs(stated_w).sum())

    def notes(self, given_v: float = 0.0) -> list[str]:
        """Return notes on how much the energy by the product, which is measured,
        differs from that by the power; none where it does not."""
        if not self.size and not self.product:
            return [f"{self.name} has no numbers beside current and voltage"]
        if self.apart <= _ROUNDING * self.size:
            return []
        voltage = f"{given_v:g} V, as given," if given_v else "voltage"
        each = (
            f"; sample by sample they differ by {share(self.apart / self.size)}"
            if self.size
            else ""
        )
        remark = " takes the latter, without charge, current and uncertainty"
        return [
            AdvisedNote(
                f"the energy by current times {voltage} is {self._whole()} over the"
                f" whole{each}",
                Advice(give(remark, power=self.name)),
            )
        ]

    def _whole(self) -> str:
        if not self.told:
            return f"not zero, that by {self.name} is"
        return f"{_percent(self.product / self.told - 1)} than by {self.name}"


def _percent(part: float) -> str:
    return f"{share(abs(part))} {'more' if part > 0 else 'less'}"
