# SPDX-License-Identifier: Apache-2.0
"""A device on a line whose other end is a child process of the rig."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rig.errors import DeadlineError, DeviceLost, ProtocolError
from sut_backends.hosted.sync_wire import EdgeWire
from sut_backends.lines.line import DutLine
from sut_backends.processes.child_process import ChildProcess
from sut_backends.uart.connect import LinkSettings
from sut_backends.uart.shim_sut import ShimSut


class WatchedSut(ShimSut):
    """A ShimSut that reports the end of its process, or a fault of its edge wire, in
    place of the errors that follow from it.

    It takes over the resources on `stack`, which are released when it is closed.
    """

    def __init__(
        self,
        line: DutLine,
        settings: LinkSettings,
        *,
        simulated: bool,
        process: ChildProcess,
        edges: EdgeWire,
        stack: ExitStack,
    ) -> None:
        super().__init__(
            line,
            settings,
            simulated=simulated,
            guard=lambda: watched(process, edges),
        )
        self.edges = edges
        self._resources = stack.pop_all()

    @property
    def late_events(self) -> int:
        """Number of edges that came after a horizon beyond them had been handed out; 0
        unless the machine is overloaded.
        """
        return self.edges.late_events

    def close(self) -> None:
        """Leave the DUT, end its process and its threads; closing twice is allowed."""
        with self._resources:
            super().close()


@contextmanager
def watched(process: ChildProcess, edges: EdgeWire) -> Iterator[None]:
    """Let the device mark in this context. Raise the fault of the edge wire, or
    DeviceLost for a process that ended, in place of errors that follow from it.
    """
    if edges.fault is not None:
        raise edges.fault
    try:
        with edges.marking():
            yield
    except (DeviceLost, DeadlineError, ProtocolError) as error:
        gone = process.gone()
        if gone is not None:
            raise gone from error
        raise
