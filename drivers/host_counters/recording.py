# SPDX-License-Identifier: Apache-2.0
"""Record an energy counter of the host: a thread that polls it, and the clock it polls
by."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from drivers.host_counters.grid import CounterGrid
from drivers.recording import ThreadRecording
from rig.errors import BenchError, DeadlineError
from rig.host.stop import pause
from rig.simulation.world import NS_PER_S
from rig.trace.writer import TraceWriter

#: A power sensor has no voltage of its own: 1 V stands in, so that a sample of current
#: in A is the power in W.
STAND_IN_V = 1.0
STAND_IN = (
    "a power sensor: 1 V stands in, so current in A is power in W and has no other"
    " meaning"
)
ALWAYS_ON = "a host cannot be switched off from itself: power() does nothing"
_FLOW_LIMIT_S = 5.0
_TOO_SLOW = 20
#: Samples of so much time are written together: the host that is measured has less to
#: do.
_TOGETHER_S = 0.05


class Counter(Protocol):
    """A counter that is polled. `always_moves`: it never stands still for long, so only
    readings that found it changed say when energy flowed.
    """

    name: str
    always_moves: bool

    def count(self) -> int:
        """Read the counter; raises BenchError."""

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return the energy between two readings; raises BenchError where there can be
        none such.
        """


class NamedChannel:
    """Name of a source whose recording takes events in place of polling."""

    always_moves = False

    def __init__(self, name: str) -> None:
        self.name = name

    def count(self) -> int:
        """Return 0: it is not polled."""
        return 0

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        """Return 0: it is not polled."""
        return 0.0


class CounterClock(Protocol):
    """The clock that readings are stamped with."""

    @property
    def prompt(self) -> bool:
        """Whether events can be read at once."""

    def now_ns(self) -> int:
        """Return the present time."""

    def read_ns(self) -> int:
        """Return the time of the last readable event."""

    def let_pass(self, duration_ns: int) -> None:
        """Let time pass, in the thread of the caller."""

    def wait_until(self, time_ns: int, sooner: threading.Event | None) -> None:
        """Wait until what happened at a time can be read, or until `sooner` is set."""

    def watch(self, working: Callable[[], bool]) -> Callable[[], None]:
        """Limit the lag of a polling thread while `working` returns true; return a
        function that ends it."""

    def doubts(self) -> Iterable[tuple[int, int, str]]:
        """Return and clear the spans of doubtful readings, each with its cause."""


class HostClock:
    """CLOCK_MONOTONIC, the clock of a program's marks on the same host."""

    prompt = True

    def now_ns(self) -> int:
        """Return the present time."""
        return time.monotonic_ns()

    def read_ns(self) -> int:
        """Return the present time."""
        return time.monotonic_ns()

    def let_pass(self, duration_ns: int) -> None:
        """Sleep."""
        pause(duration_ns / NS_PER_S)

    def wait_until(self, time_ns: int, sooner: threading.Event | None) -> None:
        """Wait for a time, or for `sooner`."""
        (sooner or threading.Event()).wait(
            max(time_ns - time.monotonic_ns(), 0) / NS_PER_S
        )

    def watch(self, working: Callable[[], bool]) -> Callable[[], None]:
        """Return a function without effect: real time cannot be held."""
        return lambda: None

    def doubts(self) -> Iterable[tuple[int, int, str]]:
        """Return no spans."""
        return ()


@dataclass(frozen=True, slots=True)
class Polling:
    """The polling of a counter and the limits of trusted readings.

    `longest_s` between two readings makes a gap. A reading that took more than
    `spread_s` is left out: its time is not known, and the next one has its energy as
    well. A counter that always moves and has stood still for `stuck_s` is broken.
    `start_s`: time before the first measurement; `lag_s`: largest delay of the counter.
    """

    poll_hz: int
    longest_s: float
    spread_s: float
    start_s: float
    lag_s: float
    stuck_s: float = 1.0


