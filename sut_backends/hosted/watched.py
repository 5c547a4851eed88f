# SPDX-License-Identifier: Apache-2.0
"""A device behind a UART whose other end is a process of ours: when it fails, whether
the process ended is looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from rig.errors import DeadlineError, DeviceLost, ProtocolError
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.recount import Recount, WireBlock
from rig.model.completion import Completion
from rig.model.steps import Step
from sut_backends.hosted.sync_wire import EdgeWire
from sut_backends.processes.child_process import ChildProcess
from sut_backends.shim.console import ShimDecoder
from sut_backends.shim.recount import recounted
from sut_backends.uart.backend import UartSut
from sut_backends.uart.self_test import SelfTested


class WatchedSut(Backend):
    """Do what the UART backend does, and tell the end of the process, or a fault of the
    edge wire, before what followed from it.
    """

    def __init__(
        self, uart: UartSut, process: ChildProcess, edges: EdgeWire, stack: ExitStack
    ) -> None:
        self.edges = edges
        self._uart = uart
        self._process = process
        self._stack = stack

    @staticmethod
    def decoder() -> ShimDecoder:
        """Return what puts the shim protocol into words."""
        return ShimDecoder()

    @staticmethod
    def recount(blocks: Sequence[WireBlock]) -> Recount:
        """Decode a log of the line."""
        return recounted(blocks)

    @property
    def late_events(self) -> int:
        """Return how many edges came after a horizon beyond them had been handed out; 0
        unless the machine is overloaded.
        """
        return self.edges.late_events

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step over the line of the process."""
        with watched(self._process, self.edges), self.edges.marking():
            return self._uart.do(step, payloads)

    def self_test(self) -> SelfTested | None:
        """Let the DUT test itself; None in the text layer, which has no self-test."""
        with watched(self._process, self.edges), self.edges.marking():
            return self._uart.self_test()

    def close(self) -> None:
        """Leave the DUT, end its process and its threads; closing twice is allowed."""
        self._stack.close()


@contextmanager
def watched(process: ChildProcess, edges: EdgeWire) -> Iterator[None]:
    """Raise the fault of the edge wire, or DeviceLost for a process that ended, in
    place of what followed from it.
    """
    if edges.fault is not None:
        raise edges.fault
    try:
        yield
    except (DeviceLost, DeadlineError, ProtocolError) as error:
        gone = process.gone()
        if gone is not None:
            raise gone from error
        raise
