# SPDX-License-Identifier: Apache-2.0
"""The fixed-point arithmetic of tflite-micro's reference kernels: two roundings for a
product with a real number, and exponentials by gemmlowp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rig.network.tflite.form import Factor, Ints

#: A factor with a smaller shift is 0.
_SHIFT_MIN = -31
_ONE = 2**31
#: The input of an exponential has so many bits before the point.
_DIFFERENCE_BITS = 5
#: A sum of exponentials has so many.
SUM_BITS = 12
#: exp(-2^n) for n from -2 to 4, in units of 2^-31.
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_EIGHTH = 1895147668
_THIRD = 715827883


def factor(real: float) -> Factor:
    """Return a positive real number in whole numbers, as QuantizeMultiplier does."""
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * _ONE + 0.5)
    if multiplier == _ONE:
        multiplier, shift = multiplier // 2, shift + 1
    if multiplier == 0 or shift < _SHIFT_MIN:
        return Factor(0, 0)
    return Factor(multiplier, shift)


def high_product(numbers: Ints, multiplier: Any) -> Ints:
    """Return numbers x multiplier / 2^31, to the nearest, halves up."""
    result: Ints = (numbers.astype(np.int64) * multiplier + (1 << 30)) >> 31
    return result


def halved(numbers: Ints, shift: Any) -> Ints:
    """Return numbers / 2^shift, to the nearest, halves away from zero."""
    step = np.left_shift(np.int64(1), shift)
    rest = numbers & (step - 1)
    threshold = ((step - 1) >> 1) + (numbers < 0)
    result: Ints = (numbers >> shift) + (rest > threshold)
    return result


def scaled(numbers: Ints, multiplier: Any, shift: Any) -> Ints:
    """Return numbers times factors, as MultiplyByQuantizedMultiplier does."""
    left = np.left_shift(numbers.astype(np.int64), np.maximum(shift, 0))
    return halved(high_product(left, multiplier), np.maximum(np.negative(shift), 0))


def exponentials(beta: float, scale: float) -> Ints:
    """Return exp(-steps x beta x scale) for 0 to 255 steps of a softmax's input, in
    units of 2^-31, 0 where it counts as none.
    """
    most = float(_ONE - 1)
    real = min(beta * scale * 2 ** (31 - _DIFFERENCE_BITS), most)
    step = factor(real)
    largest = (2**_DIFFERENCE_BITS - 1) * 2 ** (31 - _DIFFERENCE_BITS)
    radius = math.floor(largest / 2**step.shift)
    steps = np.arange(256, dtype=np.int64)
    kept = np.minimum(steps, radius)
    inputs = high_product(-kept << step.shift, step.multiplier)
    return np.where(steps <= radius, _exponential(inputs), 0).astype(np.int64)


def _exponential(inputs: Ints) -> Ints:
    """Return exp of inputs in units of 2^-26, none above 0, in units of 2^-31."""
    quarter = 1 << (31 - _DIFFERENCE_BITS - 2)
    within = (inputs & (quarter - 1)) - quarter
    result = _near_zero(within << _DIFFERENCE_BITS)
    rest = within - inputs
    for number, power in enumerate(_POWERS):
        bit = quarter << number
        result = np.where(rest & bit, high_product(result, power), result)
    return np.where(inputs == 0, _ONE - 1, result)


def _near_zero(inputs: Ints) -> Ints:
    """Return exp of inputs from -1/4 to 0 by a series about -1/8, all in units of
    2^-31.
    """
    x = inputs + (1 << 28)
    x2 = high_product(x, x)
    x3 = high_product(x2, x)
    x4 = high_product(x2, x2)
    cubes = high_product(halved(x4, 2) + x3, _THIRD)
    series = halved(cubes + x2, 1)
    return _EXP_EIGHTH + high_product(x + series, np.int64(_EXP_EIGHTH))


def reciprocals(sums: Ints) -> tuple[Ints, Ints]:
    """Return 1 / sums for sums of exponentials in units of 2^-19: numbers in units of
    2^-31, and the shifts that they need further.
    """
    headroom = 31 - np.floor(np.log2(sums)).astype(np.int64)
    above_one = np.left_shift(sums, headroom) - _ONE
    half = (above_one + _ONE - 1 + 1) // 2
    x = 1515870810 + high_product(half, np.int64(-1010580540))
    for _ in range(3):
        missing = (1 << 29) - high_product(half, x)
        more = high_product(x, missing) << 2
        x = x + np.clip(more, -_ONE, _ONE - 1)
    return np.minimum(x << 1, _ONE - 1), SUM_BITS - headroom


def softmax(values: Ints, exps: Ints) -> Ints:
    """Return the softmax over the last axis, of int8 values, as int8 values."""
    steps = values.max(axis=-1, keepdims=True) - values
    each = exps[steps]
    sums = halved(each, SUM_BITS).sum(axis=-1, keepdims=True)
    shares, bits = reciprocals(sums)
    result = halved(high_product(each, shares), bits + 31 - 8)
    limited: Ints = np.clip(result - 128, -128, 127)
    return limited
