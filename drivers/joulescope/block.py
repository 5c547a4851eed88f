# SPDX-License-Identifier: Apache-2.0
"""A block of the stream, from a `!data` topic of the maker's driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

_MAP = itemgetter("offset_time", "offset_counter", "counter_rate")
_BLOCK = itemgetter("sample_id", "sample_rate", "decimate_factor", "data", "time_map")


@dataclass(frozen=True, slots=True)
class TimeMap:
    """The instrument's relation to UTC: `offset_counter`, a count of the instrument;
    `offset_time`, UTC at that count in 2**-30 s from 2018-01-01; `counter_rate`, counts
    per second of UTC.
    """

    offset_time: int
    offset_counter: int
    counter_rate: float


@dataclass(frozen=True, slots=True)
class StreamBlock:
    """Samples of one signal: the count of the instrument at the first, its rate, how
    many counts a sample lasts, and the map that came with it.
    """

    sample_id: int
    sample_rate: int
    decimate_factor: int
    data: Any
    time_map: TimeMap

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> StreamBlock:
        """Return the block that a message is."""
        sample_id, sample_rate, decimate_factor, data, time_map = _BLOCK(message)
        return cls(
            sample_id, sample_rate, decimate_factor, data, TimeMap(*_MAP(time_map))
        )

    def in_ticks(self, counts: int) -> StreamBlock:
        """Return the block in ticks of so many counts, its begin rounded down to one;
        the block itself where a sample does not last whole ticks. The map is that of
        the counter."""
        if self.decimate_factor % counts or self.sample_rate % counts:
            return self
        return replace(
            self,
            sample_id=self.sample_id // counts,
            sample_rate=self.sample_rate // counts,
            decimate_factor=self.decimate_factor // counts,
        )


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
        beyond = (data > self.most) | (data < self.least)
        believed = np.where(beyond, np.float32(np.nan), data)
        return replace(block, data=believed)


def unreadable(readable: Mapping[str, Readable]) -> str:
    """Return the cause of a gap where there is no number."""
    ranges = ", ".join(each.name for each in readable.values()) or "any"
    return f"the instrument gave no number, or one beyond its range ({ranges})"


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
        first = kept[0] if kept else {}
        last = asdict(self._last) if self._last else {}
        return {
            "count": self.count,
            "first": first,
            "kept": kept,
            "last": last,
            "counter_rates_hz": self.rates_hz,
        }
