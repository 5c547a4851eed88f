# SPDX-License-Identifier: Apache-2.0
"""A host of the framed layer on a line of a test."""

from __future__ import annotations

import time
from collections.abc import Callable

from sut_backends.lines.line import DutLine
from sut_backends.shim.link import ShimLink
from sut_backends.shim.messages import DoneMessage, RunMessage
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.exchange import FrameExchange
from sut_backends.uart.framed_dut import FramedDut


def framed(line: DutLine, clock: Callable[[], float] = time.monotonic) -> FramedDut:
    """Return a host that has not said HELLO yet."""
    link = ShimLink(RetransmissionTimeouts(line.baud))
    return FramedDut(FrameExchange(line, link, clock))


def run_slot(
    dut: FramedDut, slot: int, *, repeat: int = 1, limit_s: float = 1.0
) -> DoneMessage:
    """Run what lies in a slot, whatever the host knows of it."""
    request = RunMessage(slot, repeat, dut.guard_us, dut.hold_us)
    return dut.window(request, limit_s)
