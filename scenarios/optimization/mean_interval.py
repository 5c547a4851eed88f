# SPDX-License-Identifier: Apache-2.0
"""Ends of both intervals of the mean over searches, by what kind of values they have.
Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import chain

from rig.stats import bounded, containing, share_mean, skewed_mean
from rig.stats.binomial import student
from rig.stats.containing import Variance
from rig.stats.share_mean import ShareRange
from rig.stats.strata import Scatter, scatter
from rig.stats.summary import mean

#: With fewer values off their bound than this, only their count is informative.
RARE = 3
#: An upper end beyond so many times the value says no more than the lower one.
BEYOND = 10.0
STUDENT = "Student's t"
CONTAINING = (
    "half-width from the larger of two fiducial variances, of searches and of workloads"
    " (Hannig, Iyer and Patterson 2006)"
)
BEYOND_TEXT = (
    "; the upper end was beyond ten times the value, or the most there can be, and is"
    " left out"
)
EQUAL = f"all were equal: {share_mean.RARE}"
RARELY = f"fewer than {RARE} were above their bound: {share_mean.RARE}"
UNIT = ShareRange(0.0, 1.0)
_ROUNDING = 1e-12
_UNKNOWN = Scatter(Variance(0.0, 1.0), 0.0)


class ValueKind(Enum):
    """Kinds of values: any number, a cost, time or energy (skewed, at a bound or
    above), or one within 0 and 1.
    """

    ANY = "any"
    SKEWED = "skewed"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class MeanEnds:
    """Both ends of an interval, and the method."""

    low: float
    high: float
    method: str

    def around(self, other: MeanEnds) -> MeanEnds:
        """Return these ends, moved out where those of the other are farther out."""
        low = min(self.low, other.low)
        return replace(self, low=low, high=max(self.high, other.high))


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The values of all searches: for each workload those of its seeds, for each cell
    the means of its workloads; and the bounds of each workload's values, in the order
    of the workloads.

    `bounds` is empty where one is not known, or was passed.
    """

    workloads: Sequence[Sequence[float]]
    cells: Sequence[Sequence[float]]
    bounds: Sequence[ShareRange] = ()

    @cached_property
    def mean(self) -> float:
        """The mean of all values."""
        return mean(list(chain.from_iterable(self.workloads)))

    @cached_property
    def size(self) -> int:
        """Number of searches, each seed counted once."""
        return sum(map(len, self.workloads))

    @cached_property
    def within(self) -> Scatter:
        """The scatter of the mean over searches of the same workloads."""
        return (
            scatter(self.workloads) if min(map(len, self.workloads)) > 1 else _UNKNOWN
        )

    @cached_property
    def between(self) -> Scatter:
        """The scatter of the mean over workloads of the same cells."""
        return scatter(self.cells) if min(map(len, self.cells)) > 1 else _UNKNOWN

    @cached_property
    def half_width(self) -> float:
        """The half-width for other workloads, which has that for the same ones
        in it."""
        return containing.half_width(self.within.variance, self.between.variance)

    @cached_property
    def range(self) -> ShareRange | None:
        """The bounds of the mean; None where those of one workload are not
        known."""
        if not self.bounds:
            return None
        lows = [one.least for one in self.bounds]
        highs = [one.most for one in self.bounds]
        return ShareRange(mean(lows), mean(highs))

    @property
    def alike(self) -> bool:
        """Whether all workloads have one lower bound, so that others have it as
        well."""
        return len({one.least for one in self.bounds}) == 1

    def off(self) -> list[int]:
        """Return for each workload how many of its values lie off its lower bound."""
        pairs = zip(self.workloads, self.bounds, strict=True)
        return [_above(values, bounds.least) for values, bounds in pairs]


def _above(values: Sequence[float], least: float) -> int:
    return sum(value - least > _ROUNDING for value in values)


def searched(
    workloads: Sequence[Sequence[float]],
    cells: Sequence[Sequence[float]],
    bounds: Sequence[ShareRange | None],
) -> Searched:
    """Return values with their bounds, as far as these hold: a value below the lower
    bound of its workload refutes it, and one above the upper bound leaves that open.
    """
    known = [one for one in bounds if one is not None]
    pairs = list(zip(known, workloads, strict=False))
    passed = any(min(own) < one.least - _ROUNDING for one, own in pairs)
    if len(known) < len(workloads) or passed:
        return Searched(workloads=workloads, cells=cells)
    kept = []
    for one, own in pairs:
        kept.append(one if max(own) <= one.most else replace(one, most=math.inf))
    return Searched(workloads=workloads, cells=cells, bounds=kept)


def same_ends(series: Searched, kind: ValueKind) -> MeanEnds | None:
    """Return the ends for other searches of the same workloads; None where equal values
    of any sign determine none.
    """
    if kind is ValueKind.ANY:
        half = series.within.variance.half_width
        return _symmetric(series.mean, half, STUDENT) if half else None
    if kind is ValueKind.SHARE:
        return _share(
            series, series.within.variance.half_width, series.size, share_mean.LOGIT
        )
    return _skewed(series)


def other_ends(series: Searched, kind: ValueKind) -> MeanEnds | None:
    """Return the ends for other workloads, at least those for the same ones; None where
    equal values of any sign determine none.
    """
    half = series.half_width
    if kind is ValueKind.ANY:
        return (
            _symmetric(series.mean, half, f"{STUDENT}, {CONTAINING}") if half else None
        )
    if kind is ValueKind.SHARE:
        method = f"{share_mean.LOGIT}, {CONTAINING}"
        ends = _share(series, half, len(series.workloads), method)
        return ends.around(
            _share(series, series.within.variance.half_width, series.size, method)
        )
    return _other_skewed(series, half).around(_skewed(series))


