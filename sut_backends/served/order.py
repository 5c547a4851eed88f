# SPDX-License-Identifier: Apache-2.0
"""Session and frame order on the device side of the framed layer: whether a frame is
executed, answered again, acknowledged or ignored; docs/reference/PROTOCOL.md section 3.
No port, no clock.
"""

from __future__ import annotations

from enum import Enum, auto

from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import AckMessage, MessageKind

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
