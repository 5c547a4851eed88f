# SPDX-License-Identifier: Apache-2.0
"""The reduced spans of a trace against what else it holds: its means and its edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rig.arrays import Float32s, Float64s
from rig.errors import DataError
from rig.host.stop import look
from rig.trace.reduced import CURRENT_MEAN, VOLTAGE_MEAN, Reduced
from rig.trace.trace import Trace

#: Means that are read at once.
_MEANS = 256
#: Sums of the same samples differ by so much, however they are added up.
_ROUNDED = 1e-5


def currents(trace: Trace, reader: Any, reduced: Reduced) -> Iterator[Float32s]:
    """Yield the current of a whole trace, block by block; raises DataError where a span
    lies beside an edge, or where samples have another mean than the file says: spans
    were moved, then.
    """
    _require_quiet(trace, reduced)
    every = reduced.thinning.every
    for at in range(0, trace.length, _MEANS * every):
        look()
        count = min(_MEANS * every, trace.length - at)
        current, voltage = trace.samples(reader, at, count)
        for signal, values in ((CURRENT_MEAN, current), (VOLTAGE_MEAN, voltage)):
            _require_means(
                trace, reader, reduced=reduced, signal=signal, at=at, values=values
            )
        yield current


def _require_quiet(trace: Trace, reduced: Reduced) -> None:
    """Raise DataError where a span reaches into the margin about an edge of SYNC."""
    edges_s: Float64s = np.sort(np.concatenate([trace.falls_s, trace.rises_s]))
    margin = np.array([-reduced.thinning.margin, reduced.thinning.margin])
    near = (reduced.bounds + margin) / trace.sample_hz
    first = np.searchsorted(edges_s, near[:, 0], side="right")
    last = np.searchsorted(edges_s, near[:, 1], side="left")
    for place in np.flatnonzero(first < last)[:1].tolist():
        start, stop = reduced.bounds[place].tolist()
        raise DataError(
            f"{trace.path}: samples {start} to {stop} were reduced, and an edge of SYNC"
            " is near",
            evidence=(
                f"{reduced.thinning.margin} samples on each side of an edge are kept"
            ),
        )


def _require_means(
    trace: Trace, reader: Any, reduced: Reduced, signal: int, at: int, values: Float32s
) -> None:
    every = reduced.thinning.every
    first = at // every
    # Of a recording that was cut off, the last mean may be missing, or of fewer
    # samples.
    count = min(len(values) // every, reduced.means - first)
    if count <= 0:
        return
    stored = reader.fsr(signal, first, count)
    made = values[: count * every].reshape(-1, every).mean(axis=1, dtype=np.float64)
    same = np.isclose(stored, made, rtol=_ROUNDED, atol=1e-12, equal_nan=True)
    for place in np.flatnonzero(~same)[:1].tolist():
        begin = at + place * every
        raise DataError(
            f"{trace.path}: the mean of samples {begin} to {begin + every} is not that"
            " of its file",
            evidence=f"{made[place]:.9g}, the file has {stored[place]:.9g}",
        )
