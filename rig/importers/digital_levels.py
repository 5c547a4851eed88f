# SPDX-License-Identifier: Apache-2.0
"""The SYNC line of a file that tells its level sample by sample: low, high, both within
one sample, or not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.trace.writer import TraceWriter

HIGH = 1
LOW = 0
BOTH = 2
UNKNOWN = -1
#: More changes than this is no line between a device and a monitor, but noise; each
#: takes 100 bytes of memory.
_CHANGES = 1 << 21


@dataclass(slots=True)
class LevelStretches:
    """Collects the line as stretches of equal level, by their first sample; unknown
    levels end one.
    """

    name: str
    stretches: list[tuple[int, int]] = field(default_factory=list)

    def add(self, first: int, levels: NDArray[np.int8]) -> None:
        """Append levels of samples from `first` on; raises DataError when they change
        as no line does.
        """
        last = self.stretches[-1][1] if self.stretches else UNKNOWN
        changes = np.flatnonzero(np.diff(levels, prepend=np.int8(last)))
        if len(self.stretches) + len(changes) > _CHANGES:
            raise DataError(
                f"{self.name} changes more than {_CHANGES} times",
                evidence=f"within {first + len(levels)} samples",
                try_next="--sync none, if it is no digital line",
            )
        self.stretches += [(first + int(at), int(levels[at])) for at in changes]

    def lose(self, first: int) -> None:
        """Note that the level is not known from `first` on."""
        self.stretches.append((first, UNKNOWN))

    def stamp(self, rate_hz: float, writer: TraceWriter, notes: list[str]) -> None:
        """Stamp the edges: between two samples half a sample early, as
        rig/trace/trace.py has it; within a sample that was both, in its middle.
        """
        unclear = 0
        before = UNKNOWN
        for (at, level), (stop, after) in pairwise([*self.stretches, (-1, UNKNOWN)]):
            known = before in (LOW, HIGH)
            if known and level in (LOW, HIGH):
                writer.stamp((at - 0.5) / rate_hz, fall=level == LOW)
            elif level == BOTH and known and after in (LOW, HIGH) and stop - at == 1:
                writer.stamp((at + 0.5) / rate_hz, fall=before == HIGH)
                if after == before:
                    writer.stamp((at + 0.5) / rate_hz, fall=before == LOW)
            elif level == BOTH:
                unclear += 1
            before = level
        if unclear:
            notes.append(
                f"{unclear} times SYNC changes faster than the samples tell: these"
                " edges are left out"
            )
