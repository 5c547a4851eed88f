# SPDX-License-Identifier: Apache-2.0
"""A served device: passes bytes to the layer they belong to, returns from frames to
text, and opens windows.

Of the text layer it has `name` and `frame 1`, as firmware that is built small.

The device side of the framed layer: sessions, requests, the guard before a window.
No port, no clock: time is passed in.

Session and frame order on the device side of the framed layer: whether a frame is
executed, answered again, acknowledged or ignored; docs/reference/PROTOCOL.md section 3.
No port, no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from rig.errors import DeviceRestarted, RigError
from rig.interfaces.sut import SystemUnderTest
from sut_backends.served.jobs import WindowMessage, done_of, step_of
from sut_backends.served.pulses import PulsedSut
from sut_backends.served.requests import BackendGone, Reply, Requests
from sut_backends.shim.frame import Frame, FrameDecoder, encode
from sut_backends.shim.messages import (
    FIRST_MAX_PAYLOAD_B,
    GUARD_RESTARTS_MAX,
    PARTIAL_TIMEOUT_S,
    PROTOCOL,
    TEXT_COMMAND_MAX,
    AckMessage,
    DataMessage,
    ErrorCode,
    HelloMessage,
    IdleMessage,
    MessageKind,
    OptimizeMessage,
    RefusalMessage,
    SyncMessage,
)

ESCAPE = b"name%"
POWER_UP = b"m-init-done\r\nm-ready\r\n"
_READY = b"m-ready\r\n"


class ServedDevice:
    """The device side of the protocol for a backend; raises BackendGone where the
    backend is lost.

    `read` returns the bytes that have come, without waiting: it counts the bytes that
    the host sent in a window.
    """

    def __init__(self, sut: SystemUnderTest, read: Callable[[], bytes]) -> None:
        self._framed = FramedLayer(Requests(sut))
        self._read = read
        self._in_frames = False
        self._line = bytearray()
        self._too_long = False
        self._last_byte_s = float("-inf")

    @property
    def wake_s(self) -> float:
        """Return when to call `silence` unless a byte comes; infinity if neither a
        partial frame nor a guard is pending.
        """
        if self._in_frames and self._framed.decoder.pending:
            return self._last_byte_s + PARTIAL_TIMEOUT_S
        return self._framed.guard_end_s

    def end(self) -> None:
        """Wait for a step that the closed backend has not finished yet."""
        self._framed.requests.end()

    def receive(self, block: bytes, now_s: float) -> bytes:
        """Take bytes; return the bytes to send."""
        self._last_byte_s = now_s
        sent = b""
        while block:
            if self._in_frames:
                answer, block = self._frames(block, now_s)
            else:
                answer, block = self._text(block)
            sent += answer
        return sent

    def silence(self, now_s: float) -> bytes:
        """Note that no more bytes have come up to now; return the bytes to send."""
        if (
            self._framed.decoder.pending
            and now_s > self._last_byte_s + PARTIAL_TIMEOUT_S
        ):
            self._framed.decoder.forget()
        if self._framed.decoder.pending or now_s <= self._framed.guard_end_s:
            return b""
        return self._window(self._framed.take_window())

    # ---- layers ----

    def _frames(self, block: bytes, now_s: float) -> tuple[bytes, bytes]:
        """Take the bytes up to the next delimiter; return the bytes to send and the
        bytes left over.
        """
        piece, delimiter, rest = block.partition(b"\x00")
        begun = self._framed.decoder.pending + piece
        if begun.startswith(ESCAPE):
            self._leave_frames()
            return b"", begun + delimiter + rest
        sent = b""
        for frame in self._framed.decoder.feed(piece + delimiter):
            sent += self._framed.receive(frame, now_s)
        if self._framed.to_text:
            self._leave_frames()
        return sent, rest

    def _leave_frames(self) -> None:
        self._framed.leave()
        self._in_frames = False
        self._line.clear()
        self._too_long = False

    def _text(self, block: bytes) -> tuple[bytes, bytes]:
        """Take the bytes up to the next `%`; return the bytes to send and the bytes
        left over.
        """
        command, percent, rest = block.partition(b"%")
        # A zero cancels the bytes before it: a stray frame spoils no command.
        _, zero, command_left = command.rpartition(b"\x00")
        if zero:
            self._line.clear()
            self._too_long = False
        self._line += command_left if zero else command
        if not self._line.strip(b"\r\n"):
            self._line.clear()
        self._too_long |= len(self._line.lstrip(b"\r\n")) >= TEXT_COMMAND_MAX
        del self._line[2 * TEXT_COMMAND_MAX :]
        if not percent:
            return b"", rest
        line = bytes(self._line).lstrip(b"\r\n")
        answer = self._execute(b"" if self._too_long else line)
        self._line.clear()
        self._too_long = False
        return answer + b"\r\n" + _READY, rest

    def _execute(self, command: bytes) -> bytes:
        words = command.split(b" ")
        if words == [b"name"]:
            name = self._framed.requests.caps.device.encode("ascii")
            return b"m-name-dut-[%b]" % name
        if words == [b"frame", str(PROTOCOL).encode()]:
            self._in_frames = True
            self._framed.leave()
            return b"m-frame-[%d]" % PROTOCOL
        return b"e-[this device knows name and frame 1, and all else in frames]"

    # ---- windows ----

    def _window(self, request: WindowMessage) -> bytes:
        """Let the backend do the requested step, in silence, and answer."""
        requests = self._framed.requests
        heard = b""
        try:
            sut = requests.sut
            if isinstance(request, SyncMessage) and isinstance(sut, PulsedSut):
                completion = sut.burst(request.count, request.period_us * 1e-6)
            else:
                completion = sut.do(step_of(request))
            heard = self._read()
            if completion.restarts:
                raise BackendGone(
                    DeviceRestarted("the device behind the backend restarted")
                )
            done = done_of(request, completion, len(heard))
            if not isinstance(request, IdleMessage | SyncMessage):
                requests.output = completion.output
            if isinstance(request, OptimizeMessage):
                requests.known = completion.known or ()
            reply = Reply(MessageKind.DONE, done.pack())
        except RigError as error:
            requests.output = b""
            reply = requests.refused(error)
        sent = self._framed.answer(reply)
        return sent + (self.receive(heard, self._last_byte_s) if heard else b"")


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


_MODULO = 256


class Handling(Enum):
    """How a request is handled, by its number."""

    EXECUTE = auto()
    REPEAT_ANSWER = auto()
    ACKNOWLEDGE = auto()


class FrameOrder:
    """The frame numbers of a session: the next one expected, those received ahead of
    it, and the last answer.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self.nonce: int | None = None
        self._expected = 0
        self._received = 0  # bit i: number expected + 1 + i has come
        self._answer_seq = 0
        self._answer: Frame | None = None

    @property
    def in_session(self) -> bool:
        """Whether a host has opened a session by HELLO."""
        return self.nonce is not None

    def begin(self, seq: int, nonce: int) -> None:
        """Begin a session with the HELLO of this number."""
        self.nonce = nonce
        self._expected = (seq + 1) % _MODULO
        self._received = 0
        self._answer = None

    def end(self) -> None:
        """Forget the session."""
        self.nonce = None
        self._answer = None

    def ahead(self, seq: int) -> int:
        """Return how far a number is after the next one expected, modulo 256."""
        return (seq - self._expected) % _MODULO

    def handling(self, seq: int) -> Handling:
        """Return how to handle a request that is no DATA to be stored, and count one
        that is to be executed.
        """
        if self.ahead(seq) == 0:
            self._advance()
            self._answer_seq = seq
            return Handling.EXECUTE
        is_last = self.ahead(seq) == _MODULO - 1 and seq == self._answer_seq
        if is_last and self._answer is not None:
            return Handling.REPEAT_ANSWER
        return Handling.ACKNOWLEDGE

    def in_window(self, seq: int) -> bool:
        """Check whether DATA of this number may be stored."""
        return self.ahead(seq) < self._window

    def note(self, seq: int) -> bool:
        """Note that DATA of this number has come; False where it had come before."""
        ahead = self.ahead(seq)
        if ahead == 0:
            self._advance()
            return True
        bit = 1 << (ahead - 1)
        new = not self._received & bit
        self._received |= bit
        return new

    def repeats(self, seq: int) -> bool:
        """Check whether this is the number of the request that is executed."""
        return seq == self._answer_seq

    def acknowledgement(self) -> bytes:
        """Return an ACK of the numbers received."""
        payload = AckMessage(self._received).pack()
        return encode(Frame(MessageKind.ACK, self._expected, payload))

    def answer(self, kind: MessageKind, payload: bytes) -> bytes:
        """Return the answer to the last request executed, and keep it for a repeat."""
        self._answer = Frame(kind, self._answer_seq, payload)
        return encode(self._answer)

    def again(self) -> bytes:
        """Return the kept answer."""
        assert self._answer is not None
        return encode(self._answer)

    def _advance(self) -> None:
        """Advance past the expected number and those received next to it."""
        more = True
        while more:
            more = bool(self._received & 1)
            self._received >>= 1
            self._expected = (self._expected + 1) % _MODULO
        self._answer = None
