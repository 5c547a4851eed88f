# SPDX-License-Identifier: Apache-2.0
"""Commands of the simulated N6705 that act on its modules alone."""

from __future__ import annotations

import math
from collections.abc import Callable

from drivers.keysight_n6705.sim import scpi
from drivers.keysight_n6705.sim.module import Channel

Act = Callable[[list[str], list[Channel]], bytes | None]


def setting_of(what: str) -> Act:
    """Return a query of a setting of each channel."""
    return lambda words, channels: ",".join(
        getattr(channel, what) for channel in channels
    ).encode()


def only(*allowed: str) -> Act:
    """Return a command that is accepted without an effect on the simulator."""

    def act(words: list[str], channels: list[Channel]) -> None:
        scpi.choice(words, *allowed)

    return act


def up_to(limit: float) -> Act:
    def act(words: list[str], channels: list[Channel]) -> None:
        scpi.number(words, 0.0, limit)

    return act


_EMULATIONS = (
    "PS4Q",
    "PS2Q",
    "PS1Q",
    "BATTery",
    "CHARger",
    "CCLoad",
    "CVLoad",
    "VMETer",
    "AMETer",
)


def emulate(words: list[str], channels: list[Channel]) -> None:
    """Choose the kind of a module."""
    wanted = scpi.choice(words, *_EMULATIONS)
    for channel in channels:
        if not channel.smu or (wanted == "PS4Q" and channel.model != "N6784A"):
            raise scpi.ScpiError(scpi.UNSUPPORTED)
        channel.emulation = wanted


def set_priority(words: list[str], channels: list[Channel]) -> None:
    """Choose the controlled quantity: voltage or current."""
    for channel in channels:
        channel.priority = scpi.choice(words, "VOLTage", "CURRent")


def set_voltage_range(words: list[str], channels: list[Channel]) -> None:
    """Choose the range of the output voltage."""
    for channel in channels:
        channel.wanted_range_v = scpi.number(words, 0.0, channel.ranges_v[-1])


def set_limit(words: list[str], channels: list[Channel]) -> None:
    """Set the limit of the current."""
    for channel in channels:
        channel.limit_a = scpi.number(words, 0.0, 3.06)


def set_input(words: list[str], channels: list[Channel]) -> None:
    """Choose the input that measures the voltage."""
    wanted = scpi.choice(words, "MAIN", "AUXiliary")
    for channel in channels:
        if channel.model not in ("N6781A", "N6785A"):
            raise scpi.ScpiError(scpi.UNSUPPORTED)
        channel.input = wanted


def set_range(words: list[str], channels: list[Channel]) -> None:
    """Choose the smallest range that measures a current."""
    wanted_a = scpi.number(words, 0.0, 3.06)
    for channel in channels:
        channel.range_a = min(
            limit_a for limit_a in (10e-6, 1e-3, 0.1, 3.06) if limit_a >= wanted_a
        )


def set_seamless(words: list[str], channels: list[Channel]) -> None:
    """Choose all ranges in turn, or one."""
    for channel in channels:
        channel.range_a = math.inf if scpi.boolean(words) else 3.06


def set_period(words: list[str], channels: list[Channel]) -> None:
    """Set the period of the records."""
    for channel in channels:
        channel.period_s = scpi.number(words, 102.4e-6, 60.0)


def set_source(words: list[str], channels: list[Channel]) -> None:
    """Choose what starts the log."""
    if not words:
        raise scpi.ScpiError(scpi.MISSING)
    wanted = words[0].upper()
    pin = wanted.startswith("PIN") and wanted[3:] in tuple("1234567")
    for channel in channels:
        channel.source = (
            wanted if pin else scpi.choice(words, "BUS", "EXTernal", "IMMediate")
        )
