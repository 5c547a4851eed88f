# SPDX-License-Identifier: Apache-2.0
"""The upper end of the live picture's axis, which is round and does not flicker; no
Qt."""

from __future__ import annotations

import math

#: An axis shrinks only when its contents fill less than this part of it, and then
#: slowly.
_SHRINKS_BELOW = 0.4
_HEADROOM = 1.08


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 7.5, 10 times a power of ten."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


class Ceiling:
    """The upper end of an axis from 0: it grows at once, and shrinks when it is far too
    high."""

    def __init__(self) -> None:
        self.top = 0.0
        self._low_for = 0

    def fit(self, highest: float, patience: int = 60) -> float:
        """Return the end for a picture whose highest value is this; `patience` is for
        how many pictures it stays too high.
        """
        top = round_up(highest * _HEADROOM)
        if top > self.top:
            self.top = top
            self._low_for = 0
        elif highest < _SHRINKS_BELOW * self.top:
            self._low_for += 1
            if self._low_for >= patience:
                self.top = top
                self._low_for = 0
        else:
            self._low_for = 0
        return self.top
