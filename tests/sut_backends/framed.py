# SPDX-License-Identifier: Apache-2.0
"""A host of the framed layer on a line of a test."""

from __future__ import annotations

import time
from collections.abc import Callable

from sut_backends.lines.line import DutLine
from sut_backends.shim.link import ShimLink
from sut_backends.shim.messages import CapsMessage, DoneMessage, Flag, RunMessage
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.exchange import FrameExchange
from sut_backends.uart.framed_dut import FramedDut

#: A device without optional parts, which has no strings.
CAPS = CapsMessage(
    nonce=1,
    protocol=1,
    window=8,
    max_payload_b=256,
    slots=2,
    slot_b=1024,
    output_b=64,
    marks_max=16,
    tick_hz=10**6,
    hold_min_us=1,
    phases=2,
    flags=Flag(0),
)


def framed(line: DutLine, clock: Callable[[], float] = time.monotonic) -> FramedDut:
    """Return a host before its HELLO."""
    link = ShimLink(RetransmissionTimeouts(line.baud))
    return FramedDut(FrameExchange(line, link, clock))


def run_slot(
    dut: FramedDut, slot: int, *, repeat: int = 1, limit_s: float = 1.0
) -> DoneMessage:
    """Run the content of a slot, even if unknown to the host."""
    request = RunMessage(slot, repeat, dut.guard_us, dut.hold_us)
    return dut.window(request, limit_s)
