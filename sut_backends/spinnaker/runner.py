# SPDX-License-Identifier: Apache-2.0
"""A network on SpiNNaker 1 by sPyNNaker: the runner of `[sut.spinnaker]`, in the
worker.

Without a machine sPyNNaker maps on a virtual board and computes no dynamics: that is a
report, and no system under test.

A plan as PyNN populations and projections, and what sPyNNaker says of its
mapping.

Append sPyNNaker's energy report of each run to a file, inside the worker that runs
the network; drivers/spinnaker_model follows the file. Standard library alone.

The file: a line of JSON each. The first is {"spinnaker_model": 1, "spynnaker": version,
"opened_ns", "idle_w"}, of an idle machine. A run writes {"began_ns"} before it begins,
then the report's energies with "ended_ns", or {"failed_ns"}. Times are those of
CLOCK_MONOTONIC. The last line is {"closed_ns"}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sut_backends.spinnaker.own_home import OwnHome, config
from sut_backends.spinnaker.pynn_plan import PynnPlan, PynnPopulation, plan
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


#: A weight is 16 bits, and so is the sum of a step in a ring buffer.
RAW_MAX = 65_535
#: sPyNNaker's own vertices, which a network does not use.
NOT_OURS = ("SYSTEM:", "ChipPowerMonitor")


def build(
    sim: Any, plan: PynnPlan, spikes: Any, input_spikes_max: int
) -> dict[str, Any]:
    """Set sPyNNaker up and return the populations by node; spikes (steps, channels).

    For an input that fires several times a step each channel has several sources, as
    many of which fire.
    """
    sim.setup(timestep=plan.dt_ms, min_delay=plan.dt_ms)
    made = {
        plan.input: sim.Population(
            plan.channels * input_spikes_max,
            sim.SpikeSourceArray(spike_times=_times(plan, spikes, input_spikes_max)),
            label=plan.input,
        )
    }
    for one in plan.populations:
        cells = getattr(sim, one.kind)(**_lists(one.parameters))
        made[one.node] = sim.Population(one.size, cells, label=one.node)
        made[one.node].initialize(v=np.broadcast_to(one.begin_mv, one.size).tolist())
    made[plan.output].record("spikes")
    for projection in plan.projections:
        copies = input_spikes_max if projection.source == plan.input else 1
        weights = np.repeat(projection.weights, copies, axis=1)
        for receptor, part in (("excitatory", weights), ("inhibitory", -weights)):
            outputs, inputs = np.nonzero(part > 0)
            listed = [
                (int(pre), int(post), float(part[post, pre]), plan.dt_ms)
                for post, pre in zip(outputs, inputs, strict=True)
            ]
            if listed:
                sim.Projection(
                    made[projection.source],
                    made[projection.target],
                    sim.FromListConnector(listed),
                    receptor_type=receptor,
                )
    return made


def _times(plan: PynnPlan, spikes: Any, most: int) -> list[Any]:
    """List the times of each source; one empty list where none fires at all, as
    sPyNNaker 7.4.1 fails on lists that are all empty."""
    if not np.any(spikes):
        return []
    times = []
    for channel in range(plan.channels):
        for number in range(most):
            steps = np.flatnonzero(spikes[:, channel] > number)
            times.append([float(step) * plan.dt_ms for step in steps])
    return times


def _lists(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in parameters.items()
    }


def report(
    plan: PynnPlan, made: dict[str, Any], input_spikes_max: int
) -> dict[str, Any]:
    """Return where sPyNNaker put a network, and what 16 bits do to its weights."""
    view = import_module("spynnaker.pyNN.data").SpynnakerDataView
    placed = [
        place
        for place in view.iterate_placemements()
        if not str(place.vertex.label).startswith(NOT_OURS)
    ]
    return {
        "time_step_ms": plan.dt_ms,
        "cores": len(placed),
        "chips": len({(place.x, place.y) for place in placed}),
        "chips of the machine": view.get_machine().n_chips,
        "placed": [
            f"{place.vertex.label} on {place.x},{place.y},{place.p}" for place in placed
        ],
        "weights": [
            _saturation(plan, one, made[one.node], input_spikes_max)
            for one in plan.populations
        ],
        "rule differs": plan.differs,
        "lag_steps": plan.lag_steps,
    }


def _saturation(
    plan: PynnPlan, population: PynnPopulation, made: Any, input_spikes_max: int
) -> dict[str, Any]:
    """Describe how a population's weights fit into 16 bits: sPyNNaker scales them by
    the sums that it expects at its own mean rate, so that a step with more spikes can
    overflow.
    """
    vertex = made._vertex  # sPyNNaker has no public way to its scales.
    excitatory, inhibitory = map(
        float, vertex.get_weight_scales(vertex.get_ring_buffer_shifts())
    )
    into = [
        np.repeat(
            one.weights, input_spikes_max if one.source == plan.input else 1, axis=1
        )
        for one in plan.projections
        if one.target == population.node
    ]
    weights = np.concatenate(into, axis=1)
    facts: dict[str, Any] = {"node": population.node, "mv": population.mv}
    for name, part, scale in (
        ("excitatory", np.maximum(weights, 0), excitatory),
        ("inhibitory", np.maximum(-weights, 0), inhibitory),
    ):
        raw = part * scale
        there = int(np.count_nonzero(part))
        facts[name] = {
            "largest": float(raw.max(initial=0.0)),
            "saturated": int(np.sum(raw > RAW_MAX)),
            "rounded to 0": int(np.sum((part > 0) & (raw < 0.5))),
            "of": there,
            "sum of a step at most": float(raw.sum(axis=1).max(initial=0.0)),
            "a step can overflow": bool(raw.sum(axis=1).max(initial=0.0) > RAW_MAX),
        }
    return facts


VERSION = 1


class EnergyLines:
    """The file of one worker."""

    def __init__(self, path: str, spynnaker: str, idle_w: float) -> None:
        # A new file, not an old one emptied: its follower sees that by the inode.
        Path(path).unlink(missing_ok=True)
        self._file = Path(path).open("x", encoding="utf-8")  # noqa: SIM115, closed by `close`
        self._write(
            {
                "spinnaker_model": VERSION,
                "spynnaker": spynnaker,
                "opened_ns": time.monotonic_ns(),
                "idle_w": idle_w,
            }
        )

    def began(self) -> None:
        """Note that a run begins now."""
        self._write({"began_ns": time.monotonic_ns()})

    def ended(self, energies: Mapping[str, Any]) -> None:
        """Note that the run has ended, with its report (J and s by name)."""
        self._write({"ended_ns": time.monotonic_ns(), **energies})

    def failed(self) -> None:
        """Note that the run has failed, and has no report."""
        self._write({"failed_ns": time.monotonic_ns()})

    def close(self) -> None:
        """End the file; closing twice is allowed."""
        if not self._file.closed:
            self._write({"closed_ns": time.monotonic_ns()})
            self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
