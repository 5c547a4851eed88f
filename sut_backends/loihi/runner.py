# SPDX-License-Identifier: Apache-2.0
"""A network in Lava: the runner of `[sut.loihi]`, in the worker.

Lava runs each process of a network as a process of the system, over shared memory: started from a
module, never from the top of a script. Lava 0.10 needs Python 3.10 and numpy below 2.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

import numpy as np

from sut_backends.loihi.running import Running
from sut_backends.loihi.stock_plan import plan
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read

RULES = ("file", "stock")
NEURONS = {"file": "process models of the file's rule", "stock": "stock LIF and Dense"}
PACKAGES = ("lava-nc", "lava-optimization", "numpy")
#: Steps of a sample that fit without compiling anew, its lag taken off.
RING_STEPS = 256
#: The version whose process models were compared with the file's rule.
LAVA = "0.10.0"


@dataclass(frozen=True)
class LavaSettings:
    """Whose rule neurons follow, whether they are on a chip, and where that is."""

    rule: str = "file"
    hardware: bool = False
    host: str = ""


def open_network(job: Job) -> LavaRunner:
    """Return a network ready to run; ValueError for one that Lava does not run."""
    settings = job.settings_as(LavaSettings)
    if settings.rule not in RULES:
        raise ValueError(f"rule = {settings.rule!r}: one of {', '.join(RULES)}")
    network = read(job.plain)
    layers.refuse(network, "Lava")
    return LavaRunner(network, settings)


class LavaRunner:
    """A network in Lava on a processor, or on Loihi 2 where Lava's extension for it is there."""

    def __init__(self, network: Any, settings: LavaSettings) -> None:
        self._network = network
        self._rule = settings.rule
        self._hardware = settings.hardware
        versions = _versions()
        if self._hardware:
            if self._rule != "stock":
                raise ValueError(
                    'hardware = true runs stock LIF alone: set rule = "stock"; process models of '
                    "the file's rule are Python, and no code for the chip"
                )
            chip = import_module("sut_backends.loihi.hardware")
            chip.require(settings.host)
        self._running: Any = None
        self._report: dict[str, Any] = {}
        self._build(RING_STEPS)
        self.about = {
            "versions": versions,
            "neurons": NEURONS[self._rule],
            "runs on": "Loihi 2" if self._hardware else "Lava's simulator on a processor",
            **self._report,
        }

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels) from rest; return values (steps, outputs) and the last
        membranes.
        """
        spikes = np.asarray(spikes, np.float64)
        if not self._running.holds(len(spikes)):
            self._build(2 * len(spikes))
        values, membranes = self._running.run(spikes)
        return values, membranes

    def close(self) -> None:
        """End Lava's processes; closing twice is allowed."""
        if self._running is not None:
            self._running.close()

    def _build(self, ring_steps: int) -> None:
        """Build the processes, with room for samples of so many steps, and have Lava compile."""
        self.close()
        network = self._network
        configs = import_module("lava.magma.core.run_configs")
        if self._hardware:
            chip = import_module("sut_backends.loihi.hardware")
            found = plan(network, vectors=False)
            fixed = chip.fixed_point(found)
            built = chip.build(found, fixed, layers.channels(network), ring_steps)
            config = configs.Loihi2HwCfg()
            self._report = {
                "rule differs": layers.differs(network.conventions, "8-bit weights, 12-bit decays"),
                "processes": fixed.report,
            }
        elif self._rule == "file":
            built = import_module("sut_backends.loihi.file_rule").build(network, ring_steps)
            config = configs.Loihi2SimCfg(select_tag="floating_pt")
        else:
            stock = import_module("sut_backends.loihi.stock_rule")
            found = plan(network, vectors=True)
            built = stock.build(found, layers.channels(network), ring_steps)
            config = configs.Loihi2SimCfg(select_tag="floating_pt")
            self._report = {"rule differs": layers.differs(network.conventions)}
        self._report |= {"lag_steps": built.lag_steps}
        self._running = Running(built, ring_steps, config)
        self._running.compile()


def _versions() -> dict[str, str]:
    """Return the versions of what takes part; ValueError where Lava is missing or another one."""
    found = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    lava = found[PACKAGES[0]]
    if lava == "not installed":
        raise ValueError(
            "lava-nc is not installed for this Python; try: rig sdk install loihi, then interpreter"
        )
    if lava != LAVA:
        raise ValueError(
            f"lava-nc {lava} is installed, {LAVA} is the one whose spikes were compared"
        )
    return found
