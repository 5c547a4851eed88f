# SPDX-License-Identifier: Apache-2.0
"""The wires of a bench: their pins, and the findings of their proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WireName(StrEnum):
    """The wires that a proof distinguishes."""

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
    manager") and the name of its pin.
    """

    part: str
    name: str


@dataclass(frozen=True, slots=True)
class Connection:
    """One wire to be made; `name` is that of the row of the proof that tests it."""

    name: WireName
    start: Pin
    end: Pin
    note: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """The bytes of a device on its line: their number, the number that is no text, the
    text after power-up, and the device's name where it answered.

    `pulses` is the number of SYNC pulses that a monitor saw when the device was asked
    for two, None where no monitor watched; `other_baud` the line rate at which it
    answered, 0 where it did not.
    """

    heard_b: int = 0
    unreadable_b: int = 0
    at_power_up: str = ""
    name: str = ""
    pulses: int | None = None
    other_baud: int = 0

    @property
    def garbled(self) -> bool:
        """Whether many of the bytes are no text."""
        return not self.name and self.unreadable_b * 5 > self.heard_b


@dataclass(frozen=True, slots=True)
class WireFinding:
    """The finding of a wire: `ok` is None where it was not, or cannot be, tested.

    `rail` is its supply where there are several; `cause` the most probable fault.
    """

    wire: WireName
    ok: bool | None
    detail: str
    cause: str = ""
    try_next: str = ""
    rail: str = ""

    @property
    def title(self) -> str:
        """Name of the wire, with that of its rail."""
        return f"{self.wire} of {self.rail}" if self.rail else str(self.wire)
