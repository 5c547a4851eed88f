# SPDX-License-Identifier: Apache-2.0
"""Base class of the recordings of instruments that send their samples over a serial
port."""

from __future__ import annotations

import dataclasses
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from drivers.recording import ThreadRecording, trace_writer
from rig.errors import RigError
from rig.host.raw_clock import raw_monotonic_ns
from rig.host.stop import pause
from rig.interfaces.monitor import MonitorInfo
from rig.simulation.world import NS_PER_S, World
from rig.trace.writer import TraceWriter

#: Largest difference of the clocks of instrument and host.
CLOCK_SHARE = 1e-3
#: A stream that brings no sample for so long has brought all that is under way.
_STILL_S = 0.3
_POLL_S = 0.005


class ByteStream(Protocol):
    """The open port of an instrument."""

    def stream(self) -> bytes:
        """Return the bytes of some 50 ms; raises DeviceLost."""

    def drain(self) -> int:
        """End a measurement and drop its bytes; return their number."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordingClock:
    """Clock of a recording: the wait (ns), the present time (ns), and whether time goes
    by itself."""

    wait: Callable[[int], None]
    now_ns: Callable[[], int]
    live: bool

    @classmethod
    def of(cls, world: World, *, simulated: bool) -> RecordingClock:
        """Return the world's clock for a simulated instrument, else the host's."""
        if simulated:
            return cls(world.wait, world.now_ns, world.live)
        return cls(
            lambda duration_ns: pause(duration_ns / NS_PER_S), raw_monotonic_ns, True
        )


class StreamRecording(ThreadRecording):
    """One measurement: a thread takes the stream apart and appends it to the trace.

    `settings` are stored with the trace; their `start_s` lies before the first
    measurement. `_begun_ns` is the time after the command to start. `_findings` are
    stored at the end. `corrected`: it writes currents that the monitor's calibration
    has corrected.
    """

    corrected: ClassVar[bool] = False

    def __init__(
        self,
        stream: ByteStream | None,
        info: MonitorInfo,
        folder: Path,
        clock: RecordingClock,
        settings: Any,
    ) -> None:
        super().__init__(folder, info.name)
        self._stream_of = stream
        self._info = info
        self._clock = clock
        self._settings = settings
        self._begun_ns = 0
        self._began = threading.Event()
        self._stop = threading.Event()
        self._open_writer: TraceWriter | None = None

    @abstractmethod
    def _begin(self) -> None:
        """Start the stream and the thread, and wait for the first samples."""

    def _await_all(self) -> None:
        """Wait until all samples up to now have come, or until no more come."""
        passed_s = (self._clock.now_ns() - self._begun_ns) / NS_PER_S
        due = int(passed_s * (1 - CLOCK_SHARE) * self._info.sample_hz) - 1
        arrived = -1
        moved_s = time.monotonic()
        while self._failure is None and self._writer.samples < due:
            if self._writer.samples != arrived:
                arrived = self._writer.samples
                moved_s = time.monotonic()
            if time.monotonic() - moved_s > _STILL_S:
                return
            time.sleep(_POLL_S)

    @abstractmethod
    def _findings(self) -> dict[str, Any]:
        """Return the facts of the recording that its end determines."""

    @property
    def _complete(self) -> bool:
        """Whether the instrument has ended the stream."""
        return self._started

    def _request_end(self) -> None:
        """Ask the instrument to end the stream, where the thread does not."""

    def _verify(self) -> None:
        """Check the instrument's state after the stream."""

    def __enter__(self) -> Self:
        info = self._info
        settings = dataclasses.asdict(self._settings)
        self._open_writer = trace_writer(
            self._folder,
            info,
            {"details": info.details, "settings": settings},
            self.corrected,
        )
        try:
            self._begin()
            self._clock.wait(round(self._settings.start_s * NS_PER_S))
            self.check()
        except BaseException:
            self.end()
            raise
        return self

    @property
    def running(self) -> bool:
        """Whether the trace is still open."""
        return self._open_writer is not None

    @property
    def _writer(self) -> TraceWriter:
        assert self._open_writer is not None
        return self._open_writer

    @property
    def _started(self) -> bool:
        return self._thread.ident is not None

    def _leave(self, kind: type[BaseException] | None) -> None:
        try:
            if kind is None:
                self._await_all()
        finally:
            self.end()

    def end(self) -> None:
        """Stop the measurement, take the remaining samples, and close the trace; ending
        twice is allowed."""
        if self._open_writer is None:
            return
        try:
            self._stop.set()
            if self._started:
                self._request_end()
                self._thread.join()
            if self._failure is not None or not self._complete:
                self._drain()
            self._verify()
        finally:
            writer = self._writer
            self._open_writer = None
            writer.said(**self._findings())
            writer.close()

    @property
    def _source(self) -> ByteStream:
        assert self._stream_of is not None
        return self._stream_of

    def _drain(self) -> None:
        try:
            self._source.drain()
        except RigError as error:
            self._failure = self._failure or error

    def _work(self) -> None:
        super()._work()
        self._began.set()
        if self._failure is not None:
            self._discard()

    def _discard(self) -> None:
        """Read the stream to its end without storing it: an instrument without a
        reader would hold up a simulated bench."""
        with suppress(RigError):
            while not self._stop.is_set():
                self._source.stream()
