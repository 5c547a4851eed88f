# SPDX-License-Identifier: Apache-2.0
"""A stream of DATA frames through a window with selective repetition: docs/PROTOCOL.md section 3. No port, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.patience import Patience
from sut_backends.shim.wire import Ack, Kind

ROUNDS_MAX = 20  # time-outs in a row
BITMAP_BITS = 32
ACK_B = 16


@dataclass(slots=True)
class _Flight:
    """One frame under way; `order` rises with every transmission of any frame."""

    code: bytes
    order: int = 0


class Stream:
    """Send `payloads` as DATA numbered from `first` on, at most `window` unacknowledged, until all are there or it is hopeless.

    Numbers are counted without end here; on the wire they are modulo 256. All times in seconds of the caller's clock.
    """

    def __init__(self, payloads: Sequence[bytes], first: int, window: int, patience: Patience) -> None:
        self._payloads, self._first, self._window, self._patience = payloads, first, window, patience
        self._flights: dict[int, _Flight] = {}
        self._next = first
        self._order = 0
        self._rounds = 0  # time-outs in a row without progress
        self._timer_s = 0.0
        self._answers: list[Frame] = []
        self.failed = False
        self.repeats = 0

    @property
    def answer(self) -> Frame | None:
        """Return the ERROR that ended the stream, if one did."""
        return self._answers[0] if self._answers else None

    @property
    def finished(self) -> bool:
        """Return True once all is there, refused or hopeless."""
        return self.failed or bool(self._answers) or (self._next == self._end and not self._flights)

    @property
    def awaited(self) -> str:
        """Return what is missing, for people."""
        return f"acknowledgement of DATA {self._base - self._first + 1} of {len(self._payloads)}"

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        if self._unsent or self._room:
            return self._timer_s
        under_way_b = sum(len(flight.code) for flight in self._flights.values()) + ACK_B
        return self._timer_s + self._patience.rto_s(under_way_b, self._rounds)

    def outgoing(self, now_s: float) -> bytes:
        """Return what is to be sent now."""
        if self.finished:
            return b""
        if not self._flights:
            self._timer_s = now_s
        while self._room:
            payload = self._payloads[self._next - self._first]
            self._flights[self._next] = _Flight(encode(Frame(Kind.DATA, self._next & 0xFF, payload)))
            self._next += 1
        unsent = self._unsent
        for flight in unsent:
            self._order += 1
            flight.order = self._order
        return b"".join(flight.code for flight in unsent)

    def receive(self, frame: Frame, now_s: float) -> None:
        """Take a frame from the DUT."""
        if frame.kind == Kind.ACK:
            self._acknowledge(frame, now_s)
        elif frame.kind == Kind.ERROR and any(number & 0xFF == frame.seq for number in self._flights):
            self._answers.append(frame)

    def noise(self, now_s: float) -> None:
        """Take note that bytes came which are no frame: the next ACK says the same again."""

    def expire(self, now_s: float) -> None:
        """Let time pass: after a time-out, all that is unanswered is sent again."""
        if self.finished or self._unsent or self._room or now_s < self.wake_s:
            return
        self._rounds += 1
        self.failed = self._rounds > ROUNDS_MAX
        self._timer_s = now_s
        self._resend(list(self._flights.values()))

    @property
    def _end(self) -> int:
        return self._first + len(self._payloads)

    @property
    def _unsent(self) -> list[_Flight]:
        return [flight for flight in self._flights.values() if flight.order == 0]

    @property
    def _base(self) -> int:
        return min(self._flights, default=self._next)

    @property
    def _room(self) -> bool:
        return self._next < min(self._end, self._base + self._window)

    def _acknowledge(self, frame: Frame, now_s: float) -> None:
        expected = self._base + ((frame.seq - self._base) & 0xFF)
        if expected > self._next:
            return  # older than what is known already
        received = Ack.unpack(frame.payload).received
        there = [number for number in self._flights if number < expected]
        there += [expected + 1 + bit for bit in range(BITMAP_BITS) if received >> bit & 1 and expected + 1 + bit in self._flights]
        if not there:
            return
        newest = max(self._flights.pop(number).order for number in there)
        self._rounds, self._timer_s = 0, now_s
        # The line keeps the order: what was sent before something that arrived, and is not there, is lost.
        self._resend([flight for flight in self._flights.values() if 0 < flight.order < newest])

    def _resend(self, flights: list[_Flight]) -> None:
        for flight in flights:
            flight.order = 0
        self.repeats += len(flights)
