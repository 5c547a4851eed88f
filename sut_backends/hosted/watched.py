# SPDX-License-Identifier: Apache-2.0
"""A device on a line whose other end is a child process of the rig."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Annotated

from annotated_types import doc

from sut_backends.hosted.sync_wire import EdgeWire
from sut_backends.lines.line import DutLine
from sut_backends.processes.child_process import ChildProcess
from sut_backends.uart.connect import LinkSettings
from sut_backends.uart.shim_sut import ShimSut

FedByUart = Annotated[
    bool, doc("Its UART feeds it through its pins, so that it runs without supply.")
]


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
            guard=partial(edges.marking, process),
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
