# SPDX-License-Identifier: Apache-2.0
"""Real numbers as the input of a network: how they are quantised, by the host in
floating point or by a device with comparisons alone.

A device holds for each value of int8 but the lowest the least single-precision number
that is quantised to it or more, and counts how many of these 255 are not above its
input. Numbers compare as their bits do, once these are in the order of the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rig.network.tflite.form import HIGH, LOW, IntegerTensor, Ints

REAL_B = 4
_INFINITY = 0x7F800000


def quantised(tensor: IntegerTensor, reals: Ints) -> tuple[Ints, int]:
    """Return finite real numbers as values of a tensor, and how many did not fit and
    were limited.

    As TFLite's kernel QUANTIZE: a division in single precision, whose result is rounded
    with halves away from zero.
    """
    with np.errstate(over="ignore"):
        quotients = reals.astype(np.float32) / np.float32(tensor.scale)
    # Here a half can be added without rounding.
    steps = quotients.astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps) + tensor.zero_point
    limited = np.clip(rounded, LOW, HIGH)
    return limited.astype(np.int8), int(np.count_nonzero(limited != rounded))


def reals_of(tensor: IntegerTensor, values: Ints) -> Ints:
    """Return the real numbers that values stand for, in single precision."""
    steps = values.astype(np.int64) - tensor.zero_point
    return (steps * tensor.scale).astype(np.float32)


def thresholds(tensor: IntegerTensor) -> list[int]:
    """Return the keys of the least numbers that are quantised to -127 or more, to -126
    or more, and so on to 127; a key that no finite number has where none is.
    """
    codes = np.arange(LOW + 1, HIGH + 1)
    below = np.full(codes.size, -_INFINITY, np.int64)
    reaching = np.full(codes.size, _INFINITY, np.int64)
    while np.any(reaching - below > 1):
        middle = (below + reaching) // 2
        reached, _ = quantised(tensor, _number(middle))
        enough = reached >= codes
        reaching = np.where(enough, middle, reaching)
        below = np.where(enough, below, middle)
    keys: list[int] = reaching.tolist()
    return keys


def _number(keys: Any) -> Any:
    """Return the single-precision numbers with keys: of a positive number its bits, of
    a negative one those of its magnitude, negative.
    """
    numbers = np.abs(keys).astype(np.uint32).view(np.float32)
    return np.where(keys < 0, -numbers, numbers)
