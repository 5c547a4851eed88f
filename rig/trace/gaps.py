# SPDX-License-Identifier: Apache-2.0
"""Gaps: monitor samples that are missing, or not to be trusted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.files import foreign_files, typed


@dataclass(frozen=True, slots=True)
class Gap:
    """Analog samples start <= k < stop are lost or not to be trusted."""

    start: int
    stop: int
    cause: str


def joined(gaps: Sequence[Gap]) -> list[Gap]:
    """Return gaps in order, those that overlap as one."""
    joined: list[Gap] = []
    for gap in sorted(gaps, key=lambda gap: gap.start):
        if joined and gap.start <= joined[-1].stop:
            last = joined.pop()
            gap = Gap(last.start, max(last.stop, gap.stop), last.cause)
        joined.append(gap)
    return joined


def outside(first: int, count: int, gaps: Sequence[Gap]) -> NDArray[np.bool_]:
    """Return which of samples, of which the first has number `first`, are in no gap."""
    kept = np.ones(count, dtype=bool)
    for gap in gaps:
        kept[max(gap.start - first, 0) : max(gap.stop - first, 0)] = False
    return kept


def read(path: Path) -> tuple[Gap, ...]:
    """Read the gaps of a trace; none where there is no file. Raises DataError."""
    # A killed process may leave half a line at the end; anything else is damage.
    try:
        lines = foreign_files.read_text(path, errors="replace").split("\n")[:-1]
    except FileNotFoundError:
        return ()
    try:
        return tuple(
            typed.from_json(Gap, json.loads(line), str(path)) for line in lines
        )
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} has a line of another form", evidence=str(error)
        ) from error
