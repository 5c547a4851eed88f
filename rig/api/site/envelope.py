# SPDX-License-Identifier: Apache-2.0
"""A trace as a browser draws it: the least and the most power of each column of
samples, or every sample, as text. A picture only: no number is taken from it.

Values are floats of 32 bits, those of columns cut to 12 bits after the first, outwards,
so that a column never hides an extreme; relative steps of 1/8192 show a sleep of
microwatts below watts. The highest bytes of all values stand first, then the next, as
they compress better apart: deflate, then base64.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.samples import blocks
from rig.api.traces.spans import WARM_UP, Spans
from rig.arrays import Float32s, Float64s, Int64s
from rig.trace import reduce
from rig.trace.trace import Trace

#: Samples of a column, at least.
LEAST_WIDTH = 64
#: Samples of a tile.
TILE = 1 << 18
_BLOCK = 1 << 20
#: Bits of a float that columns leave out, and bytes of a value that are left.
_CUT = 11
COLUMN_BYTES = 3
SAMPLE_BYTES = 4
#: More windows than this are not drawn: their borders would be longer than the trace.
_WINDOWS_MOST = 20_000

Bits = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class PowerColumns:
    """The columns of a trace, `width` samples each: least and most power in watts, NaN
    where every sample is lost.
    """

    width: int
    least: Float32s
    most: Float32s

    def coarser(self) -> PowerColumns:
        """Return columns of twice the width."""
        starts = np.arange(0, len(self.least), 2)
        least = np.fmin.reduceat(self.least, starts)
        return PowerColumns(
            2 * self.width,
            least,
            np.fmax.reduceat(self.most, starts),
        )

    def text(self) -> str:
        """Return the columns as text: all least values, then all most ones."""
        values = [_cut(self.least, down=True), _cut(self.most, down=False)]
        return _packed(np.concatenate(values), COLUMN_BYTES)


def of_trace(trace: Trace) -> PowerColumns:
    """Read a trace once."""
    tables = []
    for at, current, voltage in blocks(trace, 0, trace.length, _BLOCK):
        tables.append(reduce.of_samples(current, voltage, at, LEAST_WIDTH))
    rows = reduce.joined(tables).rows[reduce.POWER_ROW :: 2].astype(np.float32)
    return PowerColumns(LEAST_WIDTH, rows[0], rows[1])


def within(columns: PowerColumns, most_b: int) -> tuple[PowerColumns, str]:
    """Return the columns, made wider until their text has at most so many bytes, and
    the text.
    """
    text = columns.text()
    while len(text) > most_b and len(columns.least) > 1:
        columns = columns.coarser()
        text = columns.text()
    return columns, text


def tiles(trace: Trace) -> Iterator[str]:
    """Yield the power of every sample, a tile after the other."""
    for _, current, voltage in blocks(trace, 0, trace.length, TILE):
        yield _packed((current * voltage).view(np.uint32), SAMPLE_BYTES)


@dataclass(frozen=True, slots=True)
class DrawnWindows:
    """The measured windows of a trial: the names of their phases, and as text first
    samples, each less the one before, lengths, and numbers of phases.
    """

    phases: tuple[str, ...]
    count: int
    text: str

    @classmethod
    def of(cls, spans: Spans | None, sample_hz: float) -> DrawnWindows:
        """Return the windows of a trace; none where there are too many to draw."""
        if spans is None:
            return cls((), 0, "")
        kept = np.flatnonzero(spans.kind != WARM_UP)
        if len(kept) > _WINDOWS_MOST:
            return cls((), 0, "")
        starts = _sample_numbers(spans.start_s[kept], sample_hz)
        stops = _sample_numbers(spans.stop_s[kept], sample_hz)
        parts = [np.diff(starts, prepend=0), stops - starts, spans.phase[kept]]
        numbers = np.concatenate(parts).astype(np.uint32)
        return cls(spans.phases, len(kept), _packed(numbers, SAMPLE_BYTES))


def _sample_numbers(times_s: Float64s, sample_hz: float) -> Int64s:
    return np.maximum(np.rint(times_s * sample_hz), 0).astype(np.int64)


def _cut(values: Float32s, *, down: bool) -> Bits:
    """Return the bits of values, cut to fewer digits: never above the value, or never
    below it.
    """
    bits = np.ascontiguousarray(values).view(np.uint32)
    mask = np.uint32(0xFFFFFFFF << _CUT & 0xFFFFFFFF)
    nearer = bits & mask
    farther = (bits + np.uint32((1 << _CUT) - 1)) & mask
    is_nearer = np.signbit(values) != down
    cut = np.where(is_nearer, nearer, farther)
    unknown = np.float32("nan").view(np.uint32)
    found: Bits = np.where(np.isfinite(values), cut, unknown)
    return found


def _packed(values: Bits, count: int) -> str:
    """Return the `count` highest bytes of each value as text."""
    planes = values.astype(">u4").view(np.uint8).reshape(-1, 4).T[:count]
    # Raw, without the header that a browser's deflate-raw does not expect.
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(planes.tobytes()) + packer.flush()
    return base64.b64encode(packed).decode()
