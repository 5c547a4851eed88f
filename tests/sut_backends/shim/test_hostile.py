# SPDX-License-Identifier: Apache-2.0
"""Answers that none of our firmware sends: each wait ends, and none is a traceback."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rig.errors import RemoteProtocolError
from sut_backends.shim.frame import Frame
from sut_backends.shim.messages import CapsMessage, HelloMessage, MessageKind
from sut_backends.shim.request import Request, SilentWindow
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.shim.window import RequestWindow
from sut_backends.uart.framed_dut import FramedDut
from tests.sut_backends.framed import CAPS

BAUD = 115_200
WINDOW_S = 2.0


@pytest.mark.parametrize("period_s", [0.01, 0.2, 0.7])
def test_acknowledgements_without_end_do_not_keep_a_window_open(
    period_s: float,
) -> None:
    request = Request(
        MessageKind.RUN,
        b"\0" * 8,
        5,
        RetransmissionTimeouts(BAUD),
        silence=SilentWindow(0.1, WINDOW_S),
    )
    now_s = 0.0
    while not request.finished:
        request.outgoing(now_s)
        now_s += period_s
        request.receive(Frame(MessageKind.ACK, 6, b"\0" * 4), now_s)
        request.expire(now_s)
        # After the window DONE is asked for a few times.
        assert now_s < 4 * WINDOW_S, "the window does not end"
    assert request.failed


def test_an_acknowledgement_for_each_repeat_still_moves_the_limit() -> None:
    request = Request(
        MessageKind.RUN,
        b"\0" * 8,
        5,
        RetransmissionTimeouts(BAUD),
        silence=SilentWindow(0.1, WINDOW_S),
    )
    now_s = 0.0
    for _ in range(2):
        assert request.outgoing(now_s)
        now_s = request.wake_s
        request.expire(now_s)
    request.receive(Frame(MessageKind.ACK, 6, b"\0" * 4), now_s)
    first_s = request.wake_s
    request.receive(Frame(MessageKind.ACK, 6, b"\0" * 4), now_s + 0.5)
    assert request.wake_s == pytest.approx(first_s + 0.5)


@pytest.mark.parametrize("payload", [b"", b"\0", b"\0" * 9])
def test_an_acknowledgement_of_another_length_counts_for_nothing(
    payload: bytes,
) -> None:
    stream = RequestWindow(
        [(MessageKind.DATA, b"a" * 20)] * 3, 0, 4, RetransmissionTimeouts(BAUD)
    )
    stream.outgoing(0.0)
    stream.receive(Frame(MessageKind.ACK, 1, payload), 0.01)
    assert not stream.finished


def test_a_device_without_slots_is_refused() -> None:
    class Exchange:
        """Answers HELLO with CAPS of no slots."""

        def fetch(self, hello: HelloMessage, _: type[CapsMessage]) -> CapsMessage:
            return replace(
                CAPS,
                nonce=hello.nonce,
                max_payload_b=64,
                slots=0,
                slot_b=64,
                output_b=8,
                marks_max=8,
                phases=1,
            )

    with pytest.raises(RemoteProtocolError, match="CAPS makes no sense"):
        FramedDut(Exchange()).hello(7)  # type: ignore[arg-type]
