# SPDX-License-Identifier: Apache-2.0
"""The plan of a data log, and its clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from drivers.keysight_n6705.supply import Supply
from rig.host.raw_clock import raw_monotonic_ns
from rig.host.stop import pause
from rig.interfaces.monitor import MonitorInfo
from rig.simulation.world import NS_PER_S


@dataclass(frozen=True, slots=True)
class LogPlan:
    """A set-up of the data logger: the DUT's channel gives current and voltage,
    `sync_channel` (None: none) a voltage.

    `period_s` is the period that the instrument reports. `start_s`: time that it logs
    before the first measurement. `held_back_s`: longest time that it may hold a record
    back. `supply`: the supply of the DUT, None if its output is off.
    """

    channel: int
    sync_channel: int | None
    sync: Literal["voltage", "trigger", "io_manager"]
    period_s: float
    start_s: float
    fetch_s: float
    held_back_s: float
    info: MonitorInfo
    supply: Supply | None
    about: dict[str, Any]

    @property
    def channels(self) -> str:
        """All logged channels as SCPI lists them."""
        return (
            f"(@{self.channel})"
            if self.sync_channel is None
            else f"(@{self.channel},{self.sync_channel})"
        )

    @property
    def stamped(self) -> bool:
        """Whether the log waits for the first edge."""
        return self.sync != "voltage"


@dataclass(frozen=True, slots=True)
class LogClock:
    """The host's clock, or that of a simulated world; `wait` lets it pass.

    Virtual time `jumps`: a pause takes no time of the host. `watch` calls a function
    after each jump until its result is called.
    """

    now_s: Callable[[], float]
    wait: Callable[[float], None]
    watch: Callable[[Callable[[], None]], Callable[[], None]] | None = None

    @property
    def jumps(self) -> bool:
        """Whether time is virtual."""
        return self.watch is not None


REAL = LogClock(lambda: raw_monotonic_ns() / NS_PER_S, pause)
