# SPDX-License-Identifier: Apache-2.0
"""Mean, standard deviation and extremes of samples that come in blocks. Pure."""

from __future__ import annotations

import math

import numpy as np

from rig.arrays import Reals

#: So many values at once fit into a processor's cache.
_CHUNK = 1 << 14


class Moments:
    """Weight, mean, sum of squared distances from it, least and most of values so
    far."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.mean = 0.0
        self.squares = 0.0
        self.least = math.inf
        self.most = -math.inf
        # Kept: allocating memory for each block costs more than the arithmetic.
        self._apart = np.empty(_CHUNK)

    def add(self, values: Reals) -> None:
        """Add values, all of them numbers."""
        for at in range(0, len(values), _CHUNK):
            part = values[at : at + _CHUNK]
            apart = self._apart[: len(part)]
            np.copyto(apart, part)
            mean = float(apart.sum()) / len(part)
            apart -= mean
            # Not np.dot: its threads cost more than they do.
            self._join(float(len(part)), mean, float(np.einsum("i,i", apart, apart)))
            self.least = min(self.least, float(part.min()))
            self.most = max(self.most, float(part.max()))

    def add_part(self, value: float, weight: float) -> None:
        """Add a value that counts for less than one."""
        if weight > 0:
            self._join(weight, value, 0.0)
            self.least = min(self.least, value)
            self.most = max(self.most, value)

    @property
    def variance(self) -> float:
        """Mean squared distance from the mean."""
        return self.squares / self.weight if self.weight else math.nan

    def _join(self, weight: float, mean: float, squares: float) -> None:
        whole = self.weight + weight
        step = mean - self.mean
        self.mean += step * weight / whole
        self.squares += squares + step * step * self.weight * weight / whole
        self.weight = whole
