# SPDX-License-Identifier: Apache-2.0
"""Rows of a data log that are no readings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: SCPI writes 9.9E37 for infinity (here: beyond the measuring range) and 9.91E37 for no number.
_OVERLOAD = 9.0e37
_NO_NUMBER = 9.91e37
#: Far more than two 32-bit numbers of that size are apart, far less than those two are.
_SAME = 1e34


def blinded(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Make NaN of what cannot be read, in place; return which rows are so because something was
    beyond the measuring range.
    """
    size = np.abs(rows)
    nothing = np.isnan(rows) | (np.abs(size - _NO_NUMBER) < _SAME)
    beyond = (size > _OVERLOAD) & ~nothing
    rows[nothing | beyond] = np.nan
    return np.asarray(beyond.any(axis=1), dtype=np.bool_)


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last + 1 of each run of true values."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in zip(steps[::2], steps[1::2], strict=True)]
