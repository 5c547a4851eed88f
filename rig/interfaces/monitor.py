# SPDX-License-Identifier: Apache-2.0
"""The energy monitor: the interface every instrument offers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rig.model.origin import Origin
from rig.uncertainty.accuracy import Accuracy


@dataclass(frozen=True, slots=True)
class MonitorInfo:
    """Description of a monitor.

    `sample_hz` is the rate of current and voltage. An edge of SYNC is known to 1 /
    `edge_hz`: the sampling rate of a digital input, or an equivalent rate for other
    ways of timing edges. A SYNC pulse shorter than `min_pulse_s` can be missed (0: two
    periods of `edge_hz`). `sync` names how marks are attached to the trace
    (rig/timebase/attach.py): edges seen as "digital", "voltage" or "stamps"; the one
    edge that starts the trace, "start"; a clock of the host that the device's marks
    count as well, "clock"; or "none": then `no_sync` may say why, and what to try.
    `resumable`: a trial that was cut off can continue in a recording of its rest alone.
    `switches`: `power` switches the measured supply on and off, which a counter of the
    host or an earlier recording cannot. `reads_voltage`: the voltage is measured, not
    assumed as set. `origin` is that of its energies; None: measured, or simulated where
    `simulated` is true.
    """

    name: str
    kind: str
    simulated: bool
    sample_hz: float
    edge_hz: float
    accuracy: Accuracy
    serial: str = ""
    sync: str = "digital"
    min_pulse_s: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)
    no_sync: tuple[str, str] = ("", "")
    resumable: bool = True
    switches: bool = True
    reads_voltage: bool = True
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """The rates of a monitor as far as its settings determine them: of current and
    voltage, and of the edges; `sync` as in MonitorInfo.
    """

    sample_hz: float
    edge_hz: float
    sync: str = "digital"


@dataclass(frozen=True, slots=True)
class FoundInstrument:
    """One instrument that a scan found: its setting in a bench file (KEY = VALUE), and
    its problem, empty where there is none. `ports` are the serial ports of its own that
    the setting does not name.
    """

    name: str
    serial: str
    setting: str
    problem: str = ""
    try_next: str = ""
    ports: tuple[str, ...] = ()


class Recording(Protocol):
    """A recording under way; the trace is complete in its folder once the context is
    left."""

    def check(self) -> None:
        """Raise an error of the recording so far (StorageFull, DeviceLost); called
        between steps.
        """


class EnergyMonitor(Protocol):
    """An open instrument; its methods raise no other errors than BenchError."""

    @property
    def info(self) -> MonitorInfo:
        """Description of the instrument as it reports it."""

    def power(self, on: bool) -> None:
        """Switch the DUT's supply."""

    def record(self, folder: Path) -> AbstractContextManager[Recording]:
        """Record into `folder`/trace.jls until the context is left, also by an
        exception."""

    def close(self) -> None:
        """Switch the supply off, release the instrument; closing twice is allowed."""
