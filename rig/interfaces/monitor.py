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
    `edge_hz`: the sampling rate of a digital input, or what the instrument's way of
    timing edges comes to. A SYNC pulse shorter than `min_pulse_s` can be missed (0: two
    periods of `edge_hz`). `sync` says by what marks are attached to the trace
    (rig/timebase/attach.py): edges seen as "digital", "voltage" or "stamps"; the one
    edge that starts the trace, "start"; a clock of the host that the device's marks
    count as well, "clock"; or "none": then `no_sync` may say why, and what to try.
    `resumable`: a trial that was cut off can go on in a recording of its rest alone.
    `switches`: `power` switches what it measures on and off; a counter of the host, or
    a recording of earlier, knows no "off". `reads_voltage`: the voltage is measured,
    and not taken for what was set. `origin`: what its energies are; None: measured, or
    simulated where `simulated` says so.
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
    """What a monitor will write, as far as its settings determine it: the rate of
    current and voltage, that of the edges, and where those come from (`sync` as in
    MonitorInfo).
    """

    sample_hz: float
    edge_hz: float
    sync: str = "digital"


@dataclass(frozen=True, slots=True)
class FoundInstrument:
    """One instrument that a scan found: how a bench file names it (KEY = VALUE), and
    what is wrong with it, empty when nothing is.
    """

    name: str
    serial: str
    setting: str
    problem: str = ""
    try_next: str = ""


class Recording(Protocol):
    """A recording under way; the trace is complete in its folder once the context is
    left."""

    def check(self) -> None:
        """Raise what went wrong in the recording so far (StorageFull, DeviceLost);
        called between steps.
        """


class EnergyMonitor(Protocol):
    """Four methods; each raises BenchError and nothing else. A driver that can look for
    its instruments has a classmethod `scan() -> list[Found]`, which changes nothing on
    them.
    """

    @property
    def info(self) -> MonitorInfo:
        """Return what the instrument reports about itself."""

    def power(self, on: bool) -> None:
        """Switch the DUT's supply."""

    def record(self, folder: Path) -> AbstractContextManager[Recording]:
        """Record into `folder`/trace.jls until the context is left, also by an
        exception."""

    def close(self) -> None:
        """Switch the supply off and let go of the instrument; closing twice is
        allowed."""
