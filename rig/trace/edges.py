# SPDX-License-Identifier: Apache-2.0
"""Find the edges of SYNC in its recording: sampled levels, a sampled voltage, or stamps
of the instrument."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.files import foreign_files, typed

#: Less difference than this between high and low is no signal: a logic level is above 1
#: V.
SWING_V = 0.3


@dataclass(frozen=True, slots=True)
class Edges:
    """Falling and rising edges, in seconds from the first analog sample, ascending."""

    falls_s: NDArray[np.float64]
    rises_s: NDArray[np.float64]


def from_levels(blocks: Iterable[NDArray[np.uint8]], rate_hz: float) -> Edges:
    """Return the edges of a sampled line, packed eight samples to a byte: one first
    seen at k happened at (k - 1/2) / rate_hz.
    """
    falls = []
    rises = []
    previous = None
    at = 0
    for block in blocks:
        # Edges are few: bytes without one are separated from the others as bytes, an
        # eighth of the samples.
        before: NDArray[np.uint8] = np.left_shift(block, 1)
        before[1:] |= block[:-1] >> 7
        before[0] |= block[0] & 1 if previous is None else previous >> 7
        changed = np.bitwise_xor(block, before)
        places = np.flatnonzero(changed)
        step, bit = np.nonzero(
            np.unpackbits(changed[places, None], axis=1, bitorder="little")
        )
        changed_at = 8 * places[step] + bit + at
        high = (block[places[step]] >> bit) & 1 == 1
        falls.append(changed_at[~high])
        rises.append(changed_at[high])
        previous = block[-1]
        at = at + 8 * len(block)
    return Edges(
        *(
            (np.concatenate([np.zeros(0, dtype=np.int64), *changed_at]) - 0.5) / rate_hz
            for changed_at in (falls, rises)
        )
    )


def from_voltage(
    voltage_v: NDArray[np.floating[np.typing.NBitBase]], rate_hz: float
) -> Edges:
    """Return the edges of a line whose voltage was averaged over each sample.

    A sample with a change of the line has a mean between low and high; its share of
    the high level gives the time. Good for one edge a sample and its neighbour: a pulse
    must last two samples or longer. Where there is no voltage the line keeps its level;
    a change in such a stretch is no edge, as its time is not known.
    """
    none = np.zeros(0)
    finite = voltage_v[np.isfinite(voltage_v)].astype(np.float64)
    if not len(finite) or float(np.ptp(finite)) < SWING_V:
        return Edges(none, none)
    middle_v = (float(finite.max()) + float(finite.min())) / 2
    # Short pulses have as many samples with a change in them as whole ones: those lie
    # nearer to the middle.
    low_v = float(np.percentile(finite[finite <= middle_v], 25, method="lower"))
    high_v = float(np.percentile(finite[finite > middle_v], 75, method="higher"))
    known = np.isfinite(voltage_v)
    before = np.maximum.accumulate(np.where(known, np.arange(len(voltage_v)), -1))
    held_v = voltage_v.astype(np.float64)[
        np.where(before < 0, int(np.argmax(known)), before)
    ]
    share = np.clip((held_v - low_v) / (high_v - low_v), 0.0, 1.0)
    above = share > 0.5
    whole = known[:-1] & known[1:]
    falls = np.flatnonzero(above[:-1] & ~above[1:] & whole) + 1
    rises = np.flatnonzero(~above[:-1] & above[1:] & whole) + 1
    # Of the two samples about a crossing one is whole: together they were high as long
    # as the line was.
    fall_s = (falls - 1 + share[falls - 1] + share[falls]) / rate_hz
    rise_s = (rises + 1 - share[rises - 1] - share[rises]) / rate_hz
    return Edges(fall_s, rise_s)


@dataclass(frozen=True, slots=True)
class Stamp:
    """An edge as an instrument stamped it: a line of edges.jsonl."""

    at_s: float
    fall: bool


def from_stamps(path: Path) -> Edges:
    """Return the edges that an instrument stamped, a line each; raises DataError for
    lines of another form.
    """
    falls: list[float] = []
    rises: list[float] = []
    # A killed process may leave half a line at the end; anything else is damage.
    try:
        lines = foreign_files.read_text(path, errors="replace").split("\n")[:-1]
    except FileNotFoundError:
        lines = []
    for line in lines:
        try:
            stamp = typed.from_json(Stamp, json.loads(line), str(path))
        except ValueError as error:
            raise DataError(
                f"{path} has a line of another form", evidence=line[:80]
            ) from error
        (falls if stamp.fall else rises).append(stamp.at_s)
    return Edges(
        np.sort(np.array(falls, dtype=np.float64)),
        np.sort(np.array(rises, dtype=np.float64)),
    )


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

    def feed(
        self, at: int, packed: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return falls and rises in the next levels, which begin at sample `at`, in
        seconds."""
        before: NDArray[np.uint8] = np.left_shift(packed, 1)
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
