# SPDX-License-Identifier: Apache-2.0
"""Mean, standard deviation and extremes of samples that come in blocks. Pure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Moments:
    """Weight, mean, sum of squared distances from it, least and most of values so far."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.mean = 0.0
        self.squares = 0.0
        self.least = math.inf
        self.most = -math.inf

    def add(self, values: NDArray[np.floating[Any]]) -> None:
        """Add values, all of them numbers."""
        if not len(values):
            return
        mean = float(values.mean(dtype=np.float64))
        apart = np.subtract(values, mean, dtype=np.float64)
        self._join(float(len(values)), mean, float(np.dot(apart, apart)))
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))

    def add_part(self, value: float, weight: float) -> None:
        """Add a value that counts for less than one."""
        if weight > 0:
            self._join(weight, value, 0.0)
            self.least = min(self.least, value)
            self.most = max(self.most, value)

    @property
    def variance(self) -> float:
        """Return the mean squared distance from the mean."""
        return self.squares / self.weight if self.weight else math.nan

    def _join(self, weight: float, mean: float, squares: float) -> None:
        whole = self.weight + weight
        step = mean - self.mean
        self.mean += step * weight / whole
        self.squares += squares + step * step * self.weight * weight / whole
        self.weight = whole
