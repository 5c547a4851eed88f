# SPDX-License-Identifier: Apache-2.0
"""Count of a device's marks in one recording, for thinning between windows."""

from __future__ import annotations

from rig.model.completion import Completion
from rig.trace.thinning import Quiet, QuietTimes


class MarkCount:
    """The number of marks that the device has made, and the times of the last two;
    quiet times are added to `times`, where traces are to be thinned.
    """

    def __init__(self, times: QuietTimes | None, tick_hz: float) -> None:
        self._times = times
        self._tick_hz = tick_hz
        self._count = 0
        self._last: tuple[int, ...] = ()

    def add(self, completion: Completion) -> Completion:
        """Count the marks of a completion, and return it."""
        ticks = [mark.tick for mark in completion.marks]
        self._count += len(ticks)
        self._last = (*self._last, *ticks)[-2:]
        return completion

    def quiet(self) -> None:
        """Note that the device only receives data until its next mark."""
        if self._times is not None and len(self._last) == 2:
            earlier, later = self._last
            self._times.add(Quiet(self._count, (later - earlier) / self._tick_hz))
