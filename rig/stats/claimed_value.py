# SPDX-License-Identifier: Apache-2.0
"""Tests of a claimed value against a measured one, both with random scatter. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scipy  # loads its special functions when they are first used: they take 0.2 s

from rig.stats.binomial import student

#: Claims are refused at this level, over all claimed metrics together.
ALPHA = 0.05
#: Share of sessions for "would have noticed".
POWER = 0.80
#: More degrees of freedom than this make no difference.
_MANY = 1e6


@dataclass(frozen=True, slots=True)
class Spread:
    """A value, its standard uncertainty, and the degrees of freedom of that."""

    value: float
    u: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Tested:
    """The outcome of one test: the probability `chance` of a measurement at least this
    much worse than the claim, if the claim is right.

    `u` and `freedom` are those of the difference; both are None if the test compares
    counts.
    """

    chance: float
    u: float | None = None
    freedom: float | None = None
    ratio: bool = False

    def noticeable(self, level: float) -> float | None:
        """Return how many times too good a claim must be to be refused at a level
        in 80 % of sessions; None unless the test is about a ratio.
        """
        if not self.ratio or self.u is None or self.freedom is None:
            return None
        away = _quantile(1 - level, self.freedom) + _quantile(POWER, self.freedom)
        return math.exp(min(away * self.u, 700.0))


def compare(measured: Spread, claimed: Spread, higher_is_better: bool | None) -> Tested:
    """Test a claim by the logarithm of the ratio of both values; where one of them is
    not positive, by their difference. A metric without a direction is tested to both
    sides.

    Degrees of freedom after Welch and Satterthwaite. Raises ValueError where neither
    scatters.
    """
    ratio = measured.value > 0 and claimed.value > 0
    if ratio:
        away = math.log(measured.value / claimed.value)
        one = measured.u / measured.value
        other = claimed.u / claimed.value
    else:
        away = measured.value - claimed.value
        one = measured.u
        other = claimed.u
    parts = [(one, measured.freedom), (other, claimed.freedom)]
    return _tested(away, parts, higher_is_better, ratio=ratio)


def compare_bounded(
    measured: Spread, claimed: Spread, higher_is_better: bool | None
) -> Tested:
    """Test a claim of a quantity between 0 and 1 by the difference of the logits; at 0
    or 1 by that of the values. Raises ValueError where neither scatters.
    """
    inside = 0 < measured.value < 1 and 0 < claimed.value < 1
    if not inside:
        away = measured.value - claimed.value
        parts = [(measured.u, measured.freedom), (claimed.u, claimed.freedom)]
        return _tested(away, parts, higher_is_better)
    away = _logit(measured.value) - _logit(claimed.value)
    one = measured.u / (measured.value * (1 - measured.value))
    other = claimed.u / (claimed.value * (1 - claimed.value))
    parts = [(one, measured.freedom), (other, claimed.freedom)]
    return _tested(away, parts, higher_is_better)


def compare_counts(
    measured: tuple[int, int], claimed: tuple[int, int], higher_is_better: bool | None
) -> Tested:
    """Test a claimed share, given as two counts, by Fisher's exact test (hypergeometric
    tail).
    """
    count, n = measured
    claimed_count, claimed_n = claimed
    total = count + claimed_count
    least = max(0, total - claimed_n)
    most = min(n, total)
    fewer = math.fsum(
        _hypergeometric(k, n, claimed_n, total) for k in range(least, count + 1)
    )
    more = math.fsum(
        _hypergeometric(k, n, claimed_n, total) for k in range(count, most + 1)
    )
    if higher_is_better is None:
        return Tested(min(2 * min(fewer, more), 1.0))
    return Tested(min(fewer if higher_is_better else more, 1.0))


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """Return the level for each claim, below which its chance refuses it (Holm,
    Scandinavian Journal of Statistics 6, 1979, 65): 0 for all after the first that is
    not refused.
    """
    ordered = sorted(chances, key=lambda name: chances[name])
    levels: dict[str, float] = {}
    refusing = True
    for place, name in enumerate(ordered):
        level = ALPHA / (len(ordered) - place)
        levels[name] = level if refusing else 0.0
        refusing = refusing and chances[name] < level
    return levels


def freedom_of(coverage_factor: float) -> float:
    """Return the degrees of freedom for which Student's t has a coverage factor for 95
    %; many if the factor is that of a normal distribution or smaller.
    """
    low, high = 0.5, _MANY
    if coverage_factor <= student(high):
        return high
    if coverage_factor >= student(low):
        return low
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if student(middle) > coverage_factor else (low, middle)
        )
    return high


def _tested(
    away: float,
    parts: Sequence[tuple[float, float]],
    higher_is_better: bool | None,
    ratio: bool = False,
) -> Tested:
    """Test a difference by the standard uncertainties of both sides, `parts`, each with
    its degrees of freedom.
    """
    u = math.hypot(*(part_u for part_u, _ in parts))
    if not u > 0 or not math.isfinite(u):
        raise ValueError("neither value scatters")
    freedom = _welch(parts)
    if higher_is_better is None:
        chance = 2 * _above(abs(away) / u, freedom)
    else:
        worse = -away if higher_is_better else away
        chance = _above(worse / u, freedom)
    return Tested(min(chance, 1.0), u, freedom, ratio)


def _welch(parts: Sequence[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of variances."""
    whole = math.fsum(u**2 for u, _ in parts)
    spread = math.fsum(u**4 / freedom for u, freedom in parts if u > 0)
    return min(whole**2 / spread, _MANY)


def _above(distance: float, freedom: float) -> float:
    return float(scipy.special.stdtr(freedom, -distance))


def _quantile(probability: float, freedom: float) -> float:
    return float(scipy.special.stdtrit(freedom, probability))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _hypergeometric(count: int, n: int, other_n: int, total: int) -> float:
    """Return the probability of `count` successes among `n` where both samples have
    `total`."""
    return math.exp(
        _log_choose(n, count)
        + _log_choose(other_n, total - count)
        - _log_choose(n + other_n, total)
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
