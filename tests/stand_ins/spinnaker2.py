# SPDX-License-Identifier: Apache-2.0
"""A fake of py-spinnaker2: the calls that published programs make, and spikes that are
passed on from input to output, one step later a connection. It is no simulator of the
chip.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch


class FakePopulation:
    """A population with the parameters and spikes of the real one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.params: dict[int, list[int]] = {}
        self.fired: dict[int, list[int]] = {}

    def get_spikes(self) -> dict[int, list[int]]:
        """Return the steps when each cell fired."""
        return self.fired


class FakeNetwork:
    """What `from_nir` makes; it must be reset before each run."""

    def __init__(self, entry: FakePopulation, exit_: FakePopulation, lag: int) -> None:
        self.entry = entry
        self.exit = exit_
        self.lag = lag
        self.fresh = False

    def reset(self) -> None:
        """Clear the state of the run before."""
        self.fresh = True


class Chip:
    """A chip at an address."""

    asked: ClassVar[list[tuple[str, int, float]]] = []

    def __init__(self, *, eth_ip: str) -> None:
        self._address = eth_ip

    def run(self, network: FakeNetwork, steps: int, *, sys_tick_in_s: float) -> None:
        """Pass the input on to the cells of the same number."""
        assert network.fresh
        network.fresh = False
        self.asked.append((self._address, steps, sys_tick_in_s))
        times = network.entry.params
        network.exit.fired = {}
        for cell in range(network.exit.size):
            fired = [step + network.lag for step in times.get(cell, [])]
            network.exit.fired[cell] = fired


@dataclass(frozen=True, kw_only=True)
class ConversionConfig:
    """Only the settings of a conversion that published programs use."""

    output_record: list[str]
    dt: float
    conn_delay: int
    scale_weights: bool
    reset: str
    integrator: str


def _from_nir(graph: Any, config: Any) -> Any:
    assert config.conn_delay == 0 and config.scale_weights and config.dt > 0
    sizes = [
        node.weight.shape for node in graph.nodes.values() if hasattr(node, "weight")
    ]
    entry = FakePopulation(sizes[0][1])
    exit_ = FakePopulation(sizes[-1][0])
    return FakeNetwork(entry, exit_, len(sizes)), [entry], [exit_]


@contextmanager
def installed() -> Iterator[list[tuple[str, int, float]]]:
    """Put the fake in place; yields what its chips are asked: address, steps, tick."""
    names = SimpleNamespace
    package = ModuleType("spinnaker2")
    convert = ModuleType("spinnaker2.s2_nir")
    convert.__dict__.update(
        ConversionConfig=ConversionConfig,
        ResetMethod=names(ZERO="zero", SUBTRACT="subtract"),
        IntegratorMethod=names(FORWARD="forward"),
        from_nir=_from_nir,
    )
    hardware = ModuleType("spinnaker2.hardware")
    hardware.__dict__.update(SpiNNaker2Chip=Chip)
    modules = {
        "spinnaker2": package,
        "spinnaker2.s2_nir": convert,
        "spinnaker2.hardware": hardware,
    }
    Chip.asked = []
    with patch.dict(sys.modules, modules):
        yield Chip.asked
