# SPDX-License-Identifier: Apache-2.0
"""The SYNC line of a trace: its edges, read from the file when they are first asked
for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from rig.trace import edges, voltage_edges
from rig.trace.edges import Edges
from rig.trace.jls_file import blocks_of, reading
from rig.trace.moments import Moments
from rig.trace.samples import BLOCK

Levels = tuple[float, float, float]


class SyncLine:
    """The edges of a trace, which `read` reads once; they are kept. For several
    threads."""

    def __init__(
        self,
        read: Callable[[], Edges],
        read_levels: Callable[[], Levels | None] | None = None,
    ) -> None:
        self._read = read
        self._read_levels = read_levels
        self._lock = Lock()
        self._edges: Edges | None = None

    @property
    def is_read(self) -> bool:
        """Whether the edges are at hand."""
        return self._edges is not None

    def edges(self) -> Edges:
        """Return the edges in seconds from the first analog sample; raises
        DataError."""
        with self._lock:
            if self._edges is None:
                self._edges = self._read()
            return self._edges

    def levels(self) -> Levels | None:
        """Return the least, the mean and the most of the line: of a digital input 0 to
        1, of a voltage volts; None where only edges are known, or no line was recorded.
        """
        return None if self._read_levels is None else self._read_levels()


@dataclass(frozen=True, slots=True)
class OwnLine:
    """The SYNC line in a file of the rig's own.

    `kind` is how edges came (rig/trace/writer.py), `signal` the one they are in,
    `length` samples at `rate_hz`; `stamps` the file of edges that the instrument
    stamped. Edges within `dark_s` are none.
    """

    path: Path
    kind: str
    signal: int | None
    length: int
    rate_hz: float
    dark_s: Sequence[tuple[float, float]]
    stamps: Path | None

    def edges(self) -> Edges:
        """Read the edges; raises DataError."""
        if self.stamps is not None:
            return edges.from_stamps(self.stamps)
        if self.signal is None:
            return Edges(np.zeros(0), np.zeros(0))
        with reading(self.path) as reader:
            if self.kind == "digital":
                blocks = blocks_of(reader, self.signal, self.length, 8 * BLOCK)
                of_line = edges.from_levels(blocks, self.rate_hz)
            else:
                signal = self.signal
                of_line = voltage_edges.in_pieces(
                    lambda: blocks_of(reader, signal, self.length, 4 * BLOCK),
                    self.rate_hz,
                )
        return edges.outside(of_line, list(self.dark_s))

    def levels(self) -> Levels | None:
        """Return the least, the mean and the most of the line."""
        if self.signal is None or not self.length:
            return None
        moments = Moments()
        with reading(self.path) as reader:
            digital = self.kind == "digital"
            size = 8 * BLOCK if digital else BLOCK
            for block in blocks_of(reader, self.signal, self.length, size):
                bits = np.unpackbits(block, bitorder="little") if digital else block
                values = np.asarray(bits, dtype=np.float64)
                moments.add(values[np.isfinite(values)])
        if not moments.weight:
            return None
        return moments.least, moments.mean, moments.most
