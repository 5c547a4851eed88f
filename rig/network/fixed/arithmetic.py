# SPDX-License-Identifier: Apache-2.0
"""Rounded shifts and limits: docs/reference/FIXED_POINT.md, section 1."""

from __future__ import annotations

import numpy as np

from rig.network.fixed.form import STATE_MAX, VALUE_MAX, Ints


def shifted(numbers: Ints, shift: int) -> Ints:
    """Return numbers / 2^shift to the nearest whole number, halves up."""
    if shift == 0:
        return numbers
    rounded: Ints = (numbers + (1 << (shift - 1))) >> shift
    return rounded


class Saturation:
    """Limits numbers, and counts those that it limited: `counts` by node."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def value(self, name: str, numbers: Ints, shift: int) -> Ints:
        """Return a rounded shift of numbers, limited to 16 bit."""
        return self._limited(name, shifted(numbers, shift), VALUE_MAX)

    def state(self, name: str, numbers: Ints) -> Ints:
        """Return numbers limited to 32 bit."""
        return self._limited(name, numbers, STATE_MAX)

    def _limited(self, name: str, numbers: Ints, most: int) -> Ints:
        clipped: Ints = np.clip(numbers, -most - 1, most)
        if count := int(np.count_nonzero(clipped != numbers)):
            self.counts[name] = self.counts.get(name, 0) + count
        return clipped
