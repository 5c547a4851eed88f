# SPDX-License-Identifier: Apache-2.0
"""The energy monitor: the interface every instrument offers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class MonitorInfo:
    """What a monitor is; `sample_hz` is the rate of current and voltage, `edge_hz` that of the SYNC input."""

    name: str
    kind: str
    simulated: bool
    sample_hz: int
    edge_hz: int
    serial: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Recording(Protocol):
    """A recording under way; the trace is complete in its folder once the context is left."""

    def check(self) -> None:
        """Raise what went wrong in the recording so far (StorageFull, DeviceLost); called between steps."""


class EnergyMonitor(Protocol):
    """Four methods; each raises BenchError and nothing else."""

    @property
    def info(self) -> MonitorInfo:
        """Return what the instrument said of itself."""

    def power(self, on: bool) -> None:
        """Switch the DUT's supply."""

    def record(self, folder: Path) -> AbstractContextManager[Recording]:
        """Record into `folder`/trace.jls until the context is left, also by an exception."""

    def close(self) -> None:
        """Switch the supply off and let go of the instrument; closing twice is allowed."""
