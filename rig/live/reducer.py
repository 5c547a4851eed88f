# SPDX-License-Identifier: Apache-2.0
"""The tap that reduces a trace to columns while it is written."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rig.live.block import COLUMN_S, LiveBlock
from rig.live.edges import VoltageEdges
from rig.trace.edges import LevelEdges
from rig.trace.gaps import Gap
from rig.trace.tap import TraceForm

#: Columns wait for so much of the trace, so that drivers with small blocks make few.
_GATHER_S = 0.02
#: Number of samples that are reduced at once, which limits the memory of their
#: product.
_AT_ONCE = 1 << 18

_Floats = NDArray[np.float32]


class Reducer:
    """Reduce the samples that are written of one rail to blocks of columns, while an
    observer `wanted` them."""

    def __init__(
        self,
        rail: str,
        trace: int,
        form: TraceForm,
        out: Callable[[LiveBlock], None],
        failed: Callable[[Exception], None],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._rail = rail
        self._trace = trace
        self._form = form
        self._out = out
        self._failed = failed
        self._wanted = is_wanted
        self._per_column = max(round(form.sample_hz * COLUMN_S), 1)
        self._column_s = self._per_column / form.sample_hz
        self._gather = max(round(_GATHER_S / self._column_s), 1)
        self._at = 0  # samples that have come, lost ones too
        self._start = 0  # the first sample of the columns that wait
        # of a column that is not complete
        self._power_w: _Floats = np.zeros(0, dtype=np.float32)
        self._columns: list[_Floats] = []  # least, mean and most as rows
        self._waiting = 0
        self._short = 0  # samples that the last column lacks
        self._lost = 0
        self._falls: list[NDArray[np.float64]] = []
        self._rises: list[NDArray[np.float64]] = []
        self._level_edges = LevelEdges(form.edge_hz)
        self._voltage_edges = VoltageEdges(form.sample_hz)

    def analog(self, current_a: _Floats, voltage_v: _Floats) -> None:
        """Take samples."""
        self._at += len(current_a)
        if not self._wanted():
            self._forget()
            return
        for at in range(0, len(current_a), _AT_ONCE):
            self._take(current_a[at : at + _AT_ONCE] * voltage_v[at : at + _AT_ONCE])
        if self._waiting >= self._gather:
            self._hand_over()

    def levels(self, at: int, packed: NDArray[np.uint8]) -> None:
        """Take levels of SYNC."""
        if len(packed) and self._wanted():
            self._keep(self._level_edges.feed(at, packed))

    def sync_voltage(self, at: int, voltage_v: _Floats) -> None:
        """Take voltages of SYNC."""
        if self._wanted():
            self._keep(self._voltage_edges.feed(at, voltage_v))

    def stamp(self, at_s: float, fall: bool) -> None:
        """Take one edge."""
        (self._falls if fall else self._rises).append(np.array([at_s]))

    def gap(self, gap: Gap) -> None:
        """Leave the columns of samples that are not to be trusted as they came."""

    def skip(self, samples: int, cause: str) -> None:
        """Leave out samples that were lost: no columns stand for them."""
        self._end_column()
        self._hand_over()
        self._at += samples
        self._start += samples
        self._lost += samples

    def end(self) -> None:
        """Hand over the remaining columns."""
        self._end_column()
        self._hand_over()

    def failed(self, error: Exception) -> None:
        """Report that no more samples come."""
        self._failed(error)

    def _forget(self) -> None:
        """Begin again after all that has come."""
        self._begin(self._at)
        self._power_w = self._power_w[:0]
        self._level_edges = LevelEdges(self._form.edge_hz)

    def _take(self, power_w: _Floats) -> None:
        if len(self._power_w):
            missing = self._per_column - len(self._power_w)
            self._power_w = np.concatenate([self._power_w, power_w[:missing]])
            power_w = power_w[missing:]
            if len(self._power_w) < self._per_column:
                return
            self._put(self._power_w[None])
            self._power_w = self._power_w[:0]
        whole = len(power_w) // self._per_column * self._per_column
        if whole:
            self._put(power_w[:whole].reshape(-1, self._per_column))
        if whole < len(power_w):
            self._power_w = power_w[whole:].copy()

    def _end_column(self) -> None:
        """Make a column of fewer samples; the next one begins after it."""
        if len(self._power_w):
            self._put(self._power_w[None])
            self._short = self._per_column - len(self._power_w)
            self._power_w = self._power_w[:0]

    def _put(self, rows: _Floats) -> None:
        least, most = rows.min(axis=1), rows.max(axis=1)
        columns = np.stack([least, rows.mean(axis=1), most])
        spoilt = np.flatnonzero(~np.isfinite(columns[1]))
        for column in spoilt:
            good = rows[column][np.isfinite(rows[column])]
            self._lost += rows.shape[1] - len(good)
            if len(good):
                columns[:, column] = (good.min(), good.mean(), good.max())
            else:
                columns[:, column] = np.nan
        self._columns.append(columns)
        self._waiting += columns.shape[1]

    def _keep(self, edges: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
        for kept, new in zip((self._falls, self._rises), edges, strict=True):
            if len(new):
                kept.append(new)

    def _hand_over(self) -> None:
        if not (self._waiting or self._falls or self._rises or self._lost):
            return
        if self._columns:
            columns = np.concatenate(self._columns, axis=1)
        else:
            columns = np.zeros((3, 0), dtype=np.float32)
        none = np.zeros(0)
        block = LiveBlock(
            rail=self._rail,
            start_s=self._start / self._form.sample_hz,
            column_s=self._column_s,
            least_w=columns[0],
            mean_w=columns[1],
            most_w=columns[2],
            falls_s=np.concatenate([none, *self._falls]),
            rises_s=np.concatenate([none, *self._rises]),
            lost=self._lost,
            trace=self._trace,
            at_s=time.monotonic(),
        )
        stop = self._start + columns.shape[1] * self._per_column
        self._begin(stop - self._short)
        self._out(block)

    def _begin(self, start: int) -> None:
        """Begin to collect columns at this sample."""
        self._start = start
        self._columns = []
        self._falls = []
        self._rises = []
        self._waiting = self._short = self._lost = 0
