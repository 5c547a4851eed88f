# SPDX-License-Identifier: Apache-2.0
"""The shell of the X-NUCLEO-LPM01A over a serial port: commands and their answers (ST
UM2269 Rev 6 section 4.2.3).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import serial

from drivers.serial_stream import gathered
from rig.errors import BenchError, DeadlineError, RemoteProtocolError
from rig.host.serial_port import SerialPort, Use
from rig.interfaces.contact import Conversation, Heard, unheard

PROMPT = "PowerShield > "
ANSWER_S = 2.0
TRY = (
    "look at the USB cable and at the port's name; unplug the board and plug it in"
    " again"
)
#: Answers without an acknowledgement, from the manual's tables 5, 7 and 22. Known
#: boards put `ack` and the command before the first two; none that answers in these
#: words was seen.
_ALONE = {
    "powershield": re.compile(r"PowerShield present\b[ :]*(.*)"),
    "status": re.compile(r"(ok|error: (?!status$).*)"),
    "pwr get": re.compile(r"(?:pwr )?(on|off)"),
}
_GONE = f"{TRY}; fed by more than this cable, it may still supply the DUT"
_DETAIL_S = 0.5
_QUIET_S = 0.2
_DRAIN_S = 15.0
_READ_S = 0.05
_SHOWN_B = 80


def conversation(port: str, baud: int) -> Conversation:
    """Return how the board is talked to."""
    return Conversation(
        "st_lpm01a",
        f"serial text, {baud} Bd",
        port,
        # What finds out where the past ends is new each time.
        varies=(r"echo (\S+)",),
        versions={"pyserial": serial.__version__},
    )


class ShellClient:
    """Open port of one board. Every command is acknowledged by its own text."""

    def __init__(self, port: SerialPort) -> None:
        self._port = port
        self._name = port.name
        self._pending = bytearray()

    @classmethod
    def open(cls, url: str, baud: int, heard: Heard = unheard) -> ShellClient:
        """Open `url` at `baud`; raise DeviceNotFound, DeviceBusy or ConfigError."""
        return cls(
            SerialPort.open(url, baud, heard, Use("monitor.st_lpm01a", _GONE, TRY))
        )

    def read(self) -> bytes:
        """Return the received bytes, waiting a little for the first; raise
        DeviceLost."""
        return self._port.read(_READ_S)

    def stream(self) -> bytes:
        """Return the bytes of some 50 ms; raises DeviceLost once none are left."""
        return gathered(self._port)

    def write(self, text: str) -> None:
        """Send lines; raise DeviceLost, or DeadlineError when the board takes no
        byte."""
        self._port.write(text.encode("ascii") + b"\r\n")

    def take(self) -> bytes:
        """Return and clear the bytes after the last answer."""
        left = bytes(self._pending)
        self._pending = bytearray()
        return left

    def command(self, text: str, limit_s: float = ANSWER_S) -> str:
        """Send a command and return the content of its acknowledgement.

        Raises BenchError with the board's own words where it refuses, DeadlineError
        where no answer to this command comes. Other answers after a prompt are ignored:
        those to an interrupted sender, or to no command.
        """
        self.write(text)
        passed_over = ""
        for line in self._lines(limit_s):
            # Ends of lines of an earlier acquisition may still come: they answer no
            # command.
            if not line.startswith(PROMPT) or "Acquisition completed" in line:
                continue
            answer = line[len(PROMPT) :].strip()
            if (content := _content(text, answer)) is not None:
                return content
            if answer.startswith("err"):
                lines = self._lines(_DETAIL_S)
                detail = next(
                    (line for line in lines if line.startswith("Error detail")),
                    "no detail came",
                )
                raise BenchError(
                    f"the PowerShield refuses {text!r}",
                    evidence=f"{answer}; {detail}",
                    try_next="its manual, UM2269, chapter 4",
                )
            passed_over = line
        raise DeadlineError(
            f"answer of the PowerShield to {text!r}",
            limit_s,
            evidence=(
                f"it said {passed_over[:_SHOWN_B]!r}"
                if passed_over
                else self._shown(b"")
            ),
            try_next=TRY,
        )

    def supply_on(self) -> bool:
        """Check whether the board supplies the target now."""
        # By the manual the answer may follow the acknowledgement or be a line of its
        # own.
        answer = self.command("pwr get")
        if not answer:
            lines = self._lines(ANSWER_S)
            answer = next((line for line in lines if line.startswith("pwr ")), "")
        word = answer.removeprefix("pwr ").strip()
        if word not in ("on", "off"):
            raise RemoteProtocolError(
                "the PowerShield does not report whether its supply is on",
                evidence=repr(answer),
                try_next=TRY,
            )
        return word == "on"

    def drain(self) -> int:
        """End any acquisition and drop the bytes of an earlier run; return about how
        many these were.

        Raises RemoteProtocolError where no board answers.
        """
        # The empty line ends a command that was cut off.
        self.write("\r\nstop")
        heard = bytearray(self.take())
        end_s = time.monotonic() + _DRAIN_S
        quiet_s = time.monotonic()
        while time.monotonic() < min(quiet_s + _QUIET_S, end_s):
            if block := self.read():
                heard += block
                quiet_s = time.monotonic()
        token = f"{os.getpid():x}-{time.monotonic_ns():x}"
        self.write(f"echo {token}")
        answer = f"{PROMPT}echo {token}".encode()
        heard_at = len(heard)
        end_s = time.monotonic() + ANSWER_S
        while (place := heard.find(answer, max(heard_at - len(answer), 0))) < 0:
            if time.monotonic() > end_s:
                raise RemoteProtocolError(
                    f"no PowerShield answers at {self._name}",
                    evidence=self._shown(bytes(heard)),
                    try_next=f"another port; {TRY}",
                )
            heard += self.read()
        self._pending = heard[place + len(answer) :]
        lines = heard[:place].translate(None, b"\0").splitlines()
        return sum(
            len(line)
            for line in lines
            if not line.startswith((PROMPT.encode(), b"Error detail"))
        )

    def close(self) -> None:
        """Let go of the port; closing twice is allowed."""
        self._port.close()

    def _lines(self, limit_s: float) -> Iterator[str]:
        """Yield lines with something in them until time is up."""
        end_s = time.monotonic() + limit_s
        while True:
            end = self._pending.find(b"\n")
            if end >= 0:
                line = bytes(self._pending[:end])
                del self._pending[: end + 1]
                if text := line.strip(b"\0\r ").decode("ascii", "backslashreplace"):
                    yield text
            elif time.monotonic() > end_s:
                return
            else:
                self._pending += self.read()

    def _shown(self, heard: bytes) -> str:
        last = (heard + bytes(self._pending))[-_SHOWN_B:]
        return f"it said {last!r}" if last else "it said nothing"


def _content(command: str, answer: str) -> str | None:
    """Return the content of an acknowledgement of a command; None where it is none."""
    # Without `ack`, table 50 of the manual prints one of `pwrend`; not seen of any
    # board.
    for expected in (f"ack {command}", command):
        if answer == expected or answer.startswith((f"{expected} ", f"{expected}:")):
            return answer[len(expected) :].strip(" :")
    alone = _ALONE[command].fullmatch(answer) if command in _ALONE else None
    return alone[1] if alone else None
