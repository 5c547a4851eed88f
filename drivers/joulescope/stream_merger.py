# SPDX-License-Identifier: Apache-2.0
"""Merge the three streams of a Joulescope, which arrive in blocks of their own, into
one trace. No thread, no clock: a function of the blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.joulescope.block import StreamBlock, TimeMaps
from rig.errors import BenchError
from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter

#: Rate of the SYNC line, and unit of `sample_id` before any decimation: the counter of
#: a JS110 and a JS220; that of a JS320 is faster (StreamBlock.in_ticks).
TICK_HZ = 2_000_000
CURRENT = "current"
VOLTAGE = "voltage"
SYNC = "sync"
SIGNALS = (CURRENT, VOLTAGE, SYNC)
#: A block comes at least every 50 ms: a stream that is silent while another delivers
#: this much has ended.
_SILENT_TICKS = 1 * TICK_HZ
#: More is no loss but a counter that went wrong (2**32 ticks have happened:
#: pyjoulescope_ui issue 296), and would fill the disk.
_LONGEST_GAP_TICKS = 60 * TICK_HZ
#: A block of a JS110 is 65 394 samples of current or voltage, or 100 000 of a GPI; its
#: log may come a block late.
BLOCK_TICKS = 65_536
LONGEST_BLOCK_TICKS = 100_000
#: The JS110's host driver delivers 64 NaN samples until its filter is filled
#: (js110_sample_processor.h).
_WARM_UP = 1_000


@dataclass(slots=True)
class _Part:
    """Elements start <= k < stop of one block whose first element, wanted or not, is
    `base`."""

    base: int
    start: int
    stop: int
    data: NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Interval:
    """Samples first <= k < stop of one signal, from a block with this base."""

    first: int
    stop: int
    base: int


@dataclass(frozen=True, slots=True)
class _Distrust:
    """Ticks first <= k < stop cannot be trusted."""

    first: int
    stop: int
    cause: str


class _Lane:
    """Elements of one signal that arrived and are not written yet, in elements:
    samples, or ticks of the SYNC line.
    """

    def __init__(self, name: str, element_ticks: int, packed: bool) -> None:
        self.name = name
        self.element_ticks = element_ticks
        self._packed = packed
        self.parts: deque[_Part] = deque()
        self.next: int | None = None
        self.came = 0  # up to where blocks have come, by their own ids
        self.losses: list[
            tuple[int, int]
        ] = []  # from which id on, so many elements more must be counted
        self.repeated = 0
        self.waited: dict[
            str, int
        ] = {}  # ticks that each other signal brought since the last block of this one

    @property
    def stop_tick(self) -> int:
        """The tick after the last data; 0 before any."""
        return (self.next or 0) * self.element_ticks

    def add(self, block: StreamBlock) -> None:
        """Append a block without samples that have arrived before."""
        if block.sample_rate != TICK_HZ or block.decimate_factor != self.element_ticks:
            raise BenchError(
                f"the stream of {self.name} is not at full rate",
                evidence=(
                    f"{block.sample_rate} Hz over {block.decimate_factor}, not "
                    f"{TICK_HZ} Hz over {self.element_ticks}"
                ),
                try_next="close other programs that use the instrument",
            )
        data = block.data
        start = int(block.sample_id) // self.element_ticks
        stop = start + len(data) * (8 if self._packed else 1)
        self.came = max(self.came, stop)
        # A loss that the ids do not show lies between two elements of a block.
        bounds = [start, *(at for at, _ in self.losses if start < at < stop), stop]
        for piece in pairwise(bounds):
            lost = sum(count for at, count in self.losses if at <= piece[0])
            self._add(start + lost, piece[0] + lost, piece[1] + lost, data)

    def _add(self, base: int, start: int, stop: int, data: NDArray[Any]) -> None:
        """Append elements start <= k < stop of a block whose first one is `base`."""
        first = start if self.next is None else max(start, self.next)
        if (first - stop) * self.element_ticks > _SILENT_TICKS:
            raise BenchError(
                f"the stream of {self.name} began anew",
                evidence=f"sample {stop} after {first}",
            )
        if (
            self.next is not None
            and (first - self.next) * self.element_ticks > _LONGEST_GAP_TICKS
        ):
            raise BenchError(
                f"the counter of the stream of {self.name} jumps",
                evidence=(
                    f"by {(first - self.next) * self.element_ticks / TICK_HZ:.0f} s"
                ),
                try_next=(
                    "record again; update the instrument's firmware with the"
                    " Joulescope UI"
                ),
            )
        self.repeated += first > start
        if first < stop:
            self.parts.append(_Part(base, first, stop, data))
            self.next = stop

    def forget(self, before: int) -> None:
        """Drop elements before `before`."""
        while self.parts and self.parts[0].stop <= before:
            self.parts.popleft()
        if self.parts:
            self.parts[0].start = max(self.parts[0].start, before)

    def intervals(self, sample_ticks: int) -> list[_Interval]:
        """Return the parts in samples of so many ticks; a sample counts where its last
        tick is missing, as more may come.
        """
        intervals = []
        for part in self.parts:
            start = -(-part.start * self.element_ticks // sample_ticks)
            stop = -(-part.stop * self.element_ticks // sample_ticks)
            intervals.append(_Interval(start, stop, part.base))
        return intervals

    def unbroken(self) -> tuple[int, bool]:
        """Return where the data without a gap ends, and whether it may still go on
        there."""
        stop = self.parts[0].start
        for part in self.parts:
            if part.start != stop:
                return stop, False
            stop = part.stop
        return stop, True

    def take(self, stop: int) -> Iterator[tuple[_Part, int, int]]:
        """Yield and drop the elements before `stop`: part by part, with the place of
        first and last in its block.
        """
        while self.parts and self.parts[0].start < stop:
            part = self.parts[0]
            end = min(part.stop, stop)
            yield part, part.start - part.base, end - part.base
            part.start = end
            if part.start == part.stop:
                self.parts.popleft()


class Lanes:
    """Merges the blocks of current, voltage and SYNC by their `sample_id` and writes
    the samples that all three have to a trace.

    The trace begins at the first sample that all three have. Repeated data is trimmed;
    where any of the three lost samples, all three have one gap. `sample_ticks`: 2 on a
    JS220 (1 MHz beside 2 MHz of SYNC), 1 on a JS110. Raises BenchError for blocks at
    another rate or from an earlier stream, and for a signal that lags; and the errors
    of TraceWriter. `unreadable` is the cause of gaps at NaN samples.
    """

    def __init__(
        self,
        writer: TraceWriter,
        sample_ticks: int,
        unreadable: str = "the instrument gave no number",
    ) -> None:
        self._writer = writer
        self._per = sample_ticks
        self._unreadable = unreadable
        analog = [
            _Lane(name, sample_ticks, packed=False) for name in (CURRENT, VOLTAGE)
        ]
        self._current, self._voltage = analog
        self._sync = _Lane(SYNC, 1, packed=True)
        self._lanes = (*analog, self._sync)
        self._at: int | None = (
            # the next sample to be written, in samples of the instrument's counter
            None
        )
        self._origin = 0
        self._merged = 0  # tick after the examined samples
        self._distrusted: list[_Distrust] = []
        self.maps = TimeMaps()
        # the streams are being switched off, one after the other: silence is no fault
        # any more
        self.ending = False

    @property
    def stop_ticks(self) -> dict[str, int]:
        """The tick after the last data of each signal; 0 before any."""
        return {lane.name: lane.stop_tick for lane in self._lanes}

    @property
    def missing(self) -> list[str]:
        """The signals without a block so far."""
        return [lane.name for lane in self._lanes if lane.next is None]

    @property
    def first_tick(self) -> int | None:
        """The instrument's count at the first sample of the trace; None before
        it."""
        return None if self._at is None else self._origin * self._per

    @property
    def repeated(self) -> int:
        """How many blocks held something that had come before."""
        return sum(lane.repeated for lane in self._lanes)

    def feed(self, signal: str, block: StreamBlock, more: bool = False) -> None:
        """Take one block and write the complete samples.

        With `more` another block waits already, and they are written with that.
        """
        self.maps.note(block.time_map)
        lane = self._lanes[SIGNALS.index(signal)]
        lane.add(block)
        # Complete samples end with the shortest of the signals.
        complete = min(lane.stop_tick for lane in self._lanes)
        if complete > self._merged and not more:
            self._merged = complete
            self._merge(final=False)
        if not self.ending:
            self._require_all(
                lane,
                len(block.data) * (8 if lane is self._sync else lane.element_ticks),
            )

    def distrust(self, first_tick: int, stop_tick: int, cause: str) -> None:
        """Note that what lies between two ticks is not to be trusted, also where it has
        not been written yet.
        """
        self._distrusted.append(_Distrust(first_tick, stop_tick, cause))

    def insert(self, lost_ticks: int, cause: str) -> None:
        """Count ticks that were lost near the last blocks without a trace in the ids:
        samples around them are not trusted, later ones are in their place."""
        stops = self.stop_ticks.values()
        first = min(stops) - BLOCK_TICKS
        before = sum(count for _, count in self._sync.losses)
        at = (
            (
                max(lane.came * lane.element_ticks for lane in self._lanes)
                + LONGEST_BLOCK_TICKS
            )
            // 8
            * 8
        )
        for lane in self._lanes:
            lane.losses.append(
                (at // lane.element_ticks, lost_ticks // lane.element_ticks)
            )
        self.distrust(first, at + before, cause)

    def finish(self) -> None:
        """Write the remaining complete samples; no block may follow."""
        if not self.missing:
            self._merge(final=True)
        self._note_distrust(final=True)

    def _merge(self, final: bool) -> None:
        if self._at is None and (self.missing or not self._begin()):
            return
        while True:
            resumed = self._resume(self._at or 0)
            if resumed is None:
                break
            at, lost = resumed
            if at > (self._at or 0):
                self._writer.skip(
                    at - (self._at or 0),
                    "the instrument or its USB connection lost samples of "
                    + " and ".join(lost),
                )
                self._at = at
            stop = self._common_stop(at, final)
            if stop <= at:
                break
            self._write(stop)
        self._note_distrust(final=False)

    def _begin(self) -> bool:
        """Set the first sample of the trace, where all three signals have one."""
        if not all(lane.parts for lane in self._lanes):
            return False
        for lane in (self._current, self._voltage):
            part = lane.parts[0]
            numbers = np.isfinite(part.data[:_WARM_UP])
            if numbers.any():
                part.start = max(part.start, part.base + int(np.argmax(numbers)))
        starts = [lane.parts[0].start * lane.element_ticks for lane in self._lanes]
        first = -(-max(starts) // self._per)
        resumed = self._resume(first)
        if resumed is None:
            return False
        at, _ = resumed
        self._at = self._origin = self._aligned(at, self._sync.parts[0].base)
        return True

    def _resume(self, at: int) -> tuple[int, list[str]] | None:
        """Return the next sample that all three have and the signals that lack samples
        before it; None while a signal has none there."""
        for lane in self._lanes:
            lane.forget(at * self._per // lane.element_ticks)
        lanes = {lane.name: lane.intervals(self._per) for lane in self._lanes}
        for first, stop, base in _common([*lanes.values()]):
            resumed = at if first <= at else self._aligned(first, base)
            if resumed < stop:
                break
        else:
            return None
        for lane in self._lanes:
            lane.forget(resumed * self._per // lane.element_ticks)
        lacking = [name for name, parts in lanes.items() if _lacks(parts, at, resumed)]
        return resumed, lacking

    def _aligned(self, at: int, base: int) -> int:
        """Return the first sample from `at` on at which a byte of the SYNC line begins,
        of a block with this base; `at` where there is none.
        """
        for sample in range(at, at + 8):
            if (sample * self._per - base) % 8 == 0:
                return sample
        return at

    def _common_stop(self, at: int, final: bool) -> int:
        """Return up to where all three can be written: whole bytes of the SYNC line as
        long as more may come.
        """
        stops = [lane.unbroken() for lane in self._lanes]
        pairs = zip(stops, self._lanes, strict=True)
        ends = [stop * lane.element_ticks // self._per for (stop, _), lane in pairs]
        stop = min(ends)
        goes_on = all(
            more for end, (_, more) in zip(ends, stops, strict=True) if end == stop
        )
        base = self._sync.parts[0].base
        if not final and goes_on and (at * self._per - base) % 8 == 0:
            stop -= (stop * self._per - base) % 8 // self._per
        return stop

    def _write(self, stop: int) -> None:
        current = _pieces(self._current, stop)
        voltage = _pieces(self._voltage, stop)
        if [len(piece) for piece in current] != [len(piece) for piece in voltage]:
            current = [np.concatenate(current)]
            voltage = [np.concatenate(voltage)]
        for pair in zip(current, voltage, strict=True):
            self._writer.analog(*pair, unreadable=self._unreadable)
        for part, first, last in self._sync.take(stop * self._per):
            if first % 8 == last % 8 == 0:
                self._writer.sync_packed(part.data[first // 8 : last // 8])
            else:
                levels = np.unpackbits(
                    part.data[first // 8 : -(-last // 8)], bitorder="little"
                )
                self._writer.sync(levels[first % 8 : first % 8 + last - first])
        self._at = stop

    def _require_all(self, fed: _Lane, ticks: int) -> None:
        """Raise BenchError for a signal without data while the others have some."""
        fed.waited = {}
        for lane in self._lanes:
            if lane is fed:
                continue
            lane.waited[fed.name] = waited = lane.waited.get(fed.name, 0) + ticks
            if waited > _SILENT_TICKS:
                raise BenchError(
                    f"the stream of {lane.name} is silent",
                    evidence=(
                        f"{waited / TICK_HZ:.1f} s of {fed.name} came since its last"
                        " block"
                    ),
                    try_next=(
                        "another USB port or cable; other streams of the instrument off"
                    ),
                )

    def _note_distrust(self, final: bool) -> None:
        if self._at is None:
            return
        waiting = []
        for span in self._distrusted:
            first = max(span.first // self._per - self._origin, 0)
            stop = -(-span.stop // self._per) - self._origin
            if stop > self._at - self._origin and not final:
                waiting.append(span)
                continue
            stop = min(stop, self._at - self._origin)
            if stop > first:
                self._writer.gap(Gap(first, stop, span.cause))
        self._distrusted = waiting


def _pieces(lane: _Lane, stop: int) -> list[NDArray[Any]]:
    """Take the readings of a lane up to a tick, in the pieces of their arrival."""
    return [part.data[first:last] for part, first, last in lane.take(stop)]


def _common(lanes: list[list[_Interval]]) -> Iterator[tuple[int, int, int]]:
    """Yield where all lanes have samples, from the first to the one after the last, and
    the base of the last lane's block there.
    """
    places = [0] * len(lanes)
    while all(place < len(lane) for place, lane in zip(places, lanes, strict=True)):
        parts = [lane[place] for place, lane in zip(places, lanes, strict=True)]
        first = max(part.first for part in parts)
        stop = min(part.stop for part in parts)
        if first < stop:
            yield first, stop, parts[-1].base
        ended = [part.stop == stop for part in parts]
        places[ended.index(True)] += 1


def _lacks(intervals: list[_Interval], first: int, stop: int) -> bool:
    """Check whether a sample first <= k < stop is in none of the intervals."""
    for interval in intervals:
        if interval.first <= first:
            first = max(first, interval.stop)
    return first < stop
