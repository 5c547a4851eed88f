# SPDX-License-Identifier: Apache-2.0
"""Real factors as whole numbers and a shift, and how far off they are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rig.network.fixed.form import FACTOR_MAX, MULTIPLIER_MAX, Ints

Floats = NDArray[np.float64]

#: The longest shift after a factor: a product has 62 bits.
SHIFT_MAX = 62
#: The longest shift after a multiplier, whose product has 31 bits.
MULTIPLIER_SHIFT_MAX = 30


def power_of_two(least: float) -> float:
    """Return the smallest power of two that is not less: scales are such, so that a
    last bit of floating point, which computers disagree on, changes none of them.
    """
    mantissa, exponent = math.frexp(least)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def compact(values: Floats) -> Floats:
    """Return one value where all are the same, else all of them in a row."""
    flat = values.reshape(-1)
    return flat[:1] if flat.size and bool(np.all(flat == flat[0])) else flat


def whole(values: Floats, limit: int) -> Ints:
    """Return values to the nearest whole number, limited."""
    return np.clip(np.rint(values), -limit, limit).astype(np.int64)


def factor(ratios: Floats) -> tuple[Ints, int]:
    """Return factors of at most 2^30, and the shift of their product, for the same
    ratios.
    """
    return _shifted(ratios, FACTOR_MAX, SHIFT_MAX)


def multiplier(ratios: Floats) -> tuple[Ints, int]:
    """Return multipliers below 2^15, and the shift of their product, for the same
    ratios; a whole ratio stays as it is.
    """
    are_whole = ratios == np.rint(ratios)
    if bool(np.all(are_whole & (np.abs(ratios) <= MULTIPLIER_MAX))):
        return ratios.astype(np.int64), 0
    return _shifted(ratios, MULTIPLIER_MAX, MULTIPLIER_SHIFT_MAX)


def _shifted(ratios: Floats, limit: int, shift_max: int) -> tuple[Ints, int]:
    largest = float(np.max(np.abs(ratios), initial=0.0))
    if largest == 0.0:
        return np.zeros(ratios.shape, np.int64), 0
    _, exponent = math.frexp(largest)
    shift = min(max(limit.bit_length() - 1 - exponent, 0), shift_max)
    if shift < shift_max and round(largest * 2.0 ** (shift + 1)) <= limit:
        shift += 1
    return whole(ratios * 2.0**shift, limit), shift
