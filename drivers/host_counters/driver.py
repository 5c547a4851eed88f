# SPDX-License-Identifier: Apache-2.0
"""Base class of the drivers of counters: sensors that are read by the host's clock."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from drivers.host_counters.recording import (
    ALWAYS_ON,
    STAND_IN,
    Counter,
    CounterClock,
    CounterRecording,
    Polling,
)
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.interfaces.plugin_classes import Driver
from rig.model.origin import Origin
from rig.uncertainty.accuracy import Accuracy


class CounterDriver(Driver):
    """A driver of a counter of energy or power without a SYNC input, whose supply is
    not switched.

    `kind` is its name in a bench file, `tested` states its tests.
    """

    kind: ClassVar[str]
    tested: ClassVar[str]
    _settings: Any
    _accuracy: Accuracy
    _clock: CounterClock
    #: None where the bench file does not name it.
    simulator: Any

    @classmethod
    def rate_hz(cls, settings: Any) -> int:
        """Return the rate of the readings."""
        return int(settings.poll_hz)

    @classmethod
    def simulates(cls, settings: Any) -> bool:
        """Check whether the bench file names the simulator, or a copy of the files of
        a sensor.
        """
        return bool(settings.simulated or settings.reads_a_copy)

    @classmethod
    def origin(cls, settings: Any) -> Origin:
        """Return that its energies are its own, or the simulator's."""
        return Origin.SIMULATED if cls.simulates(settings) else Origin.OWN_SENSOR

    @classmethod
    def sampling(cls, settings: Any) -> Sampling:
        """Return how often the counter is read."""
        rate_hz = cls.rate_hz(settings)
        return Sampling(rate_hz, rate_hz, "clock")

    def power(self, on: bool) -> None:
        """Ignore the request: no supply is switched here."""

    def close(self) -> None:
        """Let go of the counter; closing twice is allowed."""
        if self.simulator:
            self.simulator.close()

    def _recording(
        self, counter: Counter, polling: Polling, folder: Path, source: str
    ) -> CounterRecording:
        """Record the counter into `folder`; `source` is its name."""
        return CounterRecording(
            counter=counter,
            clock=self._clock,
            polling=polling,
            folder=folder,
            source=source,
            serial="",
            about=self._about,
        )

    def _described(
        self, name: str, details: dict[str, Any], serial: str = ""
    ) -> MonitorInfo:
        """Return the description of the counter."""
        rate_hz = self.rate_hz(self._settings)
        return MonitorInfo(
            name=name,
            kind=self.kind,
            simulated=self.simulates(self._settings),
            origin=self.origin(self._settings),
            sample_hz=rate_hz,
            edge_hz=rate_hz,
            accuracy=self._accuracy,
            serial=serial,
            sync="clock",
            switches=False,
            reads_voltage=False,
            details=details
            | {"voltage": STAND_IN, "power": ALWAYS_ON, "tested": self.tested},
        )

    @property
    def _about(self) -> dict[str, Any]:
        """The remarks that are stored with a trace."""
        return {
            "monitor": self.kind,
            "simulated": self.simulates(self._settings),
            "settings": asdict(self._settings),
        }
