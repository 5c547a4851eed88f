# SPDX-License-Identifier: Apache-2.0
"""Rows that a program wrote twice, with the same time and the same readings: left out,
with a note.

Power Profiler's CSV repeats the row between two of its pieces, one in 10 000 (versions
3.1 to 4.x, December 2020 to March 2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rig.arrays import Array, Bools

#: More than one in so many is no repetition, but time that stands still.
_ONE_IN = 1000
_PIECE = 1 << 16


def without_repeats(numbers: Path, kind: np.dtype[Any]) -> list[str]:
    """Leave rows out of a file of rows that are equal to the one before them in all but
    their line, where they are few; return a note of it.
    """
    rows = numbers.stat().st_size // kind.itemsize
    repeated = [int(same.sum()) for _, same in _pieces(numbers, kind)]
    count = sum(repeated)
    if not count or count * _ONE_IN > rows:
        return []
    kept = numbers.with_suffix(".kept")
    first_line = 0
    with kept.open("wb") as out:
        for piece, same in _pieces(numbers, kind):
            if same.any() and not first_line:
                first_line = int(piece["line"][np.flatnonzero(same)[0]])
            out.write(piece[~same].tobytes())
    kept.replace(numbers)
    what = "row that repeats" if count == 1 else "rows that repeat"
    note = (
        f"{count} {what} the one before, time and all, left out; the first is line"
        f" {first_line}"
    )
    return [note]


def _pieces(numbers: Path, kind: np.dtype[Any]) -> Iterator[tuple[Array, Bools]]:
    """Yield the rows, and which of them repeat the row before."""
    last: Array | None = None
    with numbers.open("rb") as stream:
        while content := stream.read(_PIECE * kind.itemsize):
            rows = np.frombuffer(content, dtype=kind)
            yield rows, _same(rows[:1] if last is None else last, rows)
            last = rows[-1:].copy()


def _same(before: Array, rows: Array) -> Bools:
    """Return which rows repeat the one before them."""
    same = np.ones(len(rows), dtype=bool)
    for name in rows.dtype.names or ():
        values = np.concatenate([before[name], rows[name]])
        if name == "line":
            # The first row of all stands beside itself.
            same &= values[1:] != values[:-1]
            continue
        equal = values[1:] == values[:-1]
        if values.dtype.kind == "f" and name != "time":
            equal |= np.isnan(values[1:]) & np.isnan(values[:-1])
        same &= equal
        # Equal times, the first column, are seldom.
        if not same.any():
            break
    return same
