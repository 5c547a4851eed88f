# SPDX-License-Identifier: Apache-2.0
"""The serial port of a PPK2: commands, which it does not acknowledge, and its metadata,
the only answer that it gives.

Commands are obeyed in their order: an answer to the question for metadata proves that
those before it were heard, and its mode and voltage that these two were obeyed.
"""

from __future__ import annotations

import re
import time

import serial
from serial.tools import list_ports

from drivers.nordic_ppk2.metadata import Ppk2Metadata
from drivers.serial_stream import gathered
from rig.errors import DeadlineError, RemoteProtocolError
from rig.host.serial_port import SerialPort, Use
from rig.interfaces.contact import Conversation, Heard, unheard

VENDOR = 0x1915
PRODUCT = 0xC00A
START = b"\x06"
STOP = b"\x07"
METADATA = b"\x19"
ANSWER_S = 2.0
TRY = "look at the USB cable; unplug the PPK2 and plug it in again"
_GONE = (
    f"{TRY}; its output is off when it has no host, by one user's observation: look"
    " whether the DUT is"
)
#: The line rate of a USB device that has no line; Nordic's application asks for it.
_BAUD = 115_200
_ANSWER = re.compile(rb"(?:[A-Za-z]+[0-9]?: ?[-+.0-9A-Za-z]+\r?\n){10,}END")
_BEGINNING = re.compile(rb"(?:[A-Za-z]+[0-9]?: ?[-+.0-9A-Za-z]+\r?\n){3}")
#: More than an answer has: 40 lines with 20 decimal places are 1.2 kB.
_ANSWER_B = 4096
_READ_S = 0.05
_QUIET_S = 0.1
_DRAIN_S = 10.0
_SHOWN_B = 80


def power(on: bool) -> bytes:
    """Return the command that switches the DUT's supply."""
    return bytes([0x0C, on])


def mode(number: int) -> bytes:
    """Return the command that chooses a mode."""
    return bytes([0x11, number])


def voltage(millivolts: int) -> bytes:
    """Return the command that sets the voltage."""
    return b"\x0d" + millivolts.to_bytes(2, "big")


def conversation(port: str) -> Conversation:
    """Return how it is talked to."""
    return Conversation(
        "nordic_ppk2",
        "serial bytes",
        port,
        versions={"pyserial": serial.__version__},
    )


class NoPpk2(RemoteProtocolError):
    """No PPK2 answers at a port."""


class Ppk2Link:
    """Open port of one PPK2."""

    def __init__(self, port: SerialPort) -> None:
        self._port = port
        self._answer_due = False

    @classmethod
    def open(cls, url: str, heard: Heard = unheard) -> Ppk2Link:
        """Open `url`; raises DeviceNotFound, DeviceBusy or ConfigError."""
        use = Use("monitor.nordic_ppk2", _GONE, TRY)
        return cls(SerialPort.open(url, _BAUD, heard, use))

    def send(self, *commands: bytes) -> None:
        """Send commands; raises DeviceLost, or DeadlineError when no byte is taken."""
        for command in commands:
            self._port.write(command)

    def stream(self) -> bytes:
        """Return the bytes of some 50 ms; raises DeviceLost once none are left."""
        return gathered(self._port)

    def drain(self) -> int:
        """End a measurement that goes on, and drop its remaining bytes; return their
        number.
        """
        self.send(STOP)
        heard_b = 0
        end_s = time.monotonic() + _DRAIN_S
        quiet_s = time.monotonic()
        while time.monotonic() < min(quiet_s + _QUIET_S, end_s):
            if block := self._port.read(_READ_S):
                heard_b += len(block)
                quiet_s = time.monotonic()
        return heard_b

    def ask(self, *commands: bytes) -> tuple[bytes, Ppk2Metadata]:
        """Send commands and ask for the metadata; return the bytes before it, and it.

        Raises NoPpk2 where none answers, RemoteProtocolError where its answer is cut
        off, and DeadlineError where the bytes before it do not end.
        """
        if self._answer_due:
            # The answer to a question that was interrupted is no proof of these.
            self.drain()
        self._answer_due = True
        self.send(*commands, METADATA)
        heard = bytearray()
        searched = 0
        end_s = time.monotonic() + ANSWER_S
        last_s = time.monotonic() + _DRAIN_S
        while (answer := _ANSWER.search(heard, searched)) is None:
            if time.monotonic() > min(end_s, last_s):
                raise self._unanswered(bytes(heard))
            searched = max(len(heard) - _ANSWER_B, 0)
            if block := self._port.read(_READ_S):
                heard += block
                # A busy host may take long to read what had been measured.
                end_s = time.monotonic() + ANSWER_S
        self._answer_due = False
        text = answer[0].decode("ascii")
        return bytes(heard[: answer.start()]), Ppk2Metadata.of(text)

    def close(self) -> None:
        """Let go of the port; closing twice is allowed."""
        self._port.close()

    def _unanswered(self, heard: bytes) -> RemoteProtocolError | DeadlineError:
        name = self._port.name
        if beginning := _BEGINNING.search(heard):
            return RemoteProtocolError(
                f"the metadata of the PPK2 at {name} is cut off",
                evidence=f"{len(heard) - beginning.start()} bytes without END, the last"
                f" {heard[-_SHOWN_B:]!r}",
                try_next=TRY,
            )
        if len(heard) > _SHOWN_B:
            return DeadlineError(
                f"metadata of the PPK2 at {name}",
                ANSWER_S,
                evidence=f"{len(heard)} bytes came in its place",
                try_next=f"close other programs that use it; {TRY}",
            )
        return NoPpk2(
            f"no PPK2 answers at {name}",
            evidence=f"it said {heard!r}" if heard else "it said nothing",
            try_next=f"{_others(name)}{TRY}",
        )


def _others(name: str) -> str:
    """Return advice with the other port of the same instrument."""
    ports = attached_ports()
    number = next((each.serial_number for each in ports if each.device == name), None)
    others = []
    for port in ports:
        is_same_unit = bool(number) and port.serial_number == number
        if is_same_unit and port.device != name:
            others.append(port.device)
    if not others:
        return "the instrument's other port (rig scan names the right one); "
    return f"its other port, {', '.join(others)}: one of both is a shell; "


def attached_ports() -> list[list_ports.ListPortInfo]:  # type: ignore[name-defined]
    """Return the ports of all PPK2 that are attached, in the order of their names."""
    ports = (
        port
        for port in list_ports.comports()
        if (port.vid, port.pid) == (VENDOR, PRODUCT)
    )
    return sorted(ports, key=lambda port: str(port.device))
