# SPDX-License-Identifier: Apache-2.0
"""Limits of a range. Beyond it the converter saturates at an ordinary number, without a
message of the instrument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from drivers.joulescope.block import StreamBlock


@dataclass(frozen=True, slots=True)
class Readable:
    """Readings of the range `name` are valid from `least` to `most`, in amperes or
    volts.
    """

    name: str
    least: float
    most: float

    def believed(self, block: StreamBlock) -> StreamBlock:
        """Return a block of the stream with NaN in place of readings that are not
        valid."""
        data = block.data
        # Two passes without a copy suffice for a block within the limits. NaN compares
        # as false.
        if not len(data) or (data.max() <= self.most and data.min() >= self.least):
            return block
        believed = np.where(
            (data > self.most) | (data < self.least), np.float32(np.nan), data
        )
        return replace(block, data=believed)


def unreadable(readable: Mapping[str, Readable]) -> str:
    """Return the cause of a gap where there is no number."""
    ranges = ", ".join(each.name for each in readable.values()) or "any"
    return f"the instrument gave no number, or one beyond its range ({ranges})"
