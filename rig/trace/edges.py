# SPDX-License-Identifier: Apache-2.0
"""Find the edges of SYNC in its recording: sampled levels, a sampled voltage, or stamps
of the instrument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.arrays import Float64s, Uint8s
from rig.files import json_lines

#: Less difference than this between high and low is no signal: a logic level is above 1
#: V.
SWING_V = 0.3


@dataclass(frozen=True, slots=True)
class Edges:
    """Falling and rising edges, in seconds from the first analog sample, ascending."""

    falls_s: Float64s
    rises_s: Float64s


def from_levels(blocks: Iterable[Uint8s], rate_hz: float) -> Edges:
    """Return the edges of a sampled line, packed eight samples to a byte: one first
    seen at k happened at (k - 1/2) / rate_hz.
    """
    edges = LevelEdges(rate_hz)
    falls_s = [np.zeros(0)]
    rises_s = [np.zeros(0)]
    at = 0
    for block in blocks:
        block_falls_s, block_rises_s = edges.feed(at, block)
        falls_s.append(block_falls_s)
        rises_s.append(block_rises_s)
        at += 8 * len(block)
    return Edges(np.concatenate(falls_s), np.concatenate(rises_s))


@dataclass(frozen=True, slots=True)
class Stamp:
    """An edge as an instrument stamped it: a line of edges.jsonl."""

    at_s: float
    fall: bool


def from_stamps(path: Path) -> Edges:
    """Return the edges that an instrument stamped, a line each; raises DataError for
    lines of another form.
    """
    try:
        stamps = json_lines.read(path, Stamp)
    except FileNotFoundError:
        stamps = []
    falls_s = sorted(stamp.at_s for stamp in stamps if stamp.fall)
    rises_s = sorted(stamp.at_s for stamp in stamps if not stamp.fall)
    return Edges(np.array(falls_s, np.float64), np.array(rises_s, np.float64))


def outside(edges: Edges, gaps_s: list[tuple[float, float]]) -> Edges:
    """Leave out edges in spans where samples were lost, borders included: when they
    happened is not known.
    """
    kept = []
    for times_s in (edges.falls_s, edges.rises_s):
        lit = np.ones(len(times_s), dtype=bool)
        for start_s, stop_s in gaps_s:
            lit &= (times_s < start_s) | (times_s > stop_s)
        kept.append(times_s[lit])
    return Edges(*kept)


class LevelEdges:
    """Edges of packed levels that come block by block."""

    def __init__(self, rate_hz: float) -> None:
        self._rate_hz = rate_hz
        self._before: int | None = None

    def feed(self, at: int, packed: Uint8s) -> tuple[Float64s, Float64s]:
        """Return falls and rises in the next levels, which begin at sample `at`, in
        seconds."""
        # Edges are few: bytes without one are separated from the others as bytes, an
        # eighth of the samples.
        before: Uint8s = np.left_shift(packed, 1)
        before[1:] |= packed[:-1] >> 7
        before[0] |= int(packed[0]) & 1 if self._before is None else self._before
        changed = np.bitwise_xor(packed, before)
        places = np.flatnonzero(changed)
        step, bit = np.nonzero(
            np.unpackbits(changed[places, None], axis=1, bitorder="little")
        )
        edges_s = (8 * places[step] + bit + at - 0.5) / self._rate_hz
        high = (packed[places[step]] >> bit) & 1 == 1
        self._before = int(packed[-1]) >> 7
        return edges_s[~high], edges_s[high]
