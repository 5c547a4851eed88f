# SPDX-License-Identifier: Apache-2.0
"""A network in Lava: the runner of `[sut.loihi]`, in the worker.

Lava runs each process of a network as a process of the system, over shared memory:
started from a module, never from the top of a script. Lava 0.10 needs Python 3.10 and
numpy below 2.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi import file_rule, stock_rule
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.running import LavaProcesses
from sut_backends.loihi.stock_plan import plan
from sut_backends.workers.inside import imports, layers
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read
from sut_backends.workers.inside.unrolled import unrolled

RULES = ("file", "stock")
PRECISIONS = ("floating", "fixed")
NEURONS = {"file": "process models of the file's rule", "stock": "stock LIF and Dense"}
PACKAGES = ("lava-nc", "lava-optimization", "numpy")
#: Steps of a sample that fit without a new compilation, without its lag.
RING_STEPS = 256
FILE_IN_FIXED_POINT = (
    'precision = "fixed" is the arithmetic of stock LIF on Loihi 2: set rule = "stock";'
    " the process models of the file's rule are Python, in the file's own numbers"
)
ARITHMETIC = "8-bit weights, 12-bit decays, 24-bit states"
#: The version whose process models were compared with the file's rule.
LAVA = "0.10.0"


@dataclass(frozen=True)
class LavaSettings:
    """Rule of the neurons, use and address of a chip, and arithmetic."""

    rule: str = "file"
    hardware: bool = False
    host: str = ""
    precision: str = "floating"


def open_network(job: Job) -> LavaRunner:
    """Build a network ready to run; ValueError for one that Lava does not run."""
    settings = job.settings_as(LavaSettings)
    if settings.rule not in RULES:
        raise ValueError(f"rule = {settings.rule!r}: one of {', '.join(RULES)}")
    if settings.precision not in PRECISIONS:
        raise ValueError(
            f"precision = {settings.precision!r}: one of {', '.join(PRECISIONS)}"
        )
    if settings.precision == "fixed" and settings.rule != "stock":
        raise ValueError(FILE_IN_FIXED_POINT)
    network = unrolled(layers.without_inner_ends(read(job.plain)))
    layers.refuse(network, "Lava")
    return LavaRunner(network, settings)


class LavaRunner:
    """A network in Lava on a processor, or on Loihi 2 where Lava's extension for it is
    there."""

    def __init__(self, network: Any, settings: LavaSettings) -> None:
        self._network = network
        self._rule = settings.rule
        self._hardware = settings.hardware
        self._fixed = settings.hardware or settings.precision == "fixed"
        versions = _versions()
        if self._hardware:
            if self._rule != "stock":
                raise ValueError(
                    'hardware = true runs stock LIF alone: set rule = "stock"; process'
                    " models of the file's rule are Python, and no code for the chip"
                )
            stock_rule.require_chip(settings.host)
        self._running: Any = None
        self._report: dict[str, Any] = {}
        self._build(RING_STEPS)
        self.about = {
            "versions": versions,
            "neurons": NEURONS[self._rule],
            "precision": "fixed" if self._fixed else "floating",
            "runs on": (
                "Loihi 2" if self._hardware else "Lava's simulator on a processor"
            ),
            **self._report,
        }

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels), or images, from rest; return values (steps,
        outputs) and the last membranes.
        """
        spikes = np.asarray(spikes, np.float64).reshape(len(spikes), -1)
        if not self._running.holds(len(spikes)):
            self._build(2 * len(spikes))
        values, membranes = self._running.run(spikes)
        return values, membranes

    def close(self) -> None:
        """End Lava's processes; closing twice is allowed."""
        if self._running is not None:
            self._running.close()

    def _build(self, ring_steps: int) -> None:
        """Build the processes, with room for samples of so many steps, and have Lava
        compile."""
        self.close()
        network = self._network
        configs = import_module("lava.magma.core.run_configs")
        tag = "fixed_pt" if self._fixed else "floating_pt"
        config = (
            configs.Loihi2HwCfg()
            if self._hardware
            else configs.Loihi2SimCfg(select_tag=tag)
        )
        if self._rule == "file":
            built = file_rule.build(network, ring_steps)
        else:
            planned = plan(network, vectors=not self._fixed)
            fixed = fixed_point(planned) if self._fixed else None
            channels = layers.channels(network)
            built = stock_rule.build(
                planned, channels, ring_steps, fixed, chip=self._hardware
            )
            more = (ARITHMETIC,) if fixed else ()
            self._report = {"rule differs": layers.differs(network.conventions, *more)}
            if fixed:
                self._report |= {"processes": fixed.report}
        self._report |= {"lag_steps": built.lag_steps}
        self._running = LavaProcesses(built, ring_steps, config)
        self._running.compile()


def _versions() -> dict[str, str]:
    """Look up the versions of the packages in use; ValueError where Lava is missing or
    of another version."""
    absent = dict.fromkeys(PACKAGES, "not installed")
    versions = {
        "python": sys.version.split()[0],
        **absent,
        **imports.versions(PACKAGES),
    }
    lava = versions[PACKAGES[0]]
    if lava == "not installed":
        raise ValueError(
            "lava-nc is not installed for this Python; try: rig sdk install loihi, then"
            " interpreter"
        )
    if lava != LAVA:
        raise ValueError(
            f"lava-nc {lava} is installed, {LAVA} is the one whose spikes were compared"
        )
    return versions