class CounterRecording(ThreadRecording):
    """One recording: a thread that polls the counter and appends samples to the
    trace."""

    def __init__(
        self,
        counter: Counter,
        clock: CounterClock,
        polling: Polling,
        folder: Path,
        source: str,
        serial: str,
        about: dict[str, Any],
    ) -> None:
        super().__init__(folder, f"poll {counter.name}")
        self._counter = counter
        self._clock = clock
        self._polling = polling
        self._source = source
        self._serial = serial
        self._about = about
        self._grid = CounterGrid(polling.poll_hz, polling.longest_s)
        self._writer: TraceWriter | None = None
        self._unwritten_w: list[float] = []
        # time and count of the last trusted reading
        self._last: tuple[int, int] | None = None
        self._moved_ns = 0
        self._energy_j = 0.0
        self._slow = 0
        self.discarded = 0
        self._stop_ns: int | None = None
        self._stopping, self._flowing = threading.Event(), threading.Event()
        self._end_watch: Callable[[], None] = lambda: None

    def __enter__(self) -> CounterRecording:
        self._start_ns = self._clock.now_ns()
        self._thread.start()
        self._end_watch = self._clock.watch(self._thread.is_alive)
        try:
            # One reading to begin with, one that finds it moved, and one that completes
            # a sample.
            start_s = self._polling.start_s + 3 / self._polling.poll_hz
            self._clock.let_pass(round(start_s * NS_PER_S))
            if self._clock.prompt:
                self._await_flow()
            self.check()
        except BaseException:
            self._end()
            raise
        return self

    def _leave(self, kind: type[BaseException] | None) -> None:
        try:
            if kind is None and self._failure is None:
                # The last whole sample must reach beyond this moment, and the counter
                # must show it.
                self._clock.let_pass(
                    round((1 / self._polling.poll_hz + self._polling.lag_s) * NS_PER_S)
                )
        finally:
            self._end()

    def _await_flow(self) -> None:
        """Let time pass until there is a sample: a counter may be updated rarely."""
        for _ in range(math.ceil(_FLOW_LIMIT_S * self._polling.poll_hz)):
            if self._flowing.is_set():
                return
            self._clock.let_pass(round(NS_PER_S / self._polling.poll_hz))
        if not self._flowing.is_set():
            raise DeadlineError(
                f"reading of {self._counter.name}",
                _FLOW_LIMIT_S,
                try_next="read it by hand: is it alive?",
            )

    def _end(self) -> None:
        self._stop_ns = self._clock.now_ns()
        self._stopping.set()
        try:
            self._thread.join()
        finally:
            self._end_watch()
            if self._writer is not None:
                self._writer.close()

    def _work(self) -> None:
        super()._work()
        self._flowing.set()

    def _record(self) -> None:
        try:
            self._poll_on()
        finally:
            self._write()

    def _poll_on(self) -> None:
        period_ns = NS_PER_S / self._polling.poll_hz
        number = 0
        while True:
            self._reach(self._start_ns + round(number * period_ns))
            self._poll()
            reached_ns = self._clock.read_ns()
            if self._stop_ns is not None and reached_ns >= self._stop_ns:
                return
            # After a delay readings are left out: a burst of them would add no
            # information.
            number = max(number, int((reached_ns - self._start_ns) / period_ns)) + 1

    def _reach(self, due_ns: int) -> None:
        self._clock.wait_until(due_ns, self._stopping)
        if self._stop_ns is not None:
            self._clock.wait_until(min(due_ns, self._stop_ns), None)

    def _poll(self) -> None:
        before_ns = self._clock.read_ns()
        count = self._counter.count()
        after_ns = self._clock.read_ns()
        if after_ns - before_ns > self._polling.spread_s * NS_PER_S:
            self._discard((after_ns - before_ns) / NS_PER_S)
            return
        self._slow = 0
        time_ns = (before_ns + after_ns) // 2
        if self._last is None:
            self._last = (time_ns, count)
            self._moved_ns = time_ns
            if not self._counter.always_moves:
                self._put(time_ns)
            return
        last_ns, last_count = self._last
        if time_ns <= last_ns:
            return
        self._energy_j += self._counter.energy_j(
            last_count, count, (time_ns - last_ns) / NS_PER_S
        )
        self._last = (time_ns, count)
        if count != last_count or not self._counter.always_moves:
            self._moved_ns = time_ns
            self._put(time_ns)
        elif time_ns - self._moved_ns > self._polling.stuck_s * NS_PER_S:
            raise BenchError(
                f"{self._counter.name} stands still",
                evidence=(
                    f"{count} for {(time_ns - self._moved_ns) / NS_PER_S:.1f} s, while"
                    " the host works"
                ),
                try_next=(
                    "a virtual machine may show a dead counter; reload the driver of"
                    " the counter, or use another domain"
                ),
            )

    def _discard(self, took_s: float) -> None:
        self.discarded += 1
        self._slow += 1
        if self._slow >= _TOO_SLOW:
            limit_ms = self._polling.spread_s * 1e3
            raise BenchError(
                f"{self._counter.name} cannot be read in time",
                evidence=(
                    f"{self._slow} readings in a row took more than {limit_ms:g} ms,"
                    f" the last {took_s:.3f} s"
                ),
                try_next=(
                    "leave a core of the host to the rig, or poll less often (poll_hz)"
                ),
            )

    def _put(self, time_ns: int) -> None:
        samples_w = self._grid.put(time_ns, self._energy_j)
        for from_ns, to_ns, cause in self._clock.doubts():
            self._grid.doubt(from_ns, to_ns, cause)
        if self._writer is None:
            self._writer = self._opened(time_ns)
        self._unwritten_w += samples_w.tolist()
        if len(self._unwritten_w) >= _TOGETHER_S * self._polling.poll_hz:
            self._write()
        for gap in self._grid.gaps():
            self._writer.gap(gap)
        if len(samples_w):
            self._flowing.set()

    def _write(self) -> None:
        if self._writer is None:
            return
        samples_w = np.array(self._unwritten_w, dtype=np.float32)
        self._unwritten_w = []
        voltages_v = np.full(len(samples_w), STAND_IN_V, dtype=np.float32)
        self._writer.analog(samples_w / np.float32(STAND_IN_V), voltages_v)

    def _opened(self, start_ns: int) -> TraceWriter:
        """Open the trace when its time 0 is known: who aligns marks of the host with it
        needs that in the file.
        """
        return TraceWriter(
            self._folder,
            sample_hz=self._polling.poll_hz,
            edge_hz=self._polling.poll_hz,
            source=self._source,
            serial=self._serial,
            about=self._about | {"start_monotonic_ns": start_ns, "voltage": STAND_IN},
            sync_kind="clock",
        )
