# SPDX-License-Identifier: Apache-2.0
"""The context of an open bench, which its parts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rig.interfaces.cpu_program import Program
from rig.simulation.world import World


class Searcher(Protocol):
    """A search for a vector of low cost that goes on step by step, so that a virtual device can do
    it in virtual time.
    """

    @property
    def cost(self) -> int:
        """Return the best cost so far."""

    def step(self, work: int) -> None:
        """Search on for at least `work` touched neighbours."""

    def output(self, met: bool) -> bytes:
        """Return what a device answers at the end: the best cost so far and its vector; `met`: the
        target was reached.
        """


Wire = Callable[[str, bytes], None]


def _silent(direction: str, block: bytes) -> None:
    return


@dataclass(slots=True)
class BenchState:
    """The state of an open bench that changes.

    `wire` is called with every block of bytes that passes the UART, with its direction "tx" (host
    to device) or "rx"; cheap, never raises. `trial` is the number of the trial at hand, from 1.
    `program` is the name of the task's program that the SUT runs, empty where it runs none, None
    before it is open.
    """

    wire: Wire = _silent
    trial: int = 1
    program: str | None = None


@dataclass(frozen=True, slots=True)
class BenchContext:
    """The context that every backend, monitor, scenario and task is given when it is opened; built
    once, by rig/bench/parts.py.

    `folder` is where the bench file lies: relative paths in it start there. `world` is the truth
    behind simulated devices. `seed` makes everything random on this bench repeatable. `reference`
    is the task's own answer to a payload, where it has one: what a virtual device answers.
    `searcher` makes a search of a payload from a seed on, where the task's samples are workloads to
    search: what a virtual device does for a Solve. `programs` are the task's own implementations by
    name, where it has any: what a CPU runs. `sample` is a payload that the device must accept, for
    a probe. `monitored`: there is an energy monitor, which needs a SYNC line. `state` is what
    changes while the bench is open.
    """

    folder: Path = field(default_factory=Path)
    world: World = field(default_factory=World)
    seed: int = 0
    reference: Callable[[bytes], bytes] | None = None
    searcher: Callable[[bytes, int], Searcher] | None = None
    programs: Mapping[str, Program] = field(default_factory=dict)
    sample: bytes = b""
    monitored: bool = True
    state: BenchState = field(default_factory=BenchState)

    def wire(self, direction: str, block: bytes) -> None:
        """Pass a block from the UART on to the listener."""
        self.state.wire(direction, block)
