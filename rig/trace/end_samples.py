# SPDX-License-Identifier: Apache-2.0
"""Samples at the ends of a window between edges: which of them an end cuts, and how
their readings differ from those of their neighbours inside. Pure.

An end on the border of two samples cuts neither: the samples inside count as they were
read (docs/decisions/2026-11-24-edges-on-borders.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rig.trace.integral import EndPower
from rig.trace.samples import Around


class EndSample(NamedTuple):
    """Power beside an end of a window, and how the end's sample differs from its
    neighbour inside.

    `apart_w` is the difference of the sample's own reading from that of its neighbour
    inside, in watts times the share of the sample that counts. For a sample that is
    cut, its reading for the part inside is taken: the reading less the power outside.
    """

    power: EndPower
    apart_w: float = 0.0


class SampleShare(NamedTuple):
    """Share of a sample, to be added to sums; a negative one is taken off."""

    current_a: float
    voltage_v: float
    share: float


def ends_by_fraction(
    around: Sequence[Around], ends: tuple[float, float], first: int, last: int
) -> list[SampleShare]:
    """Return the shares to take off the sum over samples first <= k < last, because the
    window has only a fraction of the first and the last; these may be one sample."""
    start, stop = ends
    if last <= first:
        return []
    at_start = SampleShare(*around[0].sample(first), first - start)
    at_stop = SampleShare(*around[1].sample(last - 1), stop - last)
    return [at_start, at_stop]


def ends_by_neighbour(
    around: Sequence[Around],
    ends: tuple[float, float],
    first: int,
    last: int,
    cut: tuple[bool, bool],
) -> list[SampleShare]:
    """Return what to add to the sum over the samples that no end cuts: for the part of
    a sample that is cut, the reading of its neighbour inside.
    """
    start, stop = ends
    shares = []
    if cut[0]:
        neighbour = around[0].sample(first + 1)
        shares.append(SampleShare(*neighbour, 1 - (start - first)))
    if cut[1]:
        neighbour = around[1].sample(last - 2)
        shares.append(SampleShare(*neighbour, 1 - (last - stop)))
    return shares


def of_window(
    around: Sequence[Around], ends: tuple[float, float], length: int, stepped: bool
) -> tuple[EndSample, EndSample]:
    """Return power and difference of the samples at both ends of a window, in samples
    of a trace of this length.

    `around` are the samples about each end. Samples are compared only where the power
    steps at the ends.
    """
    start, stop = ends
    if not stepped:
        before = around[0].beside_w(start, length)
        behind = around[1].beside_w(stop, length)
        return EndSample(EndPower(*before)), EndSample(EndPower(*reversed(behind)))
    first = math.floor(start)
    last = math.ceil(stop) - 1
    begin = (first - 2, first - 1, first, first + 1)
    end = (last + 2, last + 1, last, last - 1)
    at_start = _end_sample(around[0], begin, 1 - (start - first), length)
    at_stop = _end_sample(around[1], end, stop - last, length)
    return at_start, at_stop


def _end_sample(
    near: Around, places: tuple[int, int, int, int], share: float, length: int
) -> EndSample:
    """Return power and difference of the sample at an end.

    `places` are the second sample outside, the first, the sample at the end and its
    neighbour inside; `share` is the part of the third that is inside.
    """
    inside = [min(max(place, 0), length - 1) for place in places]
    far_w, outside_w, own_w, inside_w = map(near.power_w, inside)
    if share == 1:
        # Where the edge came a little early, the first sample outside holds some of
        # both.
        return EndSample(EndPower(far_w, inside_w), _finite(own_w - inside_w))
    # At the end of a trace, or beside lost samples, no power outside is known.
    known_w = (
        outside_w if 0 <= places[1] < length and math.isfinite(outside_w) else own_w
    )
    apart_w = own_w - (1 - share) * known_w - share * inside_w
    return EndSample(EndPower(outside_w, inside_w), _finite(apart_w))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
