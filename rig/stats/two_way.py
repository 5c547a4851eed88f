# SPDX-License-Identifier: Apache-2.0
"""Scatter of a mean from two sources that cross: the units chosen, and the repetitions
of all of them. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.arrays import Float64s
from rig.stats.containing import Variance
from rig.stats.coverage_factor import Mixture

#: Probabilities at which each chi-squared distribution is evaluated, close together in
#: its lower tail.
_NODES = 48
_CLOSE = 3
#: Draws of about one size are binned.
_BINS = 256


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Two variances of one mean: by the units `chosen` and by the repetitions
    (`repeated`); `both` is their common part, infinite if the smaller one is a part of
    the larger.

    Units and repetitions cross, so that the variance of the mean is the sum less the
    common part (Cameron, Gelbach and Miller, Journal of Business and Economic
    Statistics 29, 2011, 238), and never less than either one.
    """

    chosen: Variance
    repeated: Variance
    both: float = 0.0

    @property
    def value(self) -> float:
        """The estimated variance."""
        chosen, repeated = self.chosen.value, self.repeated.value
        return max(chosen, repeated, chosen + repeated - self.both)

    @property
    def standard_uncertainty(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.value)

    @property
    def shape(self) -> Mixture:
        """The fiducial distribution of the mean, of scale 1.

        Each variance is drawn as V nu / chi2(nu) (Weerahandi, JASA 88, 1993, 899;
        Hannig, Iyer and Patterson, JASA 101, 2006, 254). As their joint variance is at
        least either one in every draw, the interval contains the one that has the
        repetitions alone.
        """
        scale = self.value
        parts = (self.chosen, self.repeated)
        known = [(one.value / scale, one.freedom) for one in parts if one.value > 0]
        return _mixture(tuple(known), self.both / scale)


@lru_cache(maxsize=1024)
def _mixture(parts: tuple[tuple[float, float], ...], both: float) -> Mixture:
    at, weights = _places()
    draws = [value * freedom / _chi2(freedom, at) for value, freedom in parts]
    if len(draws) == 1:
        return _binned(draws[0], weights)
    first, second = np.meshgrid(*draws, indexing="ij")
    joined = np.maximum(np.maximum(first, second), first + second - both)
    return _binned(joined.ravel(), np.outer(weights, weights).ravel())


def _binned(variances: Float64s, weights: Float64s) -> Mixture:
    """Return the draws as a few variances, each with the geometric mean of its own."""
    logs = np.log(variances)
    low, high = float(logs.min()), float(logs.max())
    bins = (logs - low) / max(high - low, 1e-9) * _BINS
    places = np.minimum(bins.astype(int), _BINS - 1)
    of_bin = np.bincount(places, weights, _BINS)
    sums = np.bincount(places, weights * logs, _BINS)
    filled = of_bin > 0
    means = np.exp(sums[filled] / of_bin[filled])
    return Mixture(tuple(means.tolist()), tuple(of_bin[filled].tolist()))


@lru_cache(maxsize=1)
def _places() -> tuple[Float64s, Float64s]:
    """Return probabilities and their weights, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    even = (nodes + 1) / 2
    at: Float64s = even**_CLOSE
    return at, weights / 2 * _CLOSE * even ** (_CLOSE - 1)


def _chi2(freedom: float, at: Float64s) -> Float64s:
    quantiles: Float64s = 2 * scipy.special.gammaincinv(freedom / 2, at)
    return np.maximum(quantiles, np.finfo(np.float64).tiny)
