# SPDX-License-Identifier: Apache-2.0
"""Modules with the names and calls of sPyNNaker 7.4.1 that this backend makes, and a
small simulation of PyNN's two current-based cells. Its energy report is made up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

VERSIONS = {"sPyNNaker": "1!7.4.1", "PyNN": "0.13.0", "numpy": np.__version__}
IDLE_CHIP_W = 0.35
ACTIVE_CORE_W = 0.034
_MEMBRANE = ("tau_m", "cm", "v_rest", "v_reset", "v_thresh", "tau_refrac", "i_offset")
#: The kinds of cells, and the parameters that each takes.
KINDS = {
    "SpikeSourceArray": ("spike_times",),
    "IF_curr_exp": (*_MEMBRANE, "tau_syn_E", "tau_syn_I"),
    "IF_curr_delta": _MEMBRANE,
}


@dataclass
class Cells:
    """A kind of cells with its parameters."""

    kind: str
    parameters: dict[str, Any]


@dataclass
class Vertex:
    """What sPyNNaker makes of a population."""

    label: str

    def get_ring_buffer_shifts(self) -> list[int]:
        """Return the shifts of both receptors: the largest weight a quarter of the
        range.
        """
        into = [
            item for item in Simulator.now.projections if item.behind._vertex is self
        ]
        largest = max(float(item.weights.max(initial=0.0)) for item in into)
        return [int(np.ceil(np.log2(4 * largest)))] * 2

    def get_weight_scales(self, ring_buffer_shifts: list[int]) -> Any:
        """Return the factors from nA to 16 bits."""
        return np.array([2.0 ** (15 - shift) for shift in ring_buffer_shifts])


@dataclass
class Population:
    """A population; `spikes` has its spikes, a row a step."""

    size: int
    cells: Cells
    label: str
    begin: Any = 0.0
    recorded: list[str] = field(default_factory=list)
    spikes: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._vertex = Vertex(f"{self.label}(0:{self.size - 1})")
        Simulator.now.populations.append(self)

    def initialize(self, *, v: Any) -> None:
        """Set what membranes begin with."""
        self.begin = np.asarray(v)

    def record(self, variables: str) -> None:
        """Ask for a recording."""
        self.recorded.append(variables)

    def get_data(self, variables: str) -> Any:
        """Return a recording, which must have been asked for, as neo does."""
        assert variables in self.recorded
        rows = (
            np.array(self.spikes)
            if Simulator.has_machine()
            else np.zeros((0, self.size))
        )
        trains = [
            np.flatnonzero(rows[:, cell]) * Simulator.now.timestep
            for cell in range(self.size)
        ]
        return SimpleNamespace(segments=[SimpleNamespace(spiketrains=trains)])


@dataclass
class Projection:
    """Connections [(source, target, weight, delay in ms)]."""

    before: Population
    behind: Population
    listed: list[tuple[int, int, float, float]]
    receptor_type: str

    def __post_init__(self) -> None:
        now = Simulator.now
        assert all(
            weight > 0 and delay == now.timestep for _, _, weight, delay in self.listed
        )
        now.projections.append(self)
        self.weights = np.zeros((self.behind.size, self.before.size))
        for before, behind, weight, _ in self.listed:
            self.weights[behind, before] += weight

    def brought(self) -> Any:
        """Return the current from the spikes of the step before."""
        spikes = (
            self.before.spikes[-1] if self.before.spikes else np.zeros(self.before.size)
        )
        taken = self.weights @ spikes
        return taken if self.receptor_type == "excitatory" else -taken


class Simulator:
    """The state of the simulation that was set up last."""

    now: Simulator

    def __init__(self, timestep: float) -> None:
        self.timestep = timestep
        self.populations: list[Population] = []
        self.projections: list[Projection] = []
        self.ran_ms = 0.0
        self.ended = False

    @staticmethod
    def has_machine() -> bool:
        """Return whether the configuration in the home folder names a machine."""
        text = (Path(os.environ["HOME"]) / ".spynnaker.cfg").read_text(encoding="utf-8")
        return "machine_name" in text

    def run(self, duration_ms: float) -> None:
        """Run; on a virtual board no cell fires."""
        self.ran_ms += duration_ms
        states: dict[int, tuple[Any, Any]] = {
            id(item): (np.zeros(item.size), np.broadcast_to(item.begin, item.size))
            for item in self.populations
        }
        for step in range(round(duration_ms / self.timestep)):
            brought = {}
            for item in self.populations:
                inputs = [each for each in self.projections if each.behind is item]
                currents = [each.brought() for each in inputs]
                brought[id(item)] = sum(currents, np.zeros(item.size))
            for item in self.populations:
                fired, states[id(item)] = _step(
                    item, brought[id(item)], states[id(item)], step
                )
                item.spikes.append(fired)


def _step(one: Population, brought: Any, state: tuple[Any, Any], step: int) -> Any:
    """Return a population's spikes of a step, and its current and membrane after it."""
    dt = Simulator.now.timestep
    if one.cells.kind == "SpikeSourceArray":
        times = one.cells.parameters.get("spike_times") or [[]] * one.size
        return np.array([float(step * dt in some) for some in times]), state
    values = SimpleNamespace(
        **{name: np.asarray(value) for name, value in one.cells.parameters.items()}
    )
    current, membrane = state
    kept = np.exp(-dt / values.tau_m)
    if one.cells.kind == "IF_curr_exp":
        current = current * np.exp(-dt / values.tau_syn_E) + brought
        aim = values.v_rest + current * values.tau_m / values.cm
    else:
        aim = values.v_rest
        membrane = membrane + brought
    membrane = aim + (membrane - aim) * kept
    fired = membrane > values.v_thresh
    return fired.astype(float), (current, np.where(fired, values.v_reset, membrane))


