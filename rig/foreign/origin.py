# SPDX-License-Identifier: Apache-2.0
"""A trace of whatever origin, once it is open, and what had to be said to open it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rig.errors import ConfigError
from rig.foreign.markers import Marked
from rig.trace import Trace


@dataclass(frozen=True, slots=True)
class Options:
    """What a file of another origin does not say of itself, or says of several things at once; empty and 0: not given.

    `source` names the source in a JLS file. `current`, `voltage`, `power`, `sync` and `time` name signals or columns; a column
    whose heading has no unit takes one after a colon, as "I:mA". `sync` "none" ignores all. `supply_v` stands for the voltage where
    there is none. `rate_hz` is the sampling rate where the file's own is missing or wrong.
    """

    source: str = ""
    current: str = ""
    voltage: str = ""
    power: str = ""
    sync: str = ""
    time: str = ""
    supply_v: float = 0.0
    rate_hz: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("supply_v", self.supply_v), ("rate_hz", self.rate_hz)):
            if not 0 <= value < float("inf"):
                raise ConfigError(f"{value}", path=name, try_next="above 0")
        if self.supply_v and self.voltage:
            raise ConfigError("both are given", path="supply_v, voltage", try_next="one of them")
        if self.power and (self.current or self.voltage or self.supply_v):
            raise ConfigError("power is voltage times current already", path="power", try_next="it alone, or the two others")


@dataclass(frozen=True, slots=True)
class Opened:
    """A trace ready to be measured; `notes` say what was taken for what.

    `has_current` is False where the file tells power alone: then charge and current mean nothing. `about` is what its recorder
    wrote of it, where that was the rig; `marked` says where its markers are, where it can have any.
    """

    trace: Trace
    origin: str
    notes: tuple[str, ...] = ()
    has_current: bool = True
    marked: Marked | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def sync(self) -> str:
        """Return how the trace tells of edges: "digital", "voltage", "stamps" or "none"."""
        return str(self.about.get("sync", "none"))
