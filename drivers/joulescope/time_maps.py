# SPDX-License-Identifier: Apache-2.0
"""UTC in a recording: the instrument's time maps. Nothing that is measured depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT_EVERY_S = 60


class TimeMaps:
    """The time maps that came with the blocks: how many different ones, the first, one a minute,
    the last, and the range of their rates.

    A map is `offset_counter`, a count of the instrument; `offset_time`, UTC at that count in 2**-30
    s from 2018-01-01; and `counter_rate`, counts per second of UTC.
    """

    def __init__(self) -> None:
        self.count = 0
        self.rates_hz: tuple[float, float] | None = None
        self._kept: list[dict[str, Any]] = []
        self._last: dict[str, Any] = {}

    def note(self, time_map: Mapping[str, Any]) -> None:
        """Take the map of a block."""
        if time_map == self._last:
            return
        self._last = dict(time_map)
        self.count += 1
        rate_hz = float(time_map["counter_rate"])
        # A counter may begin again; a rate of 0 gives no time.
        since = (
            abs(time_map["offset_counter"] - self._kept[-1]["offset_counter"]) if self._kept else 0
        )
        if not self._kept or (rate_hz > 0 and since >= _KEPT_EVERY_S * rate_hz):
            self._kept.append(self._last)
        least, most = self.rates_hz or (rate_hz, rate_hz)
        self.rates_hz = min(least, rate_hz), max(most, rate_hz)

    @property
    def told(self) -> dict[str, Any]:
        """Return what is known of UTC, for whoever reads the recording."""
        first = self._kept[0] if self._kept else {}
        return {
            "count": self.count,
            "first": first,
            "kept": self._kept,
            "last": self._last,
            "counter_rates_hz": self.rates_hz,
        }
