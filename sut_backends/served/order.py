# SPDX-License-Identifier: Apache-2.0
"""Session and order of the framed layer on the device's side: which frame is executed,
answered again, acknowledged or passed over; docs/PROTOCOL.md section 3. No port, no
clock.
"""

from __future__ import annotations

from enum import Enum, auto

from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import AckMessage, MessageKind

_MODULO = 256


class Turn(Enum):
    """What is due for a request."""

    EXECUTE = auto()
    AGAIN = auto()
    ACKNOWLEDGE = auto()


class Order:
    """The numbers of a session: the next one expected, those noted ahead of it, the
    last answer."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.nonce: int | None = None
        self._expected = 0
        self._received = 0  # bit i: number expected + 1 + i has come
        self._answer_seq = 0
        self._answer: Frame | None = None

    @property
    def in_session(self) -> bool:
        """Return whether a host has said HELLO."""
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
        """Return how many numbers behind the next one expected this is."""
        return (seq - self._expected) % _MODULO

    def turn(self, seq: int) -> Turn:
        """Return what is due for a request other than DATA that can be stored; count it
        where it is to be executed.
        """
        if self.ahead(seq) == 0:
            self._advance()
            self._answer_seq = seq
            return Turn.EXECUTE
        if (
            self.ahead(seq) == _MODULO - 1
            and self._answer is not None
            and seq == self._answer_seq
        ):
            return Turn.AGAIN
        return Turn.ACKNOWLEDGE

    def in_window(self, seq: int) -> bool:
        """Return whether DATA of this number may be stored."""
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
        """Return whether this is the number of the request that is executed."""
        return seq == self._answer_seq

    def acknowledgement(self) -> bytes:
        """Return ACK with what is there."""
        payload = AckMessage(self._received).pack()
        return encode(Frame(MessageKind.ACK, self._expected, payload))

    def answer(self, kind: MessageKind, payload: bytes) -> bytes:
        """Return the answer to the last request executed, which is kept."""
        self._answer = Frame(kind, self._answer_seq, payload)
        return encode(self._answer)

    def again(self) -> bytes:
        """Return the kept answer."""
        assert self._answer is not None
        return encode(self._answer)

    def _advance(self) -> None:
        """Go on behind the number expected and all that were noted next to it."""
        more = True
        while more:
            more = bool(self._received & 1)
            self._received >>= 1
            self._expected = (self._expected + 1) % _MODULO
        self._answer = None
