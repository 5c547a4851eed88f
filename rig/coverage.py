# SPDX-License-Identifier: Apache-2.0
"""How many standard uncertainties make an interval that holds the truth 95 times in 100: the coverage factor of a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
#: Points of the grid, and half of its width in combined standard uncertainties: by the degrees of freedom of a Student t, whose
#: tails are long when they are few. What lies beyond is less than 2e-3 of all.
_POINTS = 1 << 16
_REACH = {1: 500.0, 2: 100.0, 3: 50.0}
_REACH_OF_MANY = 24.0

Component = tuple[float, str]


def coverage_factor(components: Sequence[Component]) -> float:
    """Return k so that +-k times the combined standard uncertainty holds 95 % of the sum of independent components.

    A component is its scale and its shape: "normal" and "rectangular" with their standard deviation, "t4" (any number of degrees of
    freedom) with s/sqrt(n) of n = 5 values. The distributions are convolved (GUM supplement 1 by numbers instead of by drawing),
    since k = 2 is too much where one rectangle dominates, and too little where five trials do (2.78).
    Rounded to three decimals, so that it is the same on every machine.
    """
    live = [(scale, shape) for scale, shape in components if scale > 0]
    if not live or not all(math.isfinite(scale) for scale, _ in live):
        return 2.0
    combined = math.sqrt(math.fsum(scale**2 for scale, _ in live))
    # What is too narrow for the grid adds to the normal part: next to the others its shape cannot be seen.
    freedom = min((int(shape[1:]) for _, shape in live if shape.startswith("t")), default=99)
    step = 2 * _REACH.get(freedom, _REACH_OF_MANY) / _POINTS
    narrow = [scale for scale, shape in live if shape == "normal" or scale / combined < 20 * step]
    shapes = [(scale / combined, shape) for scale, shape in live if shape != "normal" and scale / combined >= 20 * step]
    if narrow:
        shapes.append((max(math.sqrt(math.fsum(scale**2 for scale in narrow)) / combined, 4 * step), "normal"))
    grid: NDArray[np.float64] = (np.arange(_POINTS, dtype=np.float64) - _POINTS // 2) * step
    spectrum = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    for scale, shape in shapes:
        spectrum = spectrum * np.fft.rfft(np.fft.ifftshift(_mass(grid, scale, shape)))
    mass = np.fft.fftshift(np.fft.irfft(spectrum, _POINTS))
    # A cell of the grid reaches half a step beyond its middle.
    inside = np.cumsum(_folded(mass))
    return round(float(np.interp(LEVEL, inside / inside[-1], (np.arange(len(inside)) + 0.5) * step)), 3)


def _folded(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    middle = _POINTS // 2
    both = mass[middle:].copy()
    both[1:] += mass[middle - 1 : 0 : -1]
    return both


def _mass(grid: NDArray[np.float64], scale: float, shape: str) -> NDArray[np.float64]:
    """Return how much of a distribution lies in each cell of the grid."""
    if shape == "normal":
        density = np.exp(-0.5 * (grid / scale) ** 2)
    elif shape == "rectangular":
        half, step = scale * math.sqrt(3.0), grid[1] - grid[0]
        density = np.clip((half - np.abs(grid)) / step + 0.5, 0.0, 1.0)
    elif shape.startswith("t"):
        freedom = int(shape[1:])
        density = (1 + (grid / scale) ** 2 / freedom) ** (-(freedom + 1) / 2)
    else:
        raise ValueError(f"no such shape: {shape}")
    mass: NDArray[np.float64] = density / density.sum()
    return mass
