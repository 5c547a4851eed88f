# SPDX-License-Identifier: Apache-2.0
"""The wires of a bench: what goes from which pin to which input, and what was found of
each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WireName(StrEnum):
    """The wires that a proof tells apart."""

    SECOND_SUPPLY = "second supply"
    SUPPLY = "supply"
    TX = "Tx"
    GROUND = "ground"
    RX = "Rx"
    LEVEL = "level"
    SYNC = "SYNC seen"
    POLARITY = "polarity"
    CURRENT = "supply current"


@dataclass(frozen=True, slots=True)
class Pin:
    """An end of a wire: the part ("dut", "host", "monitor", "feed", "shifter", "io
    manager") and what the pin is called there.
    """

    part: str
    name: str


@dataclass(frozen=True, slots=True)
class Connection:
    """One wire to be made; `name` is that of the row of the proof which shows it to be
    there."""

    name: WireName
    start: Pin
    end: Pin
    note: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """What was heard of a device on its line: bytes, how many of them no text has, what
    it said when its supply came on, and its name where it answered.

    `pulses`: how many SYNC pulses a monitor saw when the device was asked for two, None
    where nobody looked; `other_baud`: the line rate at which it answered, 0 where it
    did not.
    """

    heard_b: int = 0
    unreadable_b: int = 0
    at_power_up: str = ""
    name: str = ""
    pulses: int | None = None
    other_baud: int = 0

    @property
    def garbled(self) -> bool:
        """Return whether bytes came of which many are no text."""
        return not self.name and self.unreadable_b * 5 > self.heard_b


@dataclass(frozen=True, slots=True)
class WireFinding:
    """What was found of a wire: `ok` is None where it was not, or cannot be, tested.

    `rail`: of which of several supplies; `cause`: what is most probably wrong.
    """

    wire: WireName
    ok: bool | None
    detail: str
    cause: str = ""
    try_next: str = ""
    rail: str = ""

    @property
    def title(self) -> str:
        """Return the name of the wire, with that of its rail."""
        return f"{self.wire} of {self.rail}" if self.rail else str(self.wire)