def setup(*, timestep: float, min_delay: float) -> None:
    """Begin a simulation."""
    assert timestep == min_delay > 0
    Simulator.now = Simulator(timestep)


def run(simtime: float) -> None:
    """Run for so many milliseconds."""
    Simulator.now.run(simtime)


def population(size: int, cellclass: Cells, *, label: str) -> Population:
    """Return cells."""
    return Population(size, cellclass, label)


def projection(
    presynaptic_population: Population,
    postsynaptic_population: Population,
    connector: list[tuple[int, int, float, float]],
    *,
    receptor_type: str,
) -> Projection:
    """Return connections."""
    return Projection(
        presynaptic_population, postsynaptic_population, connector, receptor_type
    )


def connections(conn_list: list[tuple[int, int, float, float]]) -> list[Any]:
    """Return connections that were listed."""
    return list(conn_list)


def end() -> None:
    """End the simulation."""
    assert not Simulator.now.ended
    Simulator.now.ended = True


def _placements() -> list[Any]:
    own = [
        SimpleNamespace(
            vertex=SimpleNamespace(label="SYSTEM:ExtraMonitor"), x=0, y=0, p=1
        )
    ]
    return own + [
        SimpleNamespace(vertex=item._vertex, x=0, y=core // 4, p=2 + core % 4)
        for core, item in enumerate(Simulator.now.populations)
    ]


def _energy() -> Any:
    time_s = Simulator.now.ran_ms / 1e3
    cores = len(Simulator.now.populations)
    energy_j = (48 * IDLE_CHIP_W + cores * ACTIVE_CORE_W) * time_s
    counts = {"n_frames": 0, "n_boards": 1, "n_chips": 48}
    names = ("exec_energy_j", "exec_energy_cores_j", "exec_energy_boards_j")
    rest = dict.fromkeys(
        ("loading_energy_j", "mapping_energy_j", "saving_energy_j"), 1.0
    )
    return SimpleNamespace(
        exec_time_s=time_s, **dict.fromkeys(names, energy_j), **rest, **counts
    )


class Version:
    """The version of a machine, with its part of the energy model."""

    def get_idle_energy(
        self, time_s: float, n_frames: int, n_boards: int, n_chips: int
    ) -> float:
        """Return the energy of an idle machine."""
        return n_chips * IDLE_CHIP_W * time_s


def _cells(kind: str, **parameters: Any) -> Cells:
    if unknown := parameters.keys() - set(KINDS[kind]):
        raise TypeError(f"{kind} takes no {', '.join(sorted(unknown))}")
    return Cells(kind, parameters)


@contextmanager
def installed(versions: dict[str, str] | None = None) -> Iterator[None]:
    """Put the modules in place of sPyNNaker's, of these versions."""
    stated = VERSIONS if versions is None else versions
    cells = {kind: partial(_cells, kind) for kind in KINDS}
    view = SimpleNamespace(
        iterate_placemements=_placements,
        get_machine=lambda: SimpleNamespace(n_chips=48),
        get_machine_version=Version,
    )
    modules: dict[str, dict[str, Any]] = {
        "pyNN.spiNNaker": {
            **cells,
            "setup": setup,
            "run": run,
            "end": end,
            "Population": population,
            "Projection": projection,
            "FromListConnector": connections,
        },
        "spynnaker.pyNN.data": {"SpynnakerDataView": view},
        "spinn_front_end_common.interface.interface_functions": {
            "compute_energy_used": _energy
        },
    }
    made: dict[str, ModuleType] = {}
    for name, content in modules.items():
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            made.setdefault(
                ".".join(parts[:count]), ModuleType(".".join(parts[:count]))
            )
        made[name].__dict__.update(content)
    with (
        patch.dict(sys.modules, made),
        patch("importlib.metadata.version", stated.__getitem__),
    ):
        yield
