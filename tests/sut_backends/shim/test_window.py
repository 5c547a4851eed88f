# SPDX-License-Identifier: Apache-2.0
"""A stream of requests that the host gives up while the device only stood still: what
the device executed all the same counts.
"""

from __future__ import annotations

import pytest

from sut_backends.shim.frame import Frame, FrameDecoder
from sut_backends.shim.messages import AckMessage, MessageKind
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.shim.window import RequestWindow

FIRST = 0x24
LAST = 0x26
REQUESTS = [
    (MessageKind.LOAD, bytes(10)),
    (MessageKind.DATA, bytes(60)),
    (MessageKind.COMMIT, bytes(2)),
]
STATUS = Frame(MessageKind.STATUS, LAST, bytes(5))
PONG = Frame(MessageKind.PONG, LAST, b"")
ALL_RECEIVED = Frame(MessageKind.ACK, LAST + 1, AckMessage(0).pack())


def given_up() -> tuple[RequestWindow, float]:
    """Return a stream that heard nothing until PINGs replaced its requests, and the
    time.
    """
    window = RequestWindow(
        REQUESTS, FIRST, 8, RetransmissionTimeouts(115_200), fragile=True
    )
    now_s = 0.0
    for _ in range(30):
        sent = FrameDecoder(256).feed(window.outgoing(now_s))
        if {frame.kind for frame in sent} == {MessageKind.PING}:
            return window, now_s
        now_s = window.wake_s
        window.expire(now_s)
    raise AssertionError("it was not given up")


@pytest.mark.parametrize("before", [[], [ALL_RECEIVED]])
def test_a_request_that_was_executed_before_its_ping_is_answered(
    before: list[Frame],
) -> None:
    window, now_s = given_up()
    for frame in (*before, STATUS):
        assert not window.finished
        window.receive(frame, now_s)
    assert window.finished
    assert not window.abandoned
    assert window.answer == STATUS
    assert window.asked == MessageKind.COMMIT


@pytest.mark.parametrize("before", [[], [ALL_RECEIVED]])
def test_a_ping_that_was_executed_in_its_place_is_no_answer(
    before: list[Frame],
) -> None:
    window, now_s = given_up()
    for frame in (*before, PONG):
        assert not window.finished
        window.receive(frame, now_s)
    assert window.finished
    assert window.abandoned
