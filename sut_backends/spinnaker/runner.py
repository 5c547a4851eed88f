# SPDX-License-Identifier: Apache-2.0
"""A network on SpiNNaker 1 by sPyNNaker: the runner of `[sut.spinnaker]`, in the
worker.

Without a machine sPyNNaker maps on a virtual board and computes no dynamics: that is a
report, and no system under test.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.spinnaker.build import build, report
from sut_backends.spinnaker.energy_lines import EnergyLines
from sut_backends.spinnaker.own_home import OwnHome, config
from sut_backends.spinnaker.pynn_plan import PynnPlan, plan
from sut_backends.workers.inside import imports
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read

PACKAGES = ("sPyNNaker", "PyNN", "numpy")
#: The version that the mapping was tried with.
SPYNNAKER = "1!7.4.1"
ENERGIES = (
    "exec_time_s",
    "exec_energy_j",
    "exec_energy_cores_j",
    "exec_energy_boards_j",
    "loading_energy_j",
    "mapping_energy_j",
    "saving_energy_j",
)


@dataclass(frozen=True)
class SpinnakerSettings:
    """The machine's address, its generation, how many spikes of a channel in one step
    are wired, how long a step takes on a SpiNNaker 2, and the file for reports of
    energy, empty for none.
    """

    machine: str = ""
    generation: int = 1
    input_spikes_max: int = 1
    tick_s: float = 1e-3
    energy_reports: str = ""


def open_network(job: Job) -> Any:
    """Return a network ready to run on a machine; ValueError without one, and for a
    network that PyNN's cells cannot be.
    """
    settings = job.settings_as(SpinnakerSettings)
    if settings.generation == 2:
        return import_module("sut_backends.spinnaker.two").open_network(job)
    planned = plan(read(job.plain))
    versions = _versions()
    if not settings.machine:
        raise ValueError(
            "no machine is named, and on sPyNNaker's virtual board data from a run are"
            " empty: it maps, and computes nothing; set machine, or look at the"
            " mapping: rig model map"
        )
    runner = SpinnakerRunner(planned, settings, versions)
    try:
        # A machine that does not answer is named here, and not within the first timed
        # query; and the model's power of an idle machine is known from a run on.
        runner.run(np.zeros((1, planned.channels)))
        runner.write_reports(settings.energy_reports)
    except BaseException:
        runner.close()
        raise
    return runner


def map_network(job: Job) -> dict[str, Any]:
    """Describe sPyNNaker's mapping of a network to a virtual board: cores, chips,
    saturation."""
    planned = plan(read(job.plain))
    versions = _versions()
    most = job.settings_as(SpinnakerSettings).input_spikes_max
    home = OwnHome(config("", energy=False))
    sim: Any = import_module("pyNN.spiNNaker")
    try:
        made = build(sim, planned, np.zeros((1, planned.channels)), most)
        sim.run(planned.dt_ms)
        mapping = report(planned, made, most)
    finally:
        _end(sim)
        home.close()
    return {"versions": versions, "board": "virtual: nothing was computed", **mapping}


def sense_network(job: Job) -> dict[str, Any]:
    """Return sPyNNaker's energy report of each sample; no meter, and no spike of it is
    kept."""
    if job.settings_as(SpinnakerSettings).generation == 2:
        raise ValueError("py-spinnaker2 states no energy: an external meter is the way")
    runner = open_network(job)
    try:
        reports = []
        for spikes in np.load(job.spikes, allow_pickle=False):
            values, _ = runner.run(spikes)
            reports.append({"spikes": int(values.sum()), **runner.energy})
    finally:
        runner.close()
    return {**runner.about, "samples": reports}


class SpinnakerRunner:
    """A network on a machine. Each sample is mapped and loaded again, as sPyNNaker
    7.4.1 cannot change the spike times of a mapped source: a list for each cell is
    refused (TypeError), and those of a view become the times of all cells
    (docs/reference/BACKENDS.md).
    """

    def __init__(
        self, planned: PynnPlan, settings: SpinnakerSettings, versions: dict[str, str]
    ) -> None:
        self._plan = planned
        self._most = settings.input_spikes_max
        self._home = OwnHome(config(settings.machine, energy=True))
        self._sim: Any = import_module("pyNN.spiNNaker")
        self.energy: dict[str, Any] = {}
        self._idle_w = 0.0
        self._lines: EnergyLines | None = None
        self.about = {
            "versions": versions,
            "machine": settings.machine,
            "time_step_ms": planned.dt_ms,
            "lag_steps": planned.lag_steps,
            "rule differs": planned.differs,
        }

    def write_reports(self, path: str) -> None:
        """Write the energies of the runs from now on to a file; an empty path writes
        none."""
        if path:
            self._lines = EnergyLines(path, SPYNNAKER, self._idle_w)

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels) from rest; return the spikes (steps, outputs),
        and None for membranes, which are not read.
        """
        planned = self._plan
        spikes = np.asarray(spikes)
        if spikes.max(initial=0) > self._most:
            raise ValueError(
                f"{int(spikes.max())} spikes of a channel in one step, {self._most} are"
                " wired; set input_spikes_max"
            )
        if self._lines:
            self._lines.began()
        reported = False
        try:
            made = build(self._sim, planned, spikes, self._most)
            self._sim.run((len(spikes) + planned.lag_steps) * planned.dt_ms)
            trains = made[planned.output].get_data("spikes").segments[-1].spiketrains
            values = np.zeros((len(spikes) + planned.lag_steps, len(trains)))
            for cell, train in enumerate(trains):
                for time_ms in np.asarray(train, np.float64):
                    values[round(time_ms / planned.dt_ms), cell] += 1
            self.energy, self._idle_w = modelled_energy()
            if self._lines:
                self._lines.ended(self.energy)
            reported = True
        finally:
            if self._lines and not reported:
                self._lines.failed()
            _end(self._sim)
        return values[planned.lag_steps :], None

    def close(self) -> None:
        """End the reports and leave the folder; closing twice is allowed."""
        if self._lines:
            self._lines.close()
        self._home.close()


def modelled_energy() -> tuple[dict[str, Any], float]:
    """Read sPyNNaker's energy report of the last run, and the power of an idle machine
    (W): constants times counted time, no meter."""
    functions = import_module("spinn_front_end_common.interface.interface_functions")
    used = functions.compute_energy_used()
    version = import_module(
        "spynnaker.pyNN.data"
    ).SpynnakerDataView.get_machine_version()
    idle_j = version.get_idle_energy(1.0, used.n_frames, used.n_boards, used.n_chips)
    energies = {name: float(getattr(used, name)) for name in ENERGIES}
    return {"origin": "modelled", **energies}, float(idle_j)


def _end(sim: Any) -> None:
    """End a simulation; one that failed has ended, and says so by an exception of its
    own."""
    with suppress(Exception):
        sim.end()


def _versions() -> dict[str, str]:
    versions = {"python": sys.version.split()[0], **imports.versions(PACKAGES)}
    for name in PACKAGES:
        if name not in versions:
            raise ValueError(
                f"{name} is not installed for this Python; try: rig sdk install"
                " spinnaker, then interpreter"
            )
    if (spynnaker := versions[PACKAGES[0]]) != SPYNNAKER:
        raise ValueError(
            f"sPyNNaker {spynnaker} is installed, {SPYNNAKER} is the one that was tried"
        )
    return versions
