# SPDX-License-Identifier: Apache-2.0
"""Commands of the simulated N6705 that need nothing of it but its modules."""

from __future__ import annotations

from collections.abc import Callable

from drivers.keysight_n6705.sim import scpi
from drivers.keysight_n6705.sim.module import Channel

Act = Callable[[list[str], list[Channel]], bytes | None]


def told(what: str) -> Act:
    """Return a query of a setting of each channel."""
    return lambda words, channels: ",".join(getattr(channel, what) for channel in channels).encode()


def only(*allowed: str) -> Act:
    """Return a command that is understood, and changes nothing that the simulator knows of."""

    def act(words: list[str], channels: list[Channel]) -> None:
        scpi.choice(words, *allowed)

    return act


def up_to(limit: float) -> Act:
    def act(words: list[str], channels: list[Channel]) -> None:
        scpi.number(words, 0.0, limit)

    return act
