# SPDX-License-Identifier: Apache-2.0
"""Coverage factor of an uncertainty budget (GUM 6.2, G.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rig.arrays import Float64s

LEVEL = 0.95

#: Frequencies at which characteristic functions are evaluated, per width of the sum, in
#: pieces of length one. A rectangle alone, the slowest to decay, has less than 1e-4 of
#: its probability beyond.
_FREQUENCIES = 300
_NODES = 16
#: Largest half-width, in widths of the sum, and number of steps: a single value of a
#: Student t of one degree of freedom needs 12.7.
_WIDEST = 20.0
_STEPS = 1 << 24
#: Most budgets' factors lie between these, in widths.
_USUAL = (1.6, 2.9)
#: Beyond these frequencies the product is less than e^-38, or 3e-17, and does not
#: change a sum of floats.
_NOTHING = 38.0
#: Beyond this multiple of its inverse standard deviation, Student's characteristic
#: function is below 1e-16 (one degree: e^-40).
_FADED = 40.0
_TABLE = 2001
_VARIANCES = 257
#: More degrees of freedom than this make no difference.
_MANY = 1000
#: Two components with one degree of freedom each extend twice as far as one.
_TAILS = 2.0


@dataclass(frozen=True, slots=True)
class Mixture:
    """A normal distribution with a random variance: its values, and their
    probabilities.
    """

    variances: tuple[float, ...]
    weights: tuple[float, ...]


Shape = str | Mixture
Component = tuple[float, Shape]


def coverage_factor(components: Sequence[Component], level: float = LEVEL) -> float:
    """Return k such that +-k times the combined standard uncertainty contains 95 %, or
    another level, of a sum of independent components.

    A component is its scale and its shape: "normal" and "rectangular" with their
    standard deviation, "t4" (any number of degrees of freedom) with s/sqrt(n) of n = 5
    values, or a Mixture (rig/stats/two_way.py). The product of their characteristic
    functions is inverted (GUM supplement 1 by quadrature instead of by drawing;
    Gil-Pelaez 1951), for tails of any length and components of any width: k = 2 is too
    large if one rectangle dominates, and too small if five trials do (2.78) or two
    (12.7). It is rounded to three decimals, so that it is the same on every machine.
    More than 20 widths of the sum are not looked at: of another level it is too small
    where the tails of one degree of freedom reach further.
    """
    live = tuple((scale, shape) for scale, shape in components if scale > 0)
    return _of(live, level)


# A report, a check and a comparison use the same budgets several times.
@lru_cache(maxsize=512)
def _of(live: tuple[Component, ...], level: float) -> float:
    if not live or not all(math.isfinite(scale) for scale, _ in live):
        return 2.0
    combined = math.hypot(*(scale for scale, _ in live))
    # Scales of components with one degree of freedom add up linearly: their sum is
    # wider than the combined uncertainty.
    width = max(combined, math.fsum(_tail(shape) * scale for scale, shape in live))
    nodes = _NODES * _pieces([(scale / width, shape) for scale, shape in live])
    frequencies, weights = (part[:nodes] for part in _quadrature())
    for scale, shape in live:
        weights = weights * _characteristic(scale / width * frequencies, shape)

    def probability(half: float) -> float:
        return 2 / math.pi * float(np.sum(weights * np.sin(half * frequencies)))

    steps = first_step_beyond(probability, level)
    return round(steps * (_WIDEST / _STEPS) * width / combined, 3)


def first_step_beyond(inside: Callable[[float], float], level: float = LEVEL) -> int:
    """Return the first step whose probability inside reaches the level, by false
    position (Dowell and Jarratt 1971, Illinois) with the result of bisection, in 10
    evaluations instead of 24.
    """
    low = 0
    high = _STEPS
    below = -level
    above = 1 - level
    usual = [round(half / _WIDEST * _STEPS) for half in _USUAL]
    last = 0.0
    while high - low > 1:
        step = (
            usual.pop()
            if usual
            else round(low - below * (high - low) / (above - below))
        )
        step = min(max(step, low + 1), high - 1)
        value = inside(step * (_WIDEST / _STEPS)) - level
        # An end that stays for the second time is weighted with one half, so that it
        # moves as well.
        if value < 0:
            low = step
            below = value
            above = above / 2 if last < 0 else above
        else:
            high = step
            above = value
            below = below / 2 if last > 0 else below
        last = value
    return high


def _pieces(live: Sequence[Component]) -> int:
    """Return the highest frequency that contributes; all shapes but the rectangle decay
    monotonically.
    """
    ends = np.arange(1.0, _FREQUENCIES + 1)
    falls = np.zeros(_FREQUENCIES)
    for scale, shape in live:
        if shape == "normal":
            falls += 0.5 * (scale * ends) ** 2
        elif isinstance(shape, Mixture):
            falls -= np.log(np.maximum(_mixed(scale * ends, shape), np.exp(-_NOTHING)))
        elif shape != "rectangular":
            falls += np.interp(scale * ends, *_student(_freedom(shape)))
    return min(int(np.searchsorted(falls, _NOTHING)) + 1, _FREQUENCIES)


def _tail(shape: Shape) -> float:
    """Return the widening of the sum by a component, in its scales."""
    if isinstance(shape, Mixture):
        return _TAILS
    return 1.0 if shape == "t1" else 0.0


def _mixed(frequencies: Float64s, shape: Mixture) -> Float64s:
    """Return the characteristic function of a normal distribution with a random
    variance.
    """
    each = np.exp(-0.5 * np.outer(frequencies**2, np.array(shape.variances)))
    mixed: Float64s = each @ np.array(shape.weights)
    return mixed


def _freedom(shape: str) -> int:
    """Return the degrees of freedom in the name of a Student shape, such as "t4"."""
    if not shape.startswith("t"):
        raise ValueError(f"no such shape: {shape}")
    return min(int(shape[1:]), _MANY)


def _characteristic(frequencies: Float64s, shape: Shape) -> Float64s:
    """Return the characteristic function of a distribution of scale 1; it is real, as
    all are symmetric.
    """
    values: Float64s
    if isinstance(shape, Mixture):
        return _mixed(frequencies, shape)
    if shape == "normal":
        values = np.exp(-0.5 * frequencies**2)
    elif shape == "rectangular":
        values = np.sinc(frequencies * (math.sqrt(3.0) / math.pi))
    else:
        values = np.exp(-np.interp(frequencies, *_student(_freedom(shape))))
    return values


@lru_cache(maxsize=8)
def _student(freedom: int) -> tuple[Float64s, Float64s]:
    """Return frequencies, and minus the logarithm of Student's characteristic function
    there.

    Student's t is normal with a random variance 1/v, where v is chi-squared over its
    degrees of freedom. Its characteristic function is therefore the mean of normal
    ones, computed over log v by the trapezoidal rule, which is exact to rounding.
    """
    log_v = np.linspace(-56 / freedom - 1, 4.5, _VARIANCES)
    weights = np.exp(freedom / 2 * (log_v - np.exp(log_v) + 1))
    # Closer together near 0, where the function bends most.
    at: Float64s = _FADED * np.linspace(0, 1, _TABLE) ** 2
    normal = np.exp(-0.5 * at[:, None] ** 2 * np.exp(-log_v))
    return at, -np.log(np.sum(normal * weights, axis=1) / np.sum(weights))


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Float64s, Float64s]:
    """Return the nodes of Gauss and Legendre in pieces of length one, and their weights
    over each node's frequency.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    places: Float64s = (np.arange(_FREQUENCIES)[:, None] + (nodes + 1) / 2).ravel()
    return places, np.tile(weights / 2, _FREQUENCIES) / places
