# SPDX-License-Identifier: Apache-2.0
"""What a recording learns of UTC: the instrument's time maps. Nothing that is measured depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TimeMaps:
    """The time maps that came with the blocks: how many different ones, the first, the last, and the range of their rates.

    A map is `offset_counter`, a count of the instrument; `offset_time`, UTC at that count in 2**-30 s from 2018-01-01; and
    `counter_rate`, counts per second of UTC.
    """

    def __init__(self) -> None:
        self.count = 0
        self.rates_hz: tuple[float, float] | None = None
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def note(self, time_map: Mapping[str, Any]) -> None:
        """Take the map of a block."""
        if time_map == self._last:
            return
        self._last = dict(time_map)
        self._first = self._first or self._last
        self.count += 1
        rate_hz = float(time_map["counter_rate"])
        least, most = self.rates_hz or (rate_hz, rate_hz)
        self.rates_hz = min(least, rate_hz), max(most, rate_hz)

    @property
    def told(self) -> dict[str, Any]:
        """Return what is known of UTC, for whoever reads the recording."""
        return {"count": self.count, "first": self._first, "last": self._last, "counter_rates_hz": self.rates_hz}
