# SPDX-License-Identifier: Apache-2.0
"""Edges as an EEMBC IO Manager stamps them: a microcontroller between DUT and N6705,
with a clock of its own and a serial port.

Its first edge also starts the log of the N6705 (its trigger output on the rear BNC):
that stamp is time 0 of the trace.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import serial
from annotated_types import Gt, Unit, doc

from rig.errors import BenchError, DeviceLost, DeviceNotFound, RemoteProtocolError
from rig.settings.declare import DEVICE

#: Message of an IO Manager for a falling edge: ^m-lap-us-([0-9]+)$ in EEMBC's runner.
#: Its other messages are ignored.
_LAP = re.compile(rb"m-lap-us-([0-9]+)")
_WRAP_US = 1 << 32
#: micros() of the microcontroller counts in steps of this.
STEP_S = 4e-6


@dataclass(frozen=True, slots=True)
class IoManagerSettings:
    """Settings of an IO manager: its port, and the limit of error of its clock.

    Makers of ceramic resonators state 5000 ppm, as on an Arduino Uno; a crystal has
    100. Stamps drift against the samples by that much.
    """

    port: Annotated[str, DEVICE, doc("Serial device, or URL as pyserial takes it.")] = (
        ""
    )
    baud: Annotated[int, Gt(0), Unit("Bd"), doc("Line rate.")] = 9600
    ppm: Annotated[
        float,
        Gt(0),
        Unit("ppm"),
        doc("Limit of error of its clock against the N6705's."),
    ] = 5000.0
    longest_s: Annotated[
        float,
        Gt(0),
        Unit("s"),
        doc("No stamp is taken later than this after the first."),
    ] = 10.0
    quiet_s: Annotated[
        float, Gt(0), Unit("s"), doc("No line comes later than this after its edge.")
    ] = 0.2

    @property
    def drift_s(self) -> float:
        """The limit of how far a stamp lies off the samples."""
        return self.ppm * 1e-6 * self.longest_s + 2 * STEP_S


class IoManager:
    """Reads stamps in an own thread; raises DeviceNotFound when opened, and from `take`
    what went wrong.
    """

    def __init__(self, settings: IoManagerSettings) -> None:
        self._settings = settings
        try:
            self._port = serial.serial_for_url(
                settings.port, baudrate=settings.baud, timeout=0.02
            )
        except (OSError, ValueError) as error:
            raise DeviceNotFound(
                f"no IO manager at {settings.port!r}",
                evidence=str(error),
                try_next="io_manager.port: rig scan lists the ones there are",
            ) from error
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stamps_s: list[float] = []
        self._origin_us: int | None = None
        self._last_us = 0
        self._partial = b""
        self._heard = time.monotonic()
        self._failure: Exception | None = None
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._read, name="keysight n6705 io manager", daemon=True
        )
        self._thread.start()

    def begin(self) -> None:
        """Forget all edges so far: the next one is the first."""
        with self._lock:
            self._stamps_s = []
            self._origin_us = None
            self._last_us = 0

    def take(self) -> list[float]:
        """Return and forget the stamps that have come, in seconds of the IO manager
        after its first one; those before a failure first.
        """
        with self._lock:
            if self._failure is not None and not self._stamps_s:
                raise self._failure
            stamps_s = self._stamps_s
            self._stamps_s = []
        return stamps_s

    def settle(self) -> None:
        """Wait until no more messages of past edges can arrive."""
        begin = time.monotonic()
        while (
            time.monotonic() - max(self._heard, begin) < self._settings.quiet_s
            and self._failure is None
        ):
            self._stop.wait(0.01)

    def close(self) -> None:
        """End the thread and let go of the port; closing twice is allowed."""
        self._stop.set()
        self._thread.join()
        with suppress(OSError):
            self._port.close()

    def _read(self) -> None:
        try:
            while not self._stop.is_set():
                # No more than is available: the bytes of an incomplete read are lost
                # when the port fails.
                block = self._port.read(max(self._port.in_waiting, 1))
                if block:
                    self._heard = time.monotonic()
                    *lines, self._partial = (self._partial + block).split(b"\n")
                    with self._lock:
                        for line in lines:
                            self._line(line.strip())
        except (OSError, serial.SerialException) as error:
            self._failure = DeviceLost(
                "the IO manager is gone",
                evidence=str(error),
                try_next="its cable; edges since then have no time",
            )
        except (BenchError, RemoteProtocolError) as error:
            self._failure = error

    def _line(self, line: bytes) -> None:
        stamp = _LAP.fullmatch(line)
        if stamp is None:
            if b"lap" in line:
                raise RemoteProtocolError(
                    "an edge of the IO manager has no time",
                    evidence=repr(line[:80]),
                    try_next=(
                        "its baud rate and cable; another program on the same port?"
                    ),
                )
            return
        stamp_us = int(stamp[1])
        if self._origin_us is None:
            self._origin_us = self._last_us = stamp_us
        # It counts in 32 bits: the difference to the one before is right for 71
        # minutes.
        self._last_us += (stamp_us - self._last_us) % _WRAP_US
        at_s = (self._last_us - self._origin_us) * 1e-6
        if at_s > self._settings.longest_s:
            raise BenchError(
                f"an edge {at_s:.1f} s after the first: its place among the samples is"
                " not known well enough",
                evidence=(
                    f"io_manager.longest_s is {self._settings.longest_s:g}, ppm "
                    f"{self._settings.ppm:g}"
                ),
                try_next=(
                    'shorter trials, or sync = "voltage"; a larger longest_s makes'
                    " edges and results less certain"
                ),
            )
        self._stamps_s.append(at_s)
