# SPDX-License-Identifier: Apache-2.0
"""A network on SpiNNaker 2 by py-spinnaker2, where that is installed.

No registry that was reached has the package, so that this is written from programs
which others published (`spinnaker2.s2_nir`, `hardware.SpiNNaker2Chip`), and tested
against a fake package. No energy is read: the package states none, an external meter is
the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.workers.inside import layers
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import PlainNetwork, read


@dataclass(frozen=True)
class TwoSettings:
    """The board's address, and how long a step takes."""

    machine: str = ""
    tick_s: float = 1e-3


@dataclass(frozen=True)
class Packages:
    """The parts of py-spinnaker2 that are used, and its version."""

    hardware: Any
    convert: Any
    version: str


def open_network(job: Job) -> SpinnakerTwoRunner:
    """Build a network ready to run; ValueError where the package or a machine is
    missing."""
    settings = job.settings_as(TwoSettings)
    try:
        package: Any = import_module("spinnaker2")
        hardware: Any = import_module("spinnaker2.hardware")
        convert: Any = import_module("spinnaker2.s2_nir")
        nir: Any = import_module("nir")
    except ImportError as error:
        raise ValueError(
            "SpiNNaker 2 needs py-spinnaker2 and nir in this Python, and"
            f" {error.name or error} is missing; py-spinnaker2 is installed from its"
            " makers' repository, by hand"
        ) from error
    if not settings.machine:
        raise ValueError(
            "SpiNNaker 2 has no simulator here: set machine, the board's address"
        )
    network = read(job.plain)
    graph = nir.read(job.nir)
    graph.infer_types()
    version = str(getattr(package, "__version__", "not stated"))
    return SpinnakerTwoRunner(
        network, graph, Packages(hardware, convert, version), settings
    )


class SpinnakerTwoRunner:
    """A network on a SpiNNaker 2 chip."""

    def __init__(
        self,
        network: PlainNetwork,
        graph: Any,
        packages: Packages,
        settings: TwoSettings,
    ) -> None:
        convert = packages.convert
        self._hardware = packages.hardware
        self._machine = settings.machine
        self._tick_s = settings.tick_s
        self._lag = layers.steps_late(network, "projection")[network.outputs[0]]
        if network.conventions.scheme != "euler":
            raise ValueError("on SpiNNaker 2 networks run by forward Euler alone")
        if network.conventions.reset not in ("value", "subtract"):
            raise ValueError(
                f"SpiNNaker 2 has no reset {network.conventions.reset}; reset = zero or"
                " subtract"
            )
        reset = "SUBTRACT" if network.conventions.reset == "subtract" else "ZERO"
        config = convert.ConversionConfig(
            output_record=["spikes"],
            dt=network.dt_s,
            conn_delay=0,
            scale_weights=True,
            reset=getattr(convert.ResetMethod, reset),
            integrator=convert.IntegratorMethod.FORWARD,
        )
        self._network, entries, exits = convert.from_nir(graph, config)
        if len(entries) != 1 or len(exits) != 1:
            raise ValueError(
                f"{len(entries)} inputs and {len(exits)} outputs, one of each is meant"
            )
        self._entry = entries[0]
        self._exit = exits[0]
        self.about = {
            "versions": {"py-spinnaker2": packages.version},
            "machine": self._machine,
            "lag_steps": self._lag,
            "rule differs": layers.differs(network.conventions, "8-bit weights"),
        }

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels) from rest; return the spikes (steps, outputs),
        no membranes.
        """
        spikes = np.asarray(spikes)
        if spikes.max(initial=0) > 1:
            raise ValueError(
                f"{int(spikes.max())} spikes of a channel in one step, a list holds one"
            )
        steps_of_channels = {}
        for channel in range(spikes.shape[1]):
            steps_of_channels[channel] = np.flatnonzero(spikes[:, channel]).tolist()
        self._entry.params = steps_of_channels
        self._network.reset()
        steps = len(spikes) + self._lag
        board = self._hardware.SpiNNaker2Chip(eth_ip=self._machine)
        board.run(self._network, steps, sys_tick_in_s=self._tick_s)
        trains = self._exit.get_spikes()
        values = np.zeros((steps, len(trains)))
        for cell, times in trains.items():
            for step in times:
                values[int(step), int(cell)] += 1
        return values[self._lag :], None

    def close(self) -> None:
        """Release no resource: none is held between samples."""
