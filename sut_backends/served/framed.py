# SPDX-License-Identifier: Apache-2.0
"""The device side of the framed layer: sessions, requests, the guard before a window.
No port, no clock: time is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass

from sut_backends.served.jobs import WindowMessage
from sut_backends.served.order import FrameOrder, Handling
from sut_backends.served.requests import Reply, Requests
from sut_backends.shim.frame import Frame, FrameDecoder, encode
from sut_backends.shim.messages import (
    FIRST_MAX_PAYLOAD_B,
    GUARD_RESTARTS_MAX,
    PROTOCOL,
    DataMessage,
    ErrorCode,
    HelloMessage,
    MessageKind,
    RefusalMessage,
)


@dataclass(slots=True)
class _Guard:
    """An acknowledged request whose window opens when the guard has passed."""

    request: WindowMessage
    from_s: float
    restarts: int = 0

    @property
    def end_s(self) -> float:
        return self.from_s + self.request.guard_us * 1e-6


class FramedLayer:
    """Take frames and return bytes; `to_text` is set when the host asks for the text
    layer.
    """

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.to_text = False
        self.decoder = FrameDecoder(
            max(requests.caps.max_payload_b, FIRST_MAX_PAYLOAD_B)
        )
        self._order = FrameOrder(requests.caps.window)
        self._guard: _Guard | None = None

    def leave(self) -> None:
        """Forget the session; loaded samples stay until another one begins."""
        self._order.end()
        self._guard = None
        self.to_text = False
        self.decoder.forget()

    @property
    def guard_end_s(self) -> float:
        """Return when the guard ends and its window opens; infinity if there is no
        guard.
        """
        return self._guard.end_s if self._guard else float("inf")

    def take_window(self) -> WindowMessage:
        """Return the request whose guard has passed; the line is silent from now on."""
        assert self._guard is not None
        request = self._guard.request
        self._guard = None
        return request

    def answer(self, reply: Reply) -> bytes:
        """Return the answer that ends a window."""
        return self._order.answer(reply.kind, reply.payload)

    def receive(self, frame: Frame, now_s: float) -> bytes:
        """Take a valid frame; return the bytes to send."""
        if frame.kind >= MessageKind.ACK:
            return b""  # an answer: the echo of one of ours
        if frame.kind == MessageKind.HELLO:
            return self._hello(frame)
        if not self._order.in_session:
            return self._order.acknowledgement()
        if self._guard:
            return self._guarded(self._guard, frame, now_s)
        data = self._storable(frame)
        if data is not None:
            if self._order.note(frame.seq):
                self.requests.slots.store(data)
            return self._order.acknowledgement()
        return self._in_turn(frame, now_s)

    def _hello(self, frame: Frame) -> bytes:
        try:
            hello = HelloMessage.unpack(frame.payload)
        except ValueError:
            return _refuse_hello(frame.seq, ErrorCode.LENGTH, HelloMessage.head.size)
        if hello.version != PROTOCOL:
            return _refuse_hello(frame.seq, ErrorCode.UNSUPPORTED, PROTOCOL)
        if hello.nonce != self._order.nonce:
            self._guard = None
            self.requests.clear()
            self._order.begin(frame.seq, hello.nonce)
        caps = self.requests.caps_for(hello.nonce)
        return encode(Frame(MessageKind.CAPS, frame.seq, caps.pack()))

    def _guarded(self, guard: _Guard, frame: Frame, now_s: float) -> bytes:
        """The same request heard again is acknowledged again; others are dropped."""
        again = frame.kind == guard.request.kind and self._order.repeats(frame.seq)
        if not again or guard.restarts == GUARD_RESTARTS_MAX:
            return b""
        guard.restarts += 1
        guard.from_s = now_s
        return self._order.acknowledgement()

    def _storable(self, frame: Frame) -> DataMessage | None:
        if frame.kind != MessageKind.DATA or not self._order.in_window(frame.seq):
            return None
        try:
            data = DataMessage.unpack(frame.payload)
        except ValueError:
            return None
        return data if self.requests.slots.fits(data) else None

    def _in_turn(self, frame: Frame, now_s: float) -> bytes:
        handling = self._order.handling(frame.seq)
        if handling is Handling.REPEAT_ANSWER:
            return self._order.again()
        if handling is Handling.ACKNOWLEDGE:
            return self._order.acknowledgement()
        reply = self.requests.execute(frame.kind, frame.payload)
        if not isinstance(reply, Reply):
            self._guard = _Guard(reply, now_s)
            return self._order.acknowledgement()
        self.to_text = reply.to_text
        return self._order.answer(reply.kind, reply.payload)


def _refuse_hello(seq: int, code: ErrorCode, detail: int) -> bytes:
    """Return ERROR, which is not kept for a repeat: HELLO is outside the numbering."""
    return encode(Frame(MessageKind.ERROR, seq, RefusalMessage(code, detail).pack()))
