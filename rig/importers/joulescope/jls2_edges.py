# SPDX-License-Identifier: Apache-2.0
"""The edges of a digital signal of a foreign JLS file, in the time of its current."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rig.arrays import Uint8s
from rig.trace import edges
from rig.trace.edges import Edges

_BLOCK = 1 << 20


def seen(reader: Any, sync: Any, rate: int, first: int, last: int) -> Edges:
    """Return the edges within samples first <= id < last of a current of this rate, in
    seconds from the first by the file's rates; also those at lost samples, which are
    none.
    """
    # The library misreads a digital signal whose offset is no multiple of 8, unless
    # each read begins at one of its chunks.
    length = int(sync.length)
    chunk = int(sync.samples_per_data) * max(_BLOCK // int(sync.samples_per_data), 1)
    found = edges.from_levels(_whole_bits(reader, sync.signal_id, length, chunk), 1.0)
    base = int(sync.sample_id_offset) * rate - first * sync.sample_rate
    # A loss of part of a byte leaves the last bits unwritten: they read as 0.
    known = length - length % 8 if length % 8 else length + 1
    end_s = (last - first) / rate
    kept = []
    for at in (found.falls_s, found.rises_s):
        at_s = (base + at[at < known - 0.5] * rate) / (rate * sync.sample_rate)
        kept.append(at_s[(at_s >= 0) & (at_s <= end_s)])
    return Edges(kept[0], kept[1])


def _whole_bits(reader: Any, signal: int, length: int, chunk: int) -> Iterator[Uint8s]:
    """Yield packed levels; bits beyond the last sample repeat its level."""
    for at in range(0, length, chunk):
        count = min(chunk, length - at)
        packed = reader.fsr(signal, at, count)
        if count % 8:
            bits = np.unpackbits(packed, bitorder="little")
            bits[count:] = bits[count - 1]
            packed = np.packbits(bits, bitorder="little")
        yield packed
