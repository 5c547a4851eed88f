# SPDX-License-Identifier: Apache-2.0
"""The ranges of a PPK2 during a recording: how often it switched between them, and the
charge of the samples just after each switch.

A reading in a higher range than its own limits of error are stated for, as just after a
fall, has those of that range in truth: such samples are counted too.

A switch may leave a spike. Nordic's application replaces the three samples after each
by a mean over those before; here they stay as they came, and are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drivers.nordic_ppk2.metadata import RANGES
from rig.arrays import Reals

#: Samples after a switch that Nordic's application does not show as they came.
AFTER = 3


class RangeCounts:
    """Counts of one recording; `ends_a` are the upper ends of the ranges that limits of
    error are stated for."""

    def __init__(self, ends_a: Sequence[float]) -> None:
        self._ends_a = np.array(ends_a)
        # The rows of a calibration need not be the ranges.
        self._above = 0 if len(ends_a) == RANGES else None
        self._samples = np.zeros(RANGES, dtype=np.int64)
        self._switches = 0
        self._last: int | None = None
        self._after = 0
        self._after_as = 0.0
        self._all_as = 0.0
        self._pending = 0

    def broken(self) -> None:
        """Take notice of a gap: whether it hides a switch is not known."""
        self._last = None
        self._pending = 0

    def add(self, ranges: Any, current_a: Reals) -> None:
        """Take the next samples; those of a range that does not exist are damaged, and
        do not count.
        """
        exists = ranges < RANGES
        ranges, current_a = ranges[exists], current_a[exists]
        if not len(ranges):
            return
        self._samples += np.bincount(ranges, minlength=RANGES)
        if self._above is not None:
            stated = np.searchsorted(self._ends_a, np.abs(current_a))
            self._above += int((ranges > stated).sum())
        before = ranges[0] if self._last is None else self._last
        switched = np.flatnonzero(np.diff(ranges, prepend=before))
        self._switches += len(switched)
        after = np.zeros(len(ranges), dtype=bool)
        after[: self._pending] = True
        for delay in range(AFTER):
            at = switched + delay
            after[at[at < len(ranges)]] = True
        left = self._pending - len(ranges)
        if len(switched):
            left = max(left, int(switched[-1]) + AFTER - len(ranges))
        self._pending = max(left, 0)
        self._last = int(ranges[-1])
        known = np.nan_to_num(current_a)
        self._after += int(after.sum())
        self._after_as += float(known[after].sum())
        self._all_as += float(known.sum())

    def summary(self, sample_hz: float) -> dict[str, Any]:
        """Return the counts, for recording.json; charges in C."""
        return {
            "samples_by_range": self._samples.tolist(),
            "samples_above_their_limits": self._above,
            "range_switches": self._switches,
            "samples_after_switches": self._after,
            "charge_after_switches_c": self._after_as / sample_hz,
            "charge_c": self._all_as / sample_hz,
        }
