# SPDX-License-Identifier: Apache-2.0
"""Edges of a line whose voltage was sampled, found block by block. Pure.

Samples are means over their period. One in which the line changes lies between low and
high, and its share of the high level gives the time: good for one edge a sample and its
neighbour, so that a pulse must last two samples or longer. Where there is no voltage
the line keeps its level; a change in such a stretch is no edge, as its time is not
known.

The levels are order statistics of all samples. They are found exactly, without sorting:
of the 32 bits of single precision, one pass counts the upper 16 and another one the
lower 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from rig.arrays import Array, Float32s, Int64s
from rig.trace.edges import SWING_V, Edges

Blocks = Callable[[], Iterable[Float32s]]

_BINS = 1 << 16


def in_pieces(blocks: Blocks, rate_hz: float) -> Edges:
    """Return the edges of a line; `blocks` yields its samples from the start at each
    call."""
    least, most = math.inf, -math.inf
    for block in blocks():
        finite = block[np.isfinite(block)]
        if len(finite):
            least = min(least, float(finite.min()))
            most = max(most, float(finite.max()))
    if not most - least >= SWING_V:
        return Edges(np.zeros(0), np.zeros(0))
    middle_v = (most + least) / 2
    low_v, high_v = _levels(blocks, middle_v)
    return _crossings(blocks, low_v, high_v, rate_hz)


def _levels(blocks: Blocks, middle_v: float) -> tuple[float, float]:
    """Return the first quartile of the samples below the middle, and the third of those
    above.

    Short pulses have as many samples with a change in them as whole ones: those lie
    nearer to the middle.
    """
    upper = np.zeros((2, _BINS), dtype=np.int64)
    for keys, above in _keys(blocks, middle_v):
        for side in (0, 1):
            upper[side] += np.bincount(keys[above == side] >> 16, minlength=_BINS)
    counts = upper.sum(axis=1)
    # As np.percentile takes them: the lower one of two, and the higher one.
    lower_rank = math.floor((counts[0] - 1) * 0.25)
    upper_rank = math.ceil((counts[1] - 1) * 0.75)
    ranks = (lower_rank, upper_rank)
    bins = [_bin(upper[side], ranks[side]) for side in (0, 1)]
    lower = np.zeros((2, _BINS), dtype=np.int64)
    for keys, above in _keys(blocks, middle_v):
        for side in (0, 1):
            inside = keys[(above == side) & (keys >> 16 == bins[side][0])]
            lower[side] += np.bincount(inside & 0xFFFF, minlength=_BINS)
    found = []
    for side in (0, 1):
        high_half, before = bins[side]
        low_half, _ = _bin(lower[side], ranks[side] - before)
        found.append(_value((high_half << 16) | low_half))
    return found[0], found[1]


def _keys(blocks: Blocks, middle_v: float) -> Iterable[tuple[Int64s, Array]]:
    """Yield finite samples as whole numbers of the same order, and 1 for those above
    the middle."""
    for block in blocks():
        finite = np.ascontiguousarray(block[np.isfinite(block)], dtype=np.float32)
        # Zero has two signs, and one place.
        bits = (finite + np.float32(0)).view(np.uint32).astype(np.int64)
        keys = np.where(bits >> 31, 0xFFFFFFFF - bits, bits + 0x80000000)
        yield keys, (finite.astype(np.float64) > middle_v).astype(np.int8)


def _bin(counts: Int64s, rank: int) -> tuple[int, int]:
    """Return the bin that holds the value of a rank, and how many values lie before the
    bin."""
    sums = np.cumsum(counts)
    place = int(np.searchsorted(sums, rank, side="right"))
    return place, int(sums[place - 1]) if place else 0


def _value(key: int) -> float:
    bits = key - 0x80000000 if key >= 0x80000000 else 0xFFFFFFFF - key
    return float(np.array(bits, dtype=np.uint32).view(np.float32))


def _crossings(blocks: Blocks, low_v: float, high_v: float, rate_hz: float) -> Edges:
    falls, rises = [np.zeros(0)], [np.zeros(0)]
    at = 0
    # Before the first sample that is known the line is as there.
    held = next(
        float(finite[0])
        for block in blocks()
        if len(finite := block[np.isfinite(block)])
    )
    last: tuple[float, bool] | None = None
    for block in blocks():
        known = np.isfinite(block)
        before = np.maximum.accumulate(np.where(known, np.arange(len(block)), -1))
        nearest = block.astype(np.float64)[np.maximum(before, 0)]
        values = np.where(before < 0, held, nearest)
        share = np.clip((values - low_v) / (high_v - low_v), 0.0, 1.0)
        if last is not None:
            share = np.concatenate([[last[0]], share])
            known = np.concatenate([[last[1]], known])
        first = at - (last is not None)
        above = share > 0.5
        # Of the two samples about a crossing one is whole: together they were high as
        # long as the line was.
        whole = known[:-1] & known[1:]
        down = np.flatnonzero(above[:-1] & ~above[1:] & whole) + 1
        up = np.flatnonzero(~above[:-1] & above[1:] & whole) + 1
        falls.append((down + first - 1 + share[down - 1] + share[down]) / rate_hz)
        rises.append((up + first + 1 - share[up - 1] - share[up]) / rate_hz)
        at += len(block)
        held = float(values[-1])
        last = float(share[-1]), bool(known[-1])
    return Edges(np.concatenate(falls), np.concatenate(rises))
