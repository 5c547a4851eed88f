# SPDX-License-Identifier: Apache-2.0
"""One recording of a Joulescope: its streams are taken from the driver's thread, merged
and written by an own one.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from drivers.block_lag import BlockLag
from drivers.joulescope.block import Readable, StreamBlock, unreadable
from drivers.joulescope.link import DriverLink
from drivers.joulescope.stream_merger import (
    CURRENT,
    SIGNALS,
    SYNC,
    TICK_HZ,
    VOLTAGE,
    Lanes,
)
from drivers.recording import ThreadRecording
from rig.errors import BenchError, RigError
from rig.simulation.world import NS_PER_S
from rig.trace.writer import TraceWriter

_POLL_S = 0.1
_FIRST_DATA_NS = 3 * NS_PER_S
_SILENCE_NS = 2 * NS_PER_S
#: By how much a stream may be shorter than the host's time, when all that was sampled
#: should have come; two clocks drift apart.
_SHORT_NS = 3 * NS_PER_S // 10
_DRIFT = 200e-6
#: A block may be under way for 50 ms, and only the least lag of the host is known: the
#: wait for the end is a little longer.
_DRAIN_TICKS = TICK_HZ // 50
_DRAIN_LIMIT_NS = NS_PER_S
#: So long a check waits for a warning that has come to be looked at.
_LOOK_LIMIT_S = 3.0
#: What js110_usb.c logs when packets are missing: it goes on counting samples as if
#: none were. Packets are counted in 16 bits. One that also tells their number (2.5.4;
#: 2.2.12 does not) counts them itself, up to `_FILLED`, as samples without a number.
_SKIP = "pkt_index skip"
_SKIPPED = re.compile(rf"{_SKIP}: expected (\d+), received (\d+)(?: \((\d+) frames\))?")
_FILLED = 512
_PACKETS = 1 << 16
_PACKET_TICKS = 126


@dataclass(frozen=True, slots=True)
class BlockPace:
    """Clock of this instrument: `sleep` (ns); `clock_ns`, host time; `live`: real time,
    which can be compared with the ids.

    `drains`: samples from before a stream is switched off still arrive (simulated); a
    real one drops its unfinished blocks.
    """

    sleep: Callable[[int], None]
    clock_ns: Callable[[], int]
    drains: bool
    live: bool = True


class JoulescopeRecording(ThreadRecording):
    """Thread that merges the instrument's three streams and appends them to the trace.

    `readable`: the valid readings of current and voltage, by default all.
    `tick_counts`: counts of `sample_id` in a tick.
    """

    def __init__(
        self,
        link: DriverLink,
        streams: dict[str, str],
        writer: Callable[[], TraceWriter],
        sample_ticks: int,
        pace: BlockPace,
        start_ns: int,
        watch_loss: bool,
        folder: Path,
        readable: Mapping[str, Readable] = MappingProxyType({}),
        tick_counts: int = 1,
    ) -> None:
        super().__init__(folder, "joulescope")
        self._link = link
        self._streams = streams
        self._new_writer = writer
        self._pace = pace
        self._start_ns = start_ns
        self._sample_ticks = sample_ticks
        self._tick_counts = tick_counts
        self._watch_loss = watch_loss
        self._readable = readable
        self._names = {
            f"{link.path}/{topic}/!data": signal for signal, topic in streams.items()
        }
        self._arrived: queue.Queue[tuple[str, Any, int] | None] = queue.Queue()
        self._receive = self._on_block
        self._log = _SkipLog(self._on_skip)
        self._skips_heard = self._skips_taken = 0
        self._skip_taken = threading.Condition()
        self._lag = BlockLag(TICK_HZ)
        self._losses_filled: list[str] = []  # as logged
        self._began_ns = self._last_ns = self._ended_ns = self._known_ns = 0
        self._target: int | None = None  # the last tick that all signals must reach

    def __enter__(self) -> JoulescopeRecording:
        self._writer = self._new_writer()
        self._lanes = Lanes(
            self._writer, self._sample_ticks, unreadable(self._readable)
        )
        self._began_ns = self._last_ns = self._pace.clock_ns()
        self._thread.start()
        if self._watch_loss:
            self._log.listen()
        try:
            for topic in self._streams.values():
                self._link.subscribe(f"{topic}/!data", self._receive)
            for topic in self._streams.values():
                self._link.set(f"{topic}/ctrl", 1)
            # An edge is found between two samples: there must be one before the first
            # edge.
            self._pace.sleep(self._start_ns)
            self._await_data()
        except BaseException:
            self._end(drain=False)
            raise
        return self

    def check(self) -> None:
        """Raise what went wrong in the recording so far."""
        with self._skip_taken:
            self._skip_taken.wait_for(
                lambda: (
                    self._skips_taken == self._skips_heard or self._failure is not None
                ),
                _LOOK_LIMIT_S,
            )
        super().check()
        if self._link.gone:
            raise self._link.lost()

    def _leave(self, kind: type[BaseException] | None) -> None:
        stopping = self._end(drain=True)
        if kind is None:
            self.check()
            if stopping is not None:
                raise stopping

    def _await_data(self) -> None:
        """Wait until all streams have begun; in a virtual world time passes only where
        the bench lets it, so not there.
        """
        if not self._pace.live:
            return
        began_ns = time.monotonic_ns()
        while self._lanes.missing:
            self.check()
            if time.monotonic_ns() - began_ns > _FIRST_DATA_NS:
                raise self._silent(self._lanes.missing)
            self._pace.sleep(NS_PER_S // 100)

    def _end(self, drain: bool) -> BenchError | None:
        """Stop the streams, end the thread and close the trace; return what went wrong
        in stopping.
        """
        stopping: BenchError | None = None
        try:
            if drain:
                self._ended_ns = self._pace.clock_ns()
                self._target = self._lag.tick_at(self._ended_ns)
            if drain and not self._pace.drains:
                self._drain()
            self._lanes.ending = True
            for topic in self._streams.values():
                try:
                    if not self._link.gone:
                        self._link.set(f"{topic}/ctrl", 0)
                except BenchError as error:
                    stopping = stopping or error
            for topic in self._streams.values():
                with suppress(BenchError):
                    self._link.unsubscribe(f"{topic}/!data", self._receive)
        finally:
            self._log.end()
            self._arrived.put(None)
            try:
                self._thread.join()
            finally:
                first = self._lanes.first_tick
                self._writer.said(
                    time_maps=self._lanes.maps.summary,
                    first_sample_counter=first and first * self._tick_counts,
                    repeated_blocks=self._lanes.repeated,
                    losses_filled=self._losses_filled,
                )
                self._writer.close()
        return stopping

    def _drain(self) -> None:
        """Wait until all that was sampled before this call has come."""
        began_ns = time.monotonic_ns()
        while self._lacks_samples():
            if time.monotonic_ns() - began_ns >= _DRAIN_LIMIT_NS:
                break
            self._pace.sleep(NS_PER_S // 100)

    def _lacks_samples(self) -> bool:
        """Whether samples before the end are still to come."""
        if self._target is None or self._failure is not None or self._link.gone:
            return False
        return min(self._lanes.stop_ticks.values()) < self._target + _DRAIN_TICKS

    def _on_block(self, topic: str, value: Any) -> None:
        # On the driver's only thread: slow work would hold up every other topic.
        if self._failure is None:
            self._arrived.put((topic, value, self._pace.clock_ns()))

    def _on_skip(self, message: str) -> None:
        self._skips_heard += 1
        self._arrived.put((_SKIP, message, 0))

    def _record(self) -> None:
        while True:
            try:
                item = self._arrived.get(timeout=_POLL_S)
            except queue.Empty:
                self._require_data()
                continue
            if item is None:
                break
            self._take(*item)
        self._finish()

    def _fail(self, error: BaseException) -> None:
        """Keep the error and the merged samples; later ones are dropped."""
        with self._skip_taken:
            super()._fail(error)
            self._skip_taken.notify_all()
        with suppress(RigError):
            self._lanes.finish()

    def _take(self, topic: str, value: Any, at_ns: int) -> None:
        if topic == _SKIP:
            self._insert(value)
            with self._skip_taken:
                self._skips_taken += 1
                self._skip_taken.notify_all()
            return
        signal = self._names[topic]
        block = StreamBlock.of(value).in_ticks(self._tick_counts)
        if signal in self._readable:
            block = self._readable[signal].believed(block)
        # A late thread catches up: writing several blocks at once costs less.
        self._lanes.feed(signal, block, more=not self._arrived.empty())
        self._last_ns = at_ns
        if signal == CURRENT:
            self._note(self._lag.arrived(self._lanes.stop_ticks[CURRENT], at_ns))

    def _insert(self, warning: str) -> None:
        skipped = _SKIPPED.search(warning)
        packets = (int(skipped[2]) - int(skipped[1])) % _PACKETS if skipped else 0
        if skipped and skipped[3] and int(skipped[3]) <= _FILLED:
            self._losses_filled.append(warning)
            return
        if self._log.alone:
            self._lanes.insert(
                packets * _PACKET_TICKS, f"the JS110 lost samples: {warning}"
            )
            return
        # It may have been the other: no sample is moved, but those around it are not to
        # be counted when the session goes on.
        self._lanes.insert(0, f"this or another JS110 lost samples: {warning}")
        raise BenchError(
            "one of several JS110 lost samples, and nothing tells which",
            evidence=f"the driver's log, which names no instrument: {warning}",
            try_next=(
                "another USB port or hub; one JS110 alone, or JS220s; rig resume"
                " SESSION goes on where it stopped"
            ),
        )

    def _note(self, loss: Any) -> None:
        # Virtual time leaps, so that the host's clock cannot time single blocks.
        if loss is not None and self._watch_loss and self._pace.live:
            self._known_ns += loss.lost_ns
            cause = (
                f"about {loss.lost_ns / 1e6:.0f} ms of samples are missing somewhere in"
                " here: the ids fell behind the host's clock"
            )
            self._lanes.distrust(loss.first_tick, loss.stop_tick, cause)

    def _finish(self) -> None:
        self._note(self._lag.last())
        self._lanes.finish()
        if self._link.gone:
            return
        if self._lanes.missing:
            raise self._silent(self._lanes.missing)
        self._require_whole()

    def _require_whole(self) -> None:
        """Raise BenchError for signals that ended before the recording did."""
        target = self._target
        first = self._lanes.first_tick
        if not self._pace.live and first is not None and self._ended_ns:
            # Virtual time leaps, and blocks come long after it: there the stream began
            # when it was asked to.
            target = first + (self._ended_ns - self._began_ns) * TICK_HZ // NS_PER_S
        if target is None:
            return
        short_ns = {
            signal: (target - stop) * NS_PER_S // TICK_HZ
            for signal, stop in self._lanes.stop_ticks.items()
        }
        allowed_ns = (
            _SHORT_NS + self._known_ns + _DRIFT * (self._last_ns - self._began_ns)
        )
        if ended := [signal for signal in SIGNALS if short_ns[signal] > allowed_ns]:
            raise BenchError(
                f"the Joulescope {self._link.path} sends no {' and no '.join(ended)}"
                " any more",
                evidence="; ".join(
                    f"{self._streams[each]}/!data is {short_ns[each] / 1e9:.2f} s short"
                    " of the recording"
                    for each in ended
                ),
                try_next=(
                    "another USB port or cable; unplug it and plug it in again; rig"
                    " resume SESSION goes on where it stopped"
                ),
            )

    def _require_data(self) -> None:
        if not self._pace.live or self._link.gone:
            return
        if self._pace.clock_ns() - self._last_ns > _SILENCE_NS + self._start_ns:
            raise self._silent(list(SIGNALS))

    def _silent(self, signals: list[str]) -> BenchError:
        return BenchError(
            f"the Joulescope {self._link.path} sends no {' and no '.join(signals)}",
            evidence="; ".join(
                f"{self._streams[signal]}/ctrl is on, {self._streams[signal]}/!data is"
                " silent"
                for signal in signals
            ),
            try_next=(
                "close other programs that use it; another USB port or cable; unplug it"
                " and plug it in again"
            ),
        )


class _SkipLog(logging.Handler):
    """Listener to the host driver's warnings of packets that a JS110 lost: the data do
    not show them."""

    def __init__(self, heard: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard
        self.alone = True

    def listen(self) -> None:
        """Begin; from then on none of several is alone: the log is one for all
        instruments and names none, and it may come late.
        """
        logger = logging.getLogger("jsdrv")
        others = [each for each in logger.handlers if isinstance(each, _SkipLog)]
        logger.addHandler(self)
        for each in others:
            each.alone = self.alone = False

    def end(self) -> None:
        """Hear no more."""
        logging.getLogger("jsdrv").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        message = record.getMessage()
        if _SKIP in message:
            self._heard(message)


def streams(gpi: int) -> dict[str, str]:
    """Return the topic of each signal."""
    return {CURRENT: "s/i", VOLTAGE: "s/v", SYNC: f"s/gpi/{gpi}"}
