# SPDX-License-Identifier: Apache-2.0
"""The SYNC line of a trace: its edges, read from the file when they are first asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from rig.trace import edges
from rig.trace.edges import Edges
from rig.trace.jls_file import blocks_of, reading
from rig.trace.samples import BLOCK


class SyncLine:
    """The SYNC line of a trace in a file of the rig's own; its edges are kept once they are read.

    `kind` is how edges came (rig/trace/writer.py), `signal` the one they are in, at `rate_hz`;
    `stamps` the file of edges that the instrument stamped. Edges within `dark_s` are none.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        signal: int | None,
        length: int,
        rate_hz: float,
        dark_s: Sequence[tuple[float, float]],
        stamps: Path | None,
    ) -> None:
        self._path = path
        self._kind = kind
        self._signal = signal
        self._length = length
        self._rate_hz = rate_hz
        self._dark_s = list(dark_s)
        self._stamps = stamps
        self._lock = Lock()
        self._edges: Edges | None = None

    @property
    def is_read(self) -> bool:
        """Return whether the edges are at hand."""
        return self._edges is not None

    def edges(self, stopped: Callable[[], bool] | None = None) -> Edges:
        """Return the edges in seconds from the first analog sample; raises DataError."""
        with self._lock:
            if self._edges is None:
                self._edges = self._read()
            return self._edges

    def levels(self) -> tuple[float, float, float] | None:
        """Return the least, the mean and the most of the line: of a digital input 0 to 1, of a
        voltage volts; None where only edges are known, or nothing was recorded.
        """
        if self._signal is None or not self._length:
            return None
        least, most, total, count = math.inf, -math.inf, 0.0, 0
        with reading(self._path) as reader:
            digital = self._kind == "digital"
            size = 8 * BLOCK if digital else BLOCK
            for block in blocks_of(reader, self._signal, self._length, size):
                bits = np.unpackbits(block, bitorder="little") if digital else block
                values = np.asarray(bits, dtype=np.float64)
                values = values[np.isfinite(values)]
                if len(values):
                    least = min(least, float(values.min()))
                    most = max(most, float(values.max()))
                    total += float(values.sum())
                    count += len(values)
        return (least, total / count, most) if count else None

    def _read(self) -> Edges:
        if self._stamps is not None:
            return edges.from_stamps(self._stamps)
        if self._signal is None:
            return Edges(np.zeros(0), np.zeros(0))
        with reading(self._path) as reader:
            if self._kind == "digital":
                blocks = blocks_of(reader, self._signal, self._length, 8 * BLOCK)
                found = edges.from_levels(blocks, self._rate_hz)
            else:
                whole = [
                    np.zeros(0, dtype=np.float32),
                    *blocks_of(reader, self._signal, self._length, BLOCK),
                ]
                found = edges.from_voltage(np.concatenate(whole), self._rate_hz)
        return edges.outside(found, self._dark_s)
