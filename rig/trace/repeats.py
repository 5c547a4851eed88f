# SPDX-License-Identifier: Apache-2.0
"""Stretches that a recording holds twice: noise does not repeat itself, so one is a
copy of the other.

Of a long recording the windows with the smallest hashes are kept, a fair choice: a
stretch is found where enough of its windows are among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Int64s

#: So many windows are kept: all of a recording of 16 million samples.
_KEPT = 1 << 18
#: As many windows at one distance make a stretch: by chance, not even one is there
#: twice.
_STRETCH = 8
#: A more frequent stretch is periodic: a signal without noise, and no copy.
_OFTEN = 16

_Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A stretch that is there twice: the samples at which the first and the second one
    begin, and how many windows they have in common.
    """

    first: int
    second: int
    windows: int


class Repeats:
    """Take windows by hash and place, and find stretches among them."""

    def __init__(self) -> None:
        self._hashes: list[_Hashes] = []
        self._places: list[Int64s] = []
        self._count = 0

    def add(self, hashes: _Hashes, places: Int64s) -> None:
        """Take windows of a block; `places` are the samples at which they begin."""
        self._hashes.append(hashes)
        self._places.append(places)
        self._count += len(hashes)
        if self._count > 2 * _KEPT:
            hashes, places = self._smallest()
            self._hashes = [hashes]
            self._places = [places]
            self._count = len(hashes)

    @property
    def longest(self) -> Repeat | None:
        """Stretch with most windows; None where there is none."""
        if not self._count:
            return None
        hashes, places = self._smallest()
        starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
        counts = np.diff(np.r_[starts, len(hashes)])
        twice = starts[(counts > 1) & (counts <= _OFTEN)]
        if len(twice) < _STRETCH:
            return None
        first = places[twice]
        distances = places[twice + 1] - first
        found, how_often = np.unique(distances, return_counts=True)
        best = int(np.argmax(how_often))
        if how_often[best] < _STRETCH:
            return None
        begin = int(first[distances == found[best]].min())
        return Repeat(begin, begin + int(found[best]), int(how_often[best]))

    def _smallest(self) -> tuple[_Hashes, Int64s]:
        """Return the windows that are kept, ordered by hash and then by place."""
        hashes = np.concatenate(self._hashes)
        places = np.concatenate(self._places)
        order = np.lexsort((places, hashes))
        if len(order) > _KEPT:
            # All windows of one hash, or none of them.
            last = hashes[order[_KEPT]]
            order = order[: np.searchsorted(hashes[order], last)]
        return hashes[order], places[order]
