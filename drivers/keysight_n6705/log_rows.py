# SPDX-License-Identifier: Apache-2.0
"""Rows of a data log as they are written: those that are no readings are blank, and
noted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter

Floats = NDArray[np.float64]

#: SCPI writes 9.9E37 for infinity (here: beyond the measuring range) and 9.91E37 for no
#: number.
_OVERLOAD = 9.0e37
_NO_NUMBER = 9.91e37
#: Far more than two 32-bit numbers of that size are apart, far less than those two are.
_SAME = 1e34
_BEYOND = "beyond the measuring range"
_NOTHING = "the instrument gave no number"


def write_rows(writer: TraceWriter, rows: Floats, sync_v: Floats | None) -> None:
    """Write rows of current and voltage, and of SYNC where it is logged; numbers that
    are none are made NaN in place.
    """
    first = writer.samples
    too_large = blinded(rows)
    if sync_v is not None:
        sync_too_large = blinded(sync_v[:, None])
        writer.sync_voltage(sync_v)
        # Of current and voltage the writer notes it.
        unseen = np.isnan(sync_v) & ~np.isnan(rows).any(axis=1)
        for which, cause in ((sync_too_large, _BEYOND), (~sync_too_large, _NOTHING)):
            for run in runs(unseen & which):
                writer.gap(
                    Gap(first + run[0], first + run[1], f"{cause}, on the SYNC channel")
                )
    neighbours = pairwise([0, *(np.flatnonzero(np.diff(too_large)) + 1), len(rows)])
    for start, stop in neighbours:
        part = rows[start:stop]
        writer.analog(
            part[:, 0], part[:, 1], unreadable=_BEYOND if too_large[start] else _NOTHING
        )


def blinded(rows: Floats) -> NDArray[np.bool_]:
    """Replace unreadable values by NaN, in place; return the rows with values beyond
    the measuring range."""
    size = np.abs(rows)
    nothing = np.isnan(rows) | (np.abs(size - _NO_NUMBER) < _SAME)
    beyond = (size > _OVERLOAD) & ~nothing
    rows[nothing | beyond] = np.nan
    return np.asarray(beyond.any(axis=1), dtype=np.bool_)


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last + 1 of each run of true values."""
    bounded = np.concatenate([[False], flags, [False]])
    steps = np.flatnonzero(np.diff(bounded.astype(np.int8)))
    pairs = zip(steps[::2], steps[1::2], strict=True)
    return [(int(begin), int(end)) for begin, end in pairs]
