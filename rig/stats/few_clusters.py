# SPDX-License-Identifier: Apache-2.0
"""The variance of a mean over few clusters of any sizes, and its degrees of freedom.
Pure."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.arrays import Float64s
from rig.stats.binomial import student
from rig.stats.containing import Variance

#: Two clusters have one degree of freedom or less, too few for an interval.
LEAST = 3
#: More degrees of freedom make no difference.
_MANY = 1000.0
#: Clusters whose sizes agree to this many digits have one degree of freedom less than
#: their number.
_DIGITS = 9
_NODES = 64
_STEPS = 40
_OUTSIDE = 0.05


def cr2(away: Float64s, weights: Float64s) -> Variance:
    """Return the variance of a mean by the choice of its clusters (CR2).

    away: change of the mean if each cluster is left out
    weights: the clusters' shares of all values, with sum 1

    Leaving out a cluster changes the mean by the cluster's sum of residuals over n (1 -
    weight), so that its part in CR2, that sum squared over n**2 (1 - weight) (Bell and
    McCaffrey, Survey Methodology 28, 2002, 169), is away**2 (1 - weight). For a
    statistic other than a mean this is CR2 of its linearised values.

    The degrees of freedom are those of the Student t with the same quantile as this
    mean over the root of this variance, if clusters differ by a normal effect, for any
    sizes (Imbens and Kolesar, Review of Economics and Statistics 98, 2016, 701, match
    two moments of the variance instead: with sizes 16, 6, 4, 2, 2 their intervals cover
    99 %).
    """
    live = weights > 0
    shares = weights[live] / weights[live].sum()
    value = float(np.sum(away[live] ** 2 * (1 - shares)))
    return Variance(
        value, freedom(tuple(sorted(round(each, _DIGITS) for each in shares.tolist())))
    )


@lru_cache(maxsize=256)
def freedom(shares: tuple[float, ...]) -> float:
    """Return the degrees of freedom of the variance of a mean of clusters with these
    shares of all values; 0 for one cluster.
    """
    if len(shares) < 2:
        return 0.0
    if shares[-1] - shares[0] <= 10**-_DIGITS:
        return float(len(shares) - 1)
    weights = np.array(shares) / sum(shares)
    residuals = np.eye(len(weights)) - weights[None, :]
    each = weights / np.sqrt(1 - weights)
    rows = each[:, None] * residuals
    variance = rows.T @ rows
    # No cluster has more than all weight: the factor lies between that of one degree
    # and of many.
    low, high = student(_MANY), student(1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        outside = _outside(np.outer(weights, weights) - middle**2 * variance)
        low, high = (middle, high) if outside > _OUTSIDE else (low, middle)
    degrees = float(scipy.special.stdtridf(1 - _OUTSIDE / 2, (low + high) / 2))
    # Rounded, so that it is the same on every machine.
    return round(min(max(degrees, 1.0), _MANY), 6)


def _outside(form: Float64s) -> float:
    """Return the probability that a quadratic form in normal values with a single
    positive eigenvalue is above 0.

    A chi-squared root of one degree exceeds a sum S with 2 Q(sqrt(S)), and Craig's form
    of Q (MILCOM 1991, 571) turns the mean over S into a product.
    """
    values = np.linalg.eigvalsh(form)
    others = np.maximum(-values[:-1] / values[-1], 0.0)
    sines, parts = _angles()
    ratios = others[None, :] / sines[:, None]
    products = np.prod(1 / np.sqrt(1 + ratios), axis=1)
    return float(parts @ products)


@lru_cache(maxsize=1)
def _angles() -> tuple[Float64s, Float64s]:
    """Return squared sines of angles up to a right one, and the angles' weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    squares: Float64s = np.sin((nodes + 1) / 4 * np.pi) ** 2
    return squares, weights / 2
