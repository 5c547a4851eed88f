# SPDX-License-Identifier: Apache-2.0
"""The spectrum of a real signal, and logarithms, in whole numbers: the numbers of
firmware/workloads/sound/nr_spectrum.c.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[Any]

#: Cosines are those of places on a circle of so many.
CIRCLE = 1024
#: A cosine is in units of 2^-30.
COSINE_BITS = 30
#: Bits after the point of a logarithm, and of a value before it is cut.
LOG_BITS = 16


@cache
def quarter(circle: int) -> Ints:
    """Return cos(2 pi k / circle) for k from 0 to a quarter of the circle, in units of
    2^-30.
    """
    angles = 2 * np.pi * np.arange(circle // 4 + 1) / circle
    result: Ints = np.rint(np.cos(angles) * (1 << COSINE_BITS)).astype(np.int64)
    return result


def cosines(places: Ints, circle: int = CIRCLE) -> Ints:
    """Return cos(2 pi k / circle) of any places from 0 on, from the quarter's table."""
    half = circle // 2
    around = places % circle
    folded = np.where(around > half, circle - around, around)
    below = folded > circle // 4
    turns = quarter(circle)[np.where(below, half - folded, folded)]
    result: Ints = np.where(below, -turns, turns)
    return result


def powers(windows: Ints) -> Ints:
    """Return the squared spectrum (windows, half of the samples and one), in units of a
    quarter, of windows (windows, samples), a power of two.
    """
    half = windows.shape[1] // 2
    real, imaginary = _transformed(windows[:, 0::2], windows[:, 1::2])
    places = np.arange(half + 1)
    one, other = places % half, (half - places) % half
    even_real = real[:, one] + real[:, other]
    even_imaginary = imaginary[:, one] - imaginary[:, other]
    odd_real = imaginary[:, one] + imaginary[:, other]
    odd_imaginary = real[:, other] - real[:, one]
    cosine, sine = _turns(places * (CIRCLE // 2 // half))
    line_real = even_real + _product(odd_real, cosine, odd_imaginary, sine)
    line_imaginary = even_imaginary + _product(odd_imaginary, cosine, -odd_real, sine)
    result: Ints = line_real * line_real + line_imaginary * line_imaginary
    return result


def log2(numbers: Ints) -> Ints:
    """Return the logarithm of positive numbers in units of 2^-16, rounded down, by
    squaring.
    """
    safe = np.maximum(numbers, 1)
    exponents = np.zeros_like(safe)
    for step in (32, 16, 8, 4, 2, 1):
        large = (safe >> exponents) >= (1 << step)
        exponents = exponents + np.where(large, step, 0)
    up = np.maximum(31 - exponents, 0)
    down = np.maximum(exponents - 31, 0)
    mantissas = ((safe >> down) << up).astype(np.uint64)
    result = exponents
    for _ in range(LOG_BITS):
        squared = (mantissas * mantissas) >> np.uint64(31)
        two = squared >> np.uint64(32)
        mantissas = squared >> two
        result = 2 * result + two.astype(np.int64)
    return result


def cut(raw: Ints, least: int = -128) -> Ints:
    """Return values in units of 2^-16, towards 0, from `least` to 127."""
    whole = np.where(raw < 0, -(-raw >> LOG_BITS), raw >> LOG_BITS)
    result: Ints = np.clip(whole, least, 127)
    return result


def _turns(places: Ints) -> tuple[Ints, Ints]:
    return cosines(places), cosines(places + 3 * CIRCLE // 4)


def _product(first: Ints, cosine: Ints, second: Ints, sine: Ints) -> Ints:
    """Return first x cosine + second x sine, to the nearest, halves up."""
    half = 1 << (COSINE_BITS - 1)
    result: Ints = (first * cosine + second * sine + half) >> COSINE_BITS
    return result


def _transformed(real: Ints, imaginary: Ints) -> tuple[Ints, Ints]:
    """Return the Fourier transform of complex numbers, by halves, without scaling."""
    half = real.shape[1]
    order = _bit_reversed(half)
    real, imaginary = real[:, order], imaginary[:, order]
    length = 1
    while length < half:
        shape = (len(real), -1, 2, length)
        reals, imaginaries = real.reshape(shape), imaginary.reshape(shape)
        second_real, second_imaginary = reals[:, :, 1], imaginaries[:, :, 1]
        cosine, sine = _turns(np.arange(length) * (CIRCLE // 2 // length))
        turned_real = _product(second_real, cosine, second_imaginary, sine)
        turned_imaginary = _product(second_imaginary, cosine, -second_real, sine)
        real = _butterfly(reals[:, :, 0], turned_real, half)
        imaginary = _butterfly(imaginaries[:, :, 0], turned_imaginary, half)
        length *= 2
    return real, imaginary


def _butterfly(first: Ints, turned: Ints, half: int) -> Ints:
    joined = np.stack([first + turned, first - turned], axis=2)
    return joined.reshape(len(joined), half)


def _bit_reversed(count: int) -> Ints:
    order = np.zeros(1, np.int64)
    while len(order) < count:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order
