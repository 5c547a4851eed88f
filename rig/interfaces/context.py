# SPDX-License-Identifier: Apache-2.0
"""The context of an open bench, which its parts share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from rig.host.stop import Stop
from rig.interfaces.contact import Contact, Direct
from rig.interfaces.cpu_program import Program
from rig.interfaces.network_task import IntegerWorkload, NetworkWorkload
from rig.simulation.world import World


class Searcher(Protocol):
    """A search for a vector of low cost, in steps of virtual time."""

    @property
    def cost(self) -> int:
        """Best cost so far."""

    def step(self, work: int) -> None:
        """Search on for at least `work` touched neighbours."""

    def output(self, met: bool) -> bytes:
        """Encode the answer of a device at the end: the best cost so far and its
        vector; `met`: the target was reached.
        """


Wire = Callable[[str, bytes], None]
#: Answers for the next windows of one stream, in their order.
Listener = Callable[[Sequence[bytes]], Sequence[bytes]]

_lock = threading.Lock()


@dataclass(slots=True)
class BenchState:
    """The state of an open bench that changes.

    `listeners` are called with every block of bytes that passes the UART; `deaf` names
    those that raised and are called no more. `trial` is the number of the trial at
    hand, from 1. `program` is the name of the task's program that the SUT runs, empty
    where it runs none, None before it is open.
    """

    listeners: tuple[Wire, ...] = ()
    deaf: tuple[str, ...] = ()
    trial: int = 1
    program: str | None = None


@dataclass(frozen=True, slots=True)
class BenchContext:
    """The context that every backend, monitor, scenario and task is given when it is
    opened; built once, by rig/bench/parts.py.

    `folder` is that of the bench file: relative paths in it start there. `world` holds
    the true states of simulated devices. `seed` makes everything random on this bench
    repeatable. `reference` is the task's own answer to a payload, which a virtual
    device gives, None where the task has none. `listening` begins a stream whose
    answers depend on the windows before, None where they do not. `expect` announces
    payloads whose answers will be needed, so that the task computes them together.
    `searcher` starts a search of a payload from a seed, for a virtual device's Solve,
    where the task's samples are workloads to search. `programs` are the task's
    implementations by name, which a CPU runs. `network` is the task's network, for
    backends of SDKs, simulators and GPUs, and for a CPU in floating point; `integers`
    is its network in whole numbers, for GPUs. `phases` are the task's. `sample` is a
    payload that the device must accept, for a probe. `monitored`: there is an energy
    monitor, which needs a SYNC line. Everything that waits checks `stop`. `state`
    changes while the bench is open. `section` is the section of a monitor's settings in
    the bench file, such as rail.core.playback, for a driver's hints. `contact` records
    conversations with instruments, or plays them back.
    """

    folder: Path = field(default_factory=Path)
    world: World = field(default_factory=World)
    seed: int = 0
    reference: Callable[[bytes], bytes] | None = None
    listening: Callable[[], Listener] | None = None
    expect: Callable[[Sequence[bytes]], None] | None = None
    searcher: Callable[[bytes, int], Searcher] | None = None
    programs: Mapping[str, Program] = field(default_factory=dict)
    network: NetworkWorkload | None = None
    integers: IntegerWorkload | None = None
    phases: tuple[str, ...] = ("preprocess", "infer")
    sample: bytes = b""
    monitored: bool = True
    section: str = ""
    contact: Contact = field(default_factory=Direct)
    stop: Stop = field(default_factory=Stop)
    state: BenchState = field(default_factory=BenchState)

    def listen(self, listener: Wire) -> Callable[[], None]:
        """Call `listener` with every block that passes the UART; return a function that
        ends that and may be called twice.

        The listener is called in the thread that talks to the device, and must be
        quick. One that raises is dropped, so that it does not end the conversation.
        """
        with _lock:
            self.state.listeners = (*self.state.listeners, listener)
        return partial(self.forget, listener)

    def wire(self, direction: str, block: bytes) -> None:
        """Pass a block of the UART to all listeners; `direction` is "tx" (host to
        device) or "rx".
        """
        for listener in self.state.listeners:
            try:
                listener(direction, block)
            except Exception as error:
                self.forget(listener)
                self.state.deaf = (*self.state.deaf, f"{name_of(listener)}: {error!r}")

    def forget(self, listener: Wire) -> None:
        """Stop calling `listener`."""
        with _lock:
            self.state.listeners = tuple(
                other for other in self.state.listeners if other is not listener
            )


def name_of(called: object) -> str:
    """Return the qualified name of a callable or of its class."""
    return getattr(called, "__qualname__", "") or type(called).__qualname__
