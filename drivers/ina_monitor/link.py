# SPDX-License-Identifier: Apache-2.0
"""The lines of the firmware ina_monitor (docs/reference/INA_MONITOR.md): each ends with
the sum of its characters.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import serial

from drivers.serial_stream import gathered
from rig.errors import BenchError, DeadlineError, RemoteProtocolError
from rig.host.serial_port import SerialPort, Use
from rig.interfaces.contact import Conversation, Heard, unheard

ANSWER_S = 2.0
#: An AVR board restarts when its port is opened; its boot loader takes a second or two.
_BOOT_S = 6.0
_ASK_AGAIN_S = 1.0
_READ_S = 0.05
_QUIET_S = 0.1
_DRAIN_S = 5.0
TRY = "look at the cable and at the port's name; is firmware/ina_monitor on the board?"
_GREETING = re.compile(r"neurorig ina-monitor 1 (\S+)")
_LINE = re.compile(rb"([ -)+-~]+)\*([0-9A-F]{2})")


def conversation(port: str, baud: int) -> Conversation:
    """Return how the board is talked to."""
    return Conversation(
        "ina_monitor",
        f"serial text, {baud} Bd",
        port,
        versions={"pyserial": serial.__version__},
    )


def content(line: bytes) -> str | None:
    """Return a line without its sum; None where it is damaged."""
    match = _LINE.fullmatch(line)
    if match is None or sum(match[1]) & 0xFF != int(match[2], 16):
        return None
    return match[1].decode("ascii")


class InaLink:
    """Open port of one board."""

    def __init__(self, port: SerialPort) -> None:
        self._port = port
        self._pending = b""

    @classmethod
    def open(cls, url: str, baud: int, heard: Heard = unheard) -> InaLink:
        """Open `url`; raises DeviceNotFound, DeviceBusy or ConfigError."""
        use = Use("monitor.ina_monitor", TRY, TRY)
        return cls(SerialPort.open(url, baud, heard, use))

    def stream(self) -> bytes:
        """Return the bytes of some 50 ms; raises DeviceLost once none are left."""
        pending, self._pending = self._pending, b""
        return pending or gathered(self._port)

    def send(self, text: str) -> None:
        """Send a command; raises DeviceLost, or DeadlineError when no byte is taken."""
        self._port.write(text.encode("ascii") + b"\n")

    def command(self, text: str) -> str:
        """Send a command; return its answer without its letter. Raises BenchError
        where it is refused and DeadlineError where no answer comes.
        """
        self.send(text)
        for line in self._lines(ANSWER_S):
            if line.startswith(text[0]):
                return line[1:]
            if line == "?":
                raise BenchError(
                    f"the board refuses {text!r}",
                    try_next="flash the firmware of this version of the rig",
                )
        raise DeadlineError(f"answer of the board to {text!r}", ANSWER_S, try_next=TRY)

    def greet(self) -> str:
        """Ask until the board answers; return the build of its firmware."""
        end_s = time.monotonic() + _BOOT_S
        while time.monotonic() < end_s:
            # The end of a line that was cut off, and of a measurement.
            self.send("\nx")
            self.send("v")
            for line in self._lines(_ASK_AGAIN_S):
                if match := _GREETING.fullmatch(line[1:]):
                    self.drain()
                    return match[1]
        raise RemoteProtocolError(
            f"no ina_monitor answers at {self._port.name}", try_next=TRY
        )

    def drain(self) -> int:
        """End a measurement that goes on, and drop its bytes; return their number."""
        self.send("x")
        dropped_b = len(self._pending)
        self._pending = b""
        end_s = time.monotonic() + _DRAIN_S
        quiet_s = time.monotonic()
        while time.monotonic() < min(quiet_s + _QUIET_S, end_s):
            if block := self._port.read(_READ_S):
                dropped_b += len(block)
                quiet_s = time.monotonic()
        return dropped_b

    def close(self) -> None:
        """Let go of the port; closing twice is allowed."""
        self._port.close()

    def _lines(self, limit_s: float) -> Iterator[str]:
        """Yield whole lines; bytes after the last one that was taken stay pending."""
        end_s = time.monotonic() + limit_s
        while time.monotonic() < end_s:
            line, end, rest = self._pending.partition(b"\n")
            if not end:
                self._pending += self._port.read(_READ_S)
                continue
            self._pending = rest
            if text := content(line):
                yield text