def spread(
    series: Sequence[Searched], kind: ValueKind, others: bool
) -> Variance | None:
    """Return the larger variance of the mean by several readings, with its degrees of
    freedom; None where searches do not scatter, or so few lie off their bound that only
    their count tells.
    """
    known = [_variance(one, others) for one in series if not _is_rare(one, kind)]
    scattered = [one for one in known if one.value > 0]
    return max(scattered, key=lambda one: one.value, default=None)


def _is_rare(series: Searched, kind: ValueKind) -> bool:
    bounded = series.range is not None and math.isfinite(series.range.most)
    return kind is ValueKind.SKEWED and bounded and sum(series.off()) < RARE


def _variance(series: Searched, others: bool) -> Variance:
    if not others:
        return series.within.variance
    freedom = series.between.variance.freedom
    return Variance((series.half_width / student(freedom)) ** 2, freedom)


def limits_of(series: Searched, kind: ValueKind, others: bool) -> ShareRange:
    """Bound the mean of the same workloads or of others; others may have another lower
    bound where those searched do not share one."""
    if kind is ValueKind.SHARE:
        return UNIT
    if series.range is None or (others and not series.alike):
        return ShareRange(-math.inf, math.inf)
    return series.range


def without_far_end(ends: MeanEnds, at: float, limits: ShareRange) -> MeanEnds:
    """Return ends without the upper one where that is the most there can be, or lies
    beyond ten times the distance of the value from its lower bound.

    An interval whose lower end is the bound itself keeps its upper one, as that is all
    it says; so does one without a lower bound.
    """
    if math.isinf(limits.least) or ends.low <= limits.least or ends.low >= ends.high:
        return ends
    if (
        ends.high - limits.least > BEYOND * (at - limits.least)
        or ends.high >= limits.most
    ):
        return replace(ends, high=math.inf, method=ends.method + BEYOND_TEXT)
    return ends


def _symmetric(at: float, half: float, method: str) -> MeanEnds:
    return MeanEnds(at - half, at + half, method)


def _share(series: Searched, half: float, count: int, method: str) -> MeanEnds:
    if not half:
        return MeanEnds(*share_mean.equal_ends(series.mean, count, UNIT), EQUAL)
    return MeanEnds(*bounded.by_logit(series.mean, half), method)


def _skewed(series: Searched) -> MeanEnds:
    """Return the ends for the same workloads of a skewed mean."""
    limits = series.range
    if limits is None:
        return MeanEnds(
            *skewed_mean.ends_without_bound(series.mean, series.within),
            skewed_mean.HALL,
        )
    off = sum(series.off())
    if off < RARE and math.isfinite(limits.most):
        return MeanEnds(
            *share_mean.rare_ends(series.mean, off, series.size, limits), RARELY
        )
    if not series.within.variance.value:
        return _equal(series.mean, series.size, limits)
    low, high = skewed_mean.ends(series.mean - limits.least, series.within)
    return _from(limits, low, high, skewed_mean.GAMMA_HALL)


def _other_skewed(series: Searched, half: float) -> MeanEnds:
    """Return the ends for other workloads of a skewed mean, but for those of the same
    ones."""
    limits = series.range
    if limits is None or not series.alike:
        return _unlike(series, half)
    off = series.off()
    if sum(off) < RARE and math.isfinite(limits.most):
        rare = share_mean.rare_ends(series.mean, sum(map(bool, off)), len(off), limits)
        return MeanEnds(*rare, RARELY)
    if not half:
        return _equal(series.mean, len(off), limits)
    low, high = skewed_mean.gamma_ends(series.mean - limits.least, half)
    return _from(limits, low, high, f"{skewed_mean.GAMMA_HALL}, {CONTAINING}")


def _unlike(series: Searched, half: float) -> MeanEnds:
    """Compute the ends for other workloads whose lower bound is not known: by Student's
    t and by Hall's transformation; the upper end is that of the gamma distribution
    where it is higher."""
    hall = skewed_mean.ends_without_bound(series.mean, series.between)
    method = f"{skewed_mean.HALL}, {CONTAINING}"
    ends = _symmetric(series.mean, half, method).around(MeanEnds(*hall, method))
    if series.range is None:
        return ends
    limits = series.range
    off = series.off()
    if sum(off) < RARE and math.isfinite(limits.most):
        rare = share_mean.rare_ends(series.mean, sum(map(bool, off)), len(off), limits)
        return ends.around(MeanEnds(*rare, ""))
    _, high = skewed_mean.gamma_ends(series.mean - limits.least, half)
    return replace(ends, high=max(ends.high, limits.least + high))


def _from(limits: ShareRange, low: float, high: float, method: str) -> MeanEnds:
    """Return the ends of a mean from their distances from the lower bound."""
    return MeanEnds(limits.least + low, min(limits.least + high, limits.most), method)


def _equal(at: float, count: int, limits: ShareRange) -> MeanEnds:
    """Return the ends of values that were all equal, off their lower bound; those
    without an upper one, times, are then counts of the same steps.
    """
    if not math.isfinite(limits.most):
        return MeanEnds(at, at, "all were equal")
    return MeanEnds(*share_mean.equal_ends(at, count, limits), EQUAL)
