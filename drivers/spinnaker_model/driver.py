# SPDX-License-Identifier: Apache-2.0
"""sPyNNaker's energy report as a monitor: the energy that its model states for each
run, which the worker of `[sut.spinnaker]` writes down. Modelled, never measured.

It is the energy that a meter in the machine's supply would show, by that model: an idle
machine's power, and for each run the energy of its execution instead. Where in a run
the execution lies is not reported, so a run's energy is spread evenly over the time
that it took by the host's clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Self

from annotated_types import Interval, Unit, doc

from drivers.host_counters.driver import CounterDriver
from drivers.host_counters.recording import STAND_IN_V, HostClock, Polling
from drivers.spinnaker_model.recording import ModelRecording, Reports
from drivers.worker_lines import EventsFile
from rig.errors import ConfigError
from rig.files.user_folders import meeting_file
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.model.origin import Origin
from rig.settings.declare import PathText, Ratio, Why
from rig.uncertainty.accuracy import Accuracy, Range

_NAMED_BY: Final = "monitor.spinnaker_model.reports and sut.spinnaker.energy_reports"
#: More than the largest machine of one million cores draws.
_MOST_W = 1e6
#: The largest rate at which NTP slews a clock of Linux.
_CLOCK_PPM = 500.0


class SpinnakerModel(CounterDriver):
    """The energy that sPyNNaker's model states for each run."""

    kind = "spinnaker_model"
    tested = "on a stand-in for sPyNNaker only, never with a machine"

    @dataclass(frozen=True, slots=True)
    class Settings:
        """File of the reports, and the limit of the model's error."""

        reports: Annotated[
            PathText, doc("File that the worker writes; empty: the usual one.")
        ] = ""
        sample_hz: Annotated[
            int,
            Interval(ge=10, le=10_000),
            Unit("Hz"),
            doc("Samples a second of the trace."),
        ] = 1000
        gain_limit: Annotated[
            Ratio,
            Interval(ge=0, lt=1),
            Why("sPyNNaker states no error of its model"),
            doc("Relative limit of error that you claim for the model."),
        ] = 0.0

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._accuracy = _accuracy(settings)
        path = (
            Path(settings.reports)
            if settings.reports
            else meeting_file("spinnaker-energy")
        )
        self._reports = Reports(
            EventsFile(path, _NAMED_BY), str(path), time.monotonic_ns()
        )

    @staticmethod
    def restated(settings: Settings, info: MonitorInfo) -> MonitorInfo:
        """Return rates and limits of error as the settings have them."""
        rate_hz = settings.sample_hz
        return replace(
            info, sample_hz=rate_hz, edge_hz=rate_hz, accuracy=_accuracy(settings)
        )

    @classmethod
    def rate_hz(cls, settings: Settings) -> int:
        """Return the rate of the trace."""
        return settings.sample_hz

    @classmethod
    def simulates(cls, settings: Settings) -> bool:
        """Return False: the runs are those of a machine."""
        return False

    @classmethod
    def origin(cls, settings: Settings) -> Origin:
        """Return that its energies are a model's."""
        return Origin.MODELLED

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Look for no report yet: the worker starts after the monitors. Raises
        ConfigError."""
        return cls(settings)

    @property
    def info(self) -> MonitorInfo:
        """Description of the model."""
        return self._described(
            "sPyNNaker's energy model",
            {
                "model": (
                    "constants times counted time: compute_energy_used of sPyNNaker"
                ),
                "energy": (
                    "exec_energy_j of each run, over exec_time_s; an idle machine's"
                    " power in all other time, mapping and loading included"
                ),
                "clock": "CLOCK_MONOTONIC; the trace holds start_monotonic_ns",
            },
        )

    def record(self, folder: Path) -> ModelRecording:
        """Record into `folder`."""
        polling = Polling(
            self._settings.sample_hz, float("inf"), spread_s=1.0, start_s=0.3, lag_s=0.3
        )
        return ModelRecording(self._reports, HostClock(), polling, folder, self._about)

    def close(self) -> None:
        """Leave the worker's file; closing twice is allowed."""


def _accuracy(settings: SpinnakerModel.Settings) -> Accuracy:
    if not settings.gain_limit:
        raise ConfigError(
            "how far this model may be off is not known",
            path="monitor.spinnaker_model.gain_limit",
            evidence="sPyNNaker states no limit of error of its energy model",
            try_next=(
                "gain_limit = 0.3 where you claim 30 % (say why); the measured way is a"
                " meter in the machine's supply"
            ),
        )
    return Accuracy(
        current=(Range(_MOST_W / STAND_IN_V, settings.gain_limit, 0.0),),
        voltage=(Range(STAND_IN_V, 0.0, 0.0),),
        clock_ppm=_CLOCK_PPM,
        source=(
            "gain: the limit in the bench file (sPyNNaker states none); ends of"
            " windows: a sample; clock: the largest slew of NTP; voltage: 1 V by"
            " definition"
        ),
        verified=False,
        edge_s=1 / settings.sample_hz,
    )
