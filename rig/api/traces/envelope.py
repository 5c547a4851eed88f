# SPDX-License-Identifier: Apache-2.0
"""Least, mean and most of a long trace in few columns: through the index of its JLS
file, or by reading it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.api.traces import file_index
from rig.trace.levels import Hidden
from rig.trace.reduce import Table
from rig.trace.trace import Trace, reading

Array = NDArray[np.float64]

#: So many samples are read rather than looked up: a few milliseconds.
_READ = 1 << 20
_UNITS = {"current": "a", "voltage": "v"}


def summary(
    trace: Trace, first: int, last: int, columns: int, power: bool
) -> dict[str, Array]:
    """Return the columns of a summary of samples first <= k < last, by name."""
    table: dict[str, Array] = {}
    with reading(trace.path) as reader:
        # The index of a file with reduced spans is not one of the recording.
        if last - first <= _READ or trace.layout.reduced is not None:
            bounds = _divided(first, last, columns)
            names = [*_UNITS, *(["power"] if power else [])]
            rows = _read(reader, trace, bounds, names)
        else:
            bounds = file_index.aligned(reader, trace, first, last, columns)
            rows = file_index.columns(reader, trace, bounds)
            if power:
                more = _read(reader, trace, bounds, ["power"])
                rows = np.concatenate([rows, more])
    for place, (name, unit) in enumerate(
        (_UNITS | ({"power": "w"} if power else {})).items()
    ):
        table |= _named(name, unit, rows[3 * place : 3 * place + 3].T)
    times = {
        "start_s": bounds[:-1] / trace.sample_hz,
        "stop_s": bounds[1:] / trace.sample_hz,
    }
    return times | table


def _divided(first: int, last: int, columns: int) -> NDArray[np.int64]:
    """Return the borders of columns of about equal width, at least a sample each."""
    count = min(columns, last - first)
    return np.linspace(first, last, count + 1).round().astype(np.int64)


def of_table(times_s: Array, table: Table, power: bool) -> dict[str, Array]:
    """Return the columns of a table with borders at these times, by name."""
    found = {"start_s": times_s[:-1], "stop_s": times_s[1:]}
    units = _UNITS | ({"power": "w"} if power else {})
    for place, (name, unit) in enumerate(units.items()):
        found |= _named(name, unit, table.rows[3 * place : 3 * place + 3].T)
    return found


def _read(
    reader: Any, trace: Trace, bounds: NDArray[np.int64], names: Sequence[str]
) -> Array:
    """Return least, mean and most of these signals, three rows each, of all samples;
    read in pieces of whole columns.
    """
    hidden = Hidden(trace.gaps)
    pieces = []
    at = 0
    while at < len(bounds) - 1:
        enough = int(np.searchsorted(bounds, bounds[at] + _READ, side="right")) - 1
        until = max(enough, at + 1)
        piece = bounds[at : until + 1]
        first = int(piece[0])
        current, voltage = trace.samples(reader, first, int(piece[-1]) - first)
        hidden.hide(first, current, voltage)
        signals: dict[str, NDArray[Any]] = {"current": current, "voltage": voltage}
        if "power" in names:
            with np.errstate(invalid="ignore"):
                power = np.multiply(current, voltage, dtype=np.float64)
            signals.update(power=power)
        rows = [_reduced(signals[name], piece) for name in names]
        pieces.append(np.column_stack(rows).T)
        at = until
    return np.concatenate(pieces, axis=1) if pieces else np.zeros((3 * len(names), 0))


def _reduced(values: NDArray[np.floating[Any]], bounds: NDArray[np.int64]) -> Array:
    """Return least, mean and most of the finite values between borders; NaN where there
    are none.
    """
    if not len(values):
        return np.zeros((max(len(bounds) - 1, 0), 3))
    starts = bounds[:-1] - bounds[0]
    with np.errstate(invalid="ignore"):  # of two infinities
        sums = np.add.reduceat(values.astype(np.float64), starts)
    if np.isfinite(sums).all():
        least = np.minimum.reduceat(values, starts)
        most = np.maximum.reduceat(values, starts)
        return np.column_stack([least, sums / np.diff(bounds), most])
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts, dtype=np.float64)
    least = np.minimum.reduceat(np.where(known, values, np.inf), starts)
    most = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    mean = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    none = counts == 0
    return np.column_stack(
        [np.where(none, np.nan, least), mean, np.where(none, np.nan, most)]
    )


def _named(name: str, unit: str, found: NDArray[np.floating[Any]]) -> dict[str, Any]:
    return {
        f"{name}_{what}_{unit}": found[:, at]
        for at, what in enumerate(("min", "mean", "max"))
    }
