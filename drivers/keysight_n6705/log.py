# SPDX-License-Identifier: Apache-2.0
"""One recording of a Keysight N6705: its external data log (ELOG), drained by an own
thread, its records counted against time.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.keysight_n6705.io_manager import IoManager
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from drivers.keysight_n6705.log_plan import LogClock, LogPlan
from drivers.keysight_n6705.log_rows import write_rows
from drivers.keysight_n6705.loss_by_clock import RecordLag
from drivers.recording import ThreadRecording, trace_writer
from rig.errors import BenchError, DeadlineError, RigError
from rig.host.stop import pause

#: The instrument holds about this much; records not fetched by then are overwritten
#: (N6700C and N6705 user's guides, External Data Logging). No error of its queue is
#: documented for that.
FIFO_S = 20.0
#: Records may lag behind the clock by this much, under way or delayed by a busy
#: machine.
_LAG_S = 2.0
_LAG_SHARE = 0.02
#: Channels that end together have equally many records, apart from a few in between; if
#: an ended log can no longer be read, they differ by as much as their last fetches.
_ENDED_S = 1e-3
_SKEW_S = 0.05
_FIRST_RECORD_S = 2.0
_PAUSE_S = 0.005
#: Virtual time is held for a fetch so often: a device that takes no time would be
#: through before the first.
_HOLD_S = 0.02
#: Fetches at the same phase of the instrument's rhythm would all be late by the same
#: time.
_UNEVEN = (0.6, 1.4)
_STALE = -230


class LogRecording(ThreadRecording):
    """Starts the log, drains it and ends it; the trace is closed under its name in any
    case."""

    def __init__(
        self,
        plan: LogPlan,
        link: ScpiLink,
        clock: LogClock,
        folder: Path,
        io_manager: IoManager | None,
    ) -> None:
        super().__init__(folder, "keysight n6705 log")
        self._plan = plan
        self._link = link
        self._clock = clock
        self._io_manager = io_manager
        self._most = max(math.ceil(2 * plan.fetch_s / plan.period_s), 16)
        self._armed_s = 0.0
        self._begun_s: float | None = None
        self._fetched_s = self._answered_s = self._held_s = 0.0
        self._lag = RecordLag(plan.period_s, None if clock.jumps else plan.held_back_s)
        # Virtual time and its records go on in turns: so they can be counted against
        # it.
        self._in_turns = plan.stamped and clock.jumps
        self._received = {plan.channel: 0}
        if plan.sync_channel is not None:
            self._received |= {plan.sync_channel: 0}
        self._waiting: dict[int, NDArray[np.float64]] = {}
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._turn_over = threading.Event()
        self._end_watch: Callable[[], None] = lambda: None
        self._ended = False

    def __enter__(self) -> LogRecording:
        self._writer = trace_writer(self._folder, self._plan.info, self._plan.about)
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def _leave(self, kind: type[BaseException] | None) -> None:
        self._end()

    def _start(self) -> None:
        plan = self._plan
        if self._io_manager is not None:
            self._io_manager.begin()
        if plan.supply is not None:
            plan.supply.forget(self._link)
        if self._in_turns and self._clock.watch is not None:
            # Before that of a simulated instrument, which waits for a fetch.
            self._end_watch = self._clock.watch(self._hold)
        self._link.do(f"INIT:ELOG {plan.channels}", "start of the log")
        self._armed_s = self._clock.now_s()
        if not plan.stamped:
            self._begin(self._clock.now_s())
            self._link.do(f"TRIG:ELOG {plan.channels}", "trigger of the log")
            # An edge is found between two samples: there must be some before the first
            # edge.
            self._clock.wait(plan.start_s)
            deadline_s = time.monotonic() + _FIRST_RECORD_S
            while not all(self._received.values()):
                if time.monotonic() > deadline_s:
                    raise DeadlineError(
                        "first record of the data log",
                        _FIRST_RECORD_S,
                        evidence=f"records by channel: {self._received}",
                        try_next=(
                            "the instrument's front panel: is another data log or a "
                            "measurement of its own running?"
                        ),
                    )
                self._fetch()
                pause(_PAUSE_S)
        self._thread.start()

    def _end(self) -> None:
        self._end_watch()
        self._stop.set()
        self._wake.set()
        try:
            if self._thread.ident is not None:
                self._thread.join()
            else:
                self._abort()
        finally:
            self._writer.close()

    def _work(self) -> None:
        super()._work()
        self._ended = True
        self._turn_over.set()

    def _record(self) -> None:
        try:
            while not self._stop.is_set():
                if self._in_turns:
                    self._wake.wait()
                    self._wake.clear()
                while self._drain() and not self._stop.is_set():
                    pass
                if self._in_turns:
                    self._turn_over.set()
                else:
                    self._stop.wait(self._plan.fetch_s * random.uniform(*_UNEVEN))
            self._finish()
        except BaseException:
            self._abort()
            raise

    def _hold(self) -> None:
        """Hold virtual time until all records up to now are fetched."""
        if self._clock.now_s() - self._held_s < _HOLD_S or self._thread.ident is None:
            return
        self._held_s = self._clock.now_s()
        self._turn_over.clear()
        if not self._ended:
            self._wake.set()
            self._turn_over.wait()

    def _finish(self) -> None:
        """Take the records from before this call and end the log."""
        while self._drain():
            pass
        while self._plan.stamped and not self._clock.jumps and self._lag.doubtful:
            self._clock.wait(self._plan.fetch_s * random.uniform(*_UNEVEN))
            self._drain()
        self._link.do(f"ABOR:ELOG {self._plan.channels}", "end of the log")
        # Whether a log that has ended can still be read is not documented: what matters
        # has been taken.
        before = sum(self._received.values())
        while self._fetch():
            pass
        readable = self._clock.jumps or sum(self._received.values()) > before
        if self._io_manager is not None:
            self._io_manager.settle()
            self._stamp()
        counts = list(self._received.values())
        skew_s = _ENDED_S + 2 * self._plan.period_s if readable else _SKEW_S
        if (max(counts) - min(counts)) * self._plan.period_s > skew_s:
            raise self._lost(f"records by channel at the end: {self._received}")
        if self._plan.stamped and not counts[0]:
            raise DeadlineError(
                "trigger of the data log",
                self._clock.now_s() - self._armed_s,
                evidence="not one record",
                try_next="is SYNC wired to the trigger input?",
            )

    def _abort(self) -> None:
        # The first error is the one to report.
        with suppress(RigError):
            self._link.do(f"ABOR:ELOG {self._plan.channels}", "end of the log")

    def _drain(self) -> bool:
        """Fetch once and judge; return whether there was as much as was asked for: then
        there is more.
        """
        before_s = self._clock.now_s()
        if (
            self._begun_s is not None
            and not self._clock.jumps
            and before_s - self._fetched_s > FIFO_S
        ):
            raise self._lost(
                f"{before_s - self._fetched_s:.1f} s between two fetches, the buffer"
                f" holds {FIFO_S:g} s"
            )
        full = self._fetch()
        # Not the time after it: records may be overwritten while a fetch is under way.
        self._fetched_s = before_s
        self._link.require_no_errors("the data log under way", "FETC:ELOG?")
        self._stamp()
        if full:
            self._require_held(before_s)
        else:
            self._require_whole(before_s)
            self._judge(before_s)
        return full

    def _fetch(self) -> bool:
        plan = self._plan
        full = False
        for channel in self._received:
            try:
                values = self._link.block(
                    f"FETC:ELOG? {self._most},(@{channel})", "fetching records"
                )
            except CommandRefused as refused:
                if refused.code != _STALE or (
                    self._begun_s is not None and not self._stop.is_set()
                ):
                    raise
                values = np.zeros(0)
            # Current comes first in a record: N6705C operating guide, Retrieve the
            # Data.
            width = 2 if channel == plan.channel else 1
            if len(values) % width:
                raise self._lost(f"{len(values)} numbers where records have {width}")
            records = values.reshape(-1, width)
            self._received[channel] += len(records)
            before = self._waiting.get(channel, np.zeros((0, width)))
            self._waiting[channel] = np.concatenate([before, records])
            full = full or len(records) >= self._most
        self._answered_s = self._clock.now_s()
        if plan.stamped and self._received[plan.channel]:
            self._begin_before(
                self._answered_s - self._received[plan.channel] * plan.period_s
            )
        self._write()
        return full

    def _begin(self, at_s: float) -> None:
        self._begun_s = self._fetched_s = at_s

    def _begin_before(self, at_s: float) -> None:
        """Take until when a log that waited for an edge had begun: the first fetch need
        not have had all that there was.
        """
        if self._begun_s is not None:
            self._begun_s = min(at_s, self._begun_s)
            return
        self._begin(at_s)
        if self._plan.sync == "trigger":
            self._writer.stamp(0.0)

    def _write(self) -> None:
        """Write the records that all channels have delivered."""
        plan = self._plan
        count = min(len(rows) for rows in self._waiting.values())
        if not count:
            return
        taken = {channel: rows[:count] for channel, rows in self._waiting.items()}
        self._waiting = {
            channel: rows[count:] for channel, rows in self._waiting.items()
        }
        first = self._writer.samples
        rows = taken[plan.channel]
        sync_v = None if plan.sync_channel is None else taken[plan.sync_channel][:, 0]
        write_rows(self._writer, rows, sync_v)
        if plan.supply is not None:
            # An output takes its time to rise; a log that waits for an edge begins long
            # after.
            settled = 0 if plan.stamped else round(plan.start_s / plan.period_s) - first
            plan.supply.require_held(self._link, rows[max(settled, 0) :])

    def _stamp(self) -> None:
        # Until there are none: later errors are reported last.
        while self._io_manager is not None and (stamps_s := self._io_manager.take()):
            for at_s in stamps_s:
                self._writer.stamp(at_s)

    def _require_held(self, before_s: float) -> None:
        """Raise where more has not been fetched yet than the buffer holds."""
        if self._begun_s is None or self._clock.jumps:
            return
        behind_s = (
            before_s
            - self._begun_s
            - min(self._received.values()) * self._plan.period_s
        )
        if behind_s > FIFO_S:
            raise self._lost(
                f"the records fetched are {behind_s:.1f} s behind, the buffer holds"
                f" {FIFO_S:g} s"
            )

    def _require_whole(self, before_s: float) -> None:
        """Raise where records are missing that no edge among them would show to be; the
        buffer was empty after `before_s`.
        """
        plan = self._plan
        if not plan.stamped or not self._received[plan.channel]:
            return
        self._lag.emptied(self._received[plan.channel], before_s, self._answered_s)
        missing = self._lag.missing(ended=self._stop.is_set())
        if missing is None:
            return
        count = math.ceil(missing.missing_s / plan.period_s)
        evidence = (
            f"records missing behind record {missing.after}: {count} or more, "
            f"{missing.missing_s * 1e3:.3g} ms by the host's clock"
        )
        raise (
            self._stretched(missing.stretch, evidence)
            if missing.stretch
            else self._lost(evidence)
        )

    def _judge(self, before_s: float) -> None:
        """Compare the records with the time that they took; the buffer was empty after
        `before_s`."""
        counts = list(self._received.values())
        period_s = self._plan.period_s
        if self._begun_s is None:
            return
        if (max(counts) - min(counts)) * period_s > _LAG_S:
            raise self._lost(f"records by channel: {self._received}")
        elapsed_s = before_s - self._begun_s
        logged_s = min(counts) * period_s
        if abs(elapsed_s - logged_s) <= _LAG_S + _LAG_SHARE * elapsed_s:
            return
        raise self._stretched(
            elapsed_s / logged_s if logged_s else math.inf,
            f"{min(counts)} records of {period_s * 1e6:.2f} us in {elapsed_s:.1f} s",
        )

    def _stretched(self, times: float, evidence: str) -> BenchError:
        return BenchError(
            f"the N6705 logs {times:.{2 if abs(times - 1) > 0.01 else 4}f} s for each"
            " second its period says",
            evidence=evidence,
            try_next=(
                "1.33, 1.5 or 2 times: another channel or function is being logged too,"
                " and its time is taken from these; else records were lost: nothing"
                " after this point is where it seems"
            ),
        )

    def _lost(self, evidence: str) -> BenchError:
        # How many were lost is known no better than the host's clock is: a gap of a
        # guessed length would shift all that follows.
        return BenchError(
            "the N6705 has overwritten records before they were fetched",
            evidence=evidence,
            try_next=(
                "a faster connection or a machine less loaded; period_s larger makes"
                " fewer records"
            ),
        )
