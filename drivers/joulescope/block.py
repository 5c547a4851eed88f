# SPDX-License-Identifier: Apache-2.0
"""A block of the stream, from a `!data` topic of the maker's driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

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
