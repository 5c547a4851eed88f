# SPDX-License-Identifier: Apache-2.0
"""A served device: passes bytes to the layer they belong to, returns from frames to
text, and opens windows.

Of the text layer it has `name` and `frame 1`, as firmware that is built small.
"""

from __future__ import annotations

from collections.abc import Callable

from rig.errors import DeviceRestarted, RigError
from rig.interfaces.sut import SystemUnderTest
from sut_backends.served.framed import FramedLayer
from sut_backends.served.jobs import WindowMessage, done_of, step_of
from sut_backends.served.pulses import PulsedSut
from sut_backends.served.requests import BackendGone, Reply, Requests
from sut_backends.shim.messages import (
    PARTIAL_TIMEOUT_S,
    PROTOCOL,
    TEXT_COMMAND_MAX,
    IdleMessage,
    MessageKind,
    OptimizeMessage,
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
