# SPDX-License-Identifier: Apache-2.0
"""UTC in a recording: the instrument's time maps. No measurement depends on them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drivers.joulescope.block import TimeMap

_KEPT_EVERY_S = 60


class TimeMaps:
    """The time maps that came with the blocks: how many different ones, the first, one
    a minute, the last, and the range of their rates.
    """

    def __init__(self) -> None:
        self.count = 0
        self.rates_hz: tuple[float, float] | None = None
        self._kept: list[TimeMap] = []
        self._last: TimeMap | None = None

    def note(self, time_map: TimeMap) -> None:
        """Take the map of a block."""
        if time_map == self._last:
            return
        self._last = time_map
        self.count += 1
        rate_hz = float(time_map.counter_rate)
        # A counter may begin again; a rate of 0 yields no time.
        since = (
            abs(time_map.offset_counter - self._kept[-1].offset_counter)
            if self._kept
            else 0
        )
        if not self._kept or (rate_hz > 0 and since >= _KEPT_EVERY_S * rate_hz):
            self._kept.append(time_map)
        least, most = self.rates_hz or (rate_hz, rate_hz)
        self.rates_hz = min(least, rate_hz), max(most, rate_hz)

    @property
    def summary(self) -> dict[str, Any]:
        """The relation to UTC, for readers of the recording."""
        kept = [asdict(one) for one in self._kept]
        return {
            "count": self.count,
            "first": kept[0] if kept else {},
            "kept": kept,
            "last": asdict(self._last) if self._last else {},
            "counter_rates_hz": self.rates_hz,
        }
