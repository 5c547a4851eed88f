# SPDX-License-Identifier: Apache-2.0
"""Commands of the simulated N6705 that act on its modules alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drivers.keysight_n6705.sim import scpi
from drivers.keysight_n6705.sim.module import Channel


@dataclass(frozen=True, slots=True)
class ScpiOrder:
    """Parameters of a command, and the channels of its list.

    Its first parameter is read as asked for; raises ScpiError for another one.
    """

    words: list[str]
    channels: list[Channel]

    @property
    def word(self) -> str:
        """The first parameter, in capitals."""
        if not self.words:
            raise scpi.ScpiError(scpi.MISSING)
        return self.words[0].upper()

    @property
    def boolean(self) -> bool:
        """Whether it is ON or 1, not OFF or 0."""
        if self.word not in ("ON", "OFF", "1", "0"):
            raise scpi.ScpiError(scpi.ILLEGAL)
        return self.word in ("ON", "1")

    def number(self, low: float, high: float) -> float:
        """Return a number from `low` to `high`."""
        try:
            value = float(self.word)
        except ValueError:
            raise scpi.ScpiError('-104,"Data type error"') from None
        if not low <= value <= high:
            raise scpi.ScpiError(scpi.OUT_OF_RANGE)
        return value

    def choice(self, *allowed: str) -> str:
        """Return the short form of one of `allowed`, written as keywords are."""
        for word in allowed:
            short = re.sub("[a-z]", "", word)
            if self.word in (short, word.upper()):
                return short
        raise scpi.ScpiError(scpi.ILLEGAL)


Act = Callable[[ScpiOrder], bytes | None]


def words_of(value: Callable[[Channel], object]) -> Act:
    """Return a query of a value of each channel."""
    return lambda order: ",".join(str(value(each)) for each in order.channels).encode()


def numbers_of(value: Callable[[Channel], float]) -> Act:
    """Return a query of a number of each channel."""
    return words_of(lambda channel: f"{value(channel):.6E}")


def flags_of(value: Callable[[Channel], bool]) -> Act:
    """Return a query of a switch of each channel, 0 or 1."""
    return words_of(lambda channel: int(value(channel)))


def accepts(read: Callable[[ScpiOrder], object]) -> Act:
    """Return a command that is checked, and has no effect on the simulator."""

    def act(order: ScpiOrder) -> None:
        read(order)

    return act


def sets(name: str, read: Callable[[ScpiOrder], Any]) -> Act:
    """Return a command that sets a field of each channel to its parameter."""

    def act(order: ScpiOrder) -> None:
        value = read(order)
        for channel in order.channels:
            setattr(channel, name, value)

    return act


def emulate(order: ScpiOrder) -> None:
    """Choose the kind of a module."""
    kinds = "PS4Q PS2Q PS1Q BATTery CHARger CCLoad CVLoad VMETer AMETer"
    kind = order.choice(*kinds.split())
    for channel in order.channels:
        if not channel.smu or (kind == "PS4Q" and channel.model != "N6784A"):
            raise scpi.ScpiError(scpi.UNSUPPORTED)
        channel.emulation = kind


def set_voltage_range(order: ScpiOrder) -> None:
    """Choose the range of the output voltage."""
    for channel in order.channels:
        channel.wanted_range_v = order.number(0.0, channel.ranges_v[-1])


def set_input(order: ScpiOrder) -> None:
    """Choose the input that measures the voltage."""
    terminal = order.choice("MAIN", "AUXiliary")
    for channel in order.channels:
        if channel.model not in ("N6781A", "N6785A"):
            raise scpi.ScpiError(scpi.UNSUPPORTED)
        channel.input = terminal


def smallest_range_a(order: ScpiOrder) -> float:
    """Return the smallest range that measures a current."""
    wanted_a = order.number(0.0, 3.06)
    return min(limit_a for limit_a in (10e-6, 1e-3, 0.1, 3.06) if limit_a >= wanted_a)


def seamless_range_a(order: ScpiOrder) -> float:
    """Return infinity for all ranges in turn, or the largest one."""
    return math.inf if order.boolean else 3.06


def trigger_source(order: ScpiOrder) -> str:
    """Return what starts the log."""
    if re.fullmatch("PIN[1-7]", order.word):
        return order.word
    return order.choice("BUS", "EXTernal", "IMMediate")
