# SPDX-License-Identifier: Apache-2.0
"""A stream of requests through a window with selective repetition:
docs/reference/PROTOCOL.md section 3. No port, no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import AckMessage, MessageKind
from sut_backends.shim.timeouts import RetransmissionTimeouts

ROUNDS_MAX = 20  # time-outs in a row
BITMAP_BITS = 32
ACK_B = 16
_ABANDON_PER_FRAME = 2
_ABANDON_MORE = 6  # repeats beyond this: two frames of three do not get through
_BURST = 2  # frames encoded before a write: the next ones are encoded meanwhile
_ANSWERS = (MessageKind.STATUS, MessageKind.PONG, MessageKind.ERROR)


@dataclass(slots=True)
class _Flight:
    """One unacknowledged frame; `order` increases with every transmission of any frame,
    0 marks a frame to be sent. `lost`: a transmission of it counts as lost.
    """

    kind: MessageKind
    code: bytes
    order: int = 0
    lost: bool = False
    called: bool = False


class RequestWindow:
    """Send requests numbered from `first` on, at most `window` unacknowledged, until
    all are received or the line fails.

    The last one must be answered, unless it is DATA. A refusal ends the stream; if
    `fragile`, so does a line on which most of these frames break (`abandoned`). The DUT
    executes numbers in order only, so at such an end the unacknowledged frames are
    replaced by empty PINGs, which are sent to the end. Numbers are unbounded here; on
    the wire they are modulo 256. All times are seconds of the caller's clock.
    """

    def __init__(
        self,
        requests: Sequence[tuple[MessageKind, bytes]],
        first: int,
        window: int,
        timeouts: RetransmissionTimeouts,
        fragile: bool = False,
    ) -> None:
        self._requests = requests
        self._first = first
        self._end = first + len(requests)
        self._window = window
        self._timeouts = timeouts
        self._fragile = fragile
        self._flights: dict[int, _Flight] = {}
        self._next = first
        self._order = 0
        self._rounds = 0  # time-outs in a row without progress
        self._timer_s = 0.0
        self._ending = False
        self.answer: Frame | None = None
        self.asked = MessageKind.DATA
        self.failed = False
        self.repeats = 0

    @property
    def finished(self) -> bool:
        """True once all is received, refused, abandoned or failed."""
        return self.failed or (
            not self._flights and (self._ending or self._next == self._end)
        )

    @property
    def abandoned(self) -> bool:
        """True if most frames broke: shorter ones may get through."""
        return self._ending and self.answer is None

    @property
    def following(self) -> int:
        """The number after the last one used."""
        return self._next

    @property
    def awaited(self) -> str:
        """Name the missing answer, for error messages."""
        kind = self._requests[min(self._base - self._first, len(self._requests) - 1)][0]
        what = "acknowledgement of" if kind is MessageKind.DATA else "answer to"
        return (
            f"{what} {kind.name}, {self._base - self._first + 1} of"
            f" {len(self._requests)} requests"
        )

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        if self._unsent or self._room:
            return self._timer_s
        under_way_b = sum(len(flight.code) for flight in self._flights.values()) + ACK_B
        return self._timer_s + self._timeouts.rto_s(under_way_b, self._rounds)

    def outgoing(self, now_s: float) -> bytes:
        """Return the bytes to send now."""
        if self.finished:
            return b""
        if not self._flights:
            self._timer_s = now_s
        for _ in range(_BURST):
            if not self._room:
                break
            kind, payload = self._requests[self._next - self._first]
            self._flights[self._next] = _Flight(
                kind, encode(Frame(kind, self._next & 0xFF, payload))
            )
            self._next += 1
        unsent = self._unsent
        for flight in unsent:
            self._order += 1
            flight.order = self._order
            self.repeats += flight.lost
        return b"".join(flight.code for flight in unsent)

    def receive(self, frame: Frame, now_s: float) -> None:
        """Take a frame from the DUT."""
        if frame.kind == MessageKind.ACK:
            self._acknowledge(frame, now_s)
        elif frame.kind in _ANSWERS:
            number = next(
                (number for number in self._flights if number & 0xFF == frame.seq), None
            )
            if number is not None:
                self._answered(number, frame, now_s)

    def noise(self, now_s: float) -> None:
        """Ignore bytes that are no frame: the next ACK repeats the lost one."""

    def expire(self, now_s: float) -> None:
        """Let time pass: after a time-out, all that is unanswered is retransmitted."""
        if self.finished or self._unsent or self._room or now_s < self.wake_s:
            return
        self._rounds += 1
        self.failed = self._rounds > ROUNDS_MAX
        self._timer_s = now_s
        self._resend(list(self._flights.values()))

    @property
    def _unsent(self) -> list[_Flight]:
        return [flight for flight in self._flights.values() if flight.order == 0]

    @property
    def _base(self) -> int:
        return min(self._flights, default=self._next)

    @property
    def _room(self) -> bool:
        return not self._ending and self._next < min(
            self._end, self._base + self._window
        )

    def _acknowledge(self, frame: Frame, now_s: float) -> None:
        expected = self._base + ((frame.seq - self._base) & 0xFF)
        if expected > self._next:
            return  # older than the last one
        try:
            received = AckMessage.unpack(frame.payload).received
        except ValueError:
            # no ACK of this protocol: the next one repeats it, or the time-out comes
            return
        there = {number for number in self._flights if number < expected}
        for bit in range(BITMAP_BITS):
            number = expected + 1 + bit
            if received >> bit & 1 and number in self._flights:
                there.add(number)
        last = self._flights.get(self._end - 1)
        is_answered = last is not None and last.kind is not MessageKind.DATA
        if last and is_answered and self._end - 1 in there:
            # It was executed, so its answer is lost: it is sent again at once, and then
            # after each time-out. Where a PING replaced it, the answer tells which of
            # both was.
            there.remove(self._end - 1)
            if not last.called:
                last.called = True
                self._resend([last])
        self._take(there, now_s)

    def _answered(self, number: int, frame: Frame, now_s: float) -> None:
        """Take an answer to one request: all before it were executed too."""
        is_last = number == self._end - 1
        refused = frame.kind == MessageKind.ERROR
        # A PING that replaced it is answered where it was not executed.
        executed = not self._ending or frame.kind != MessageKind.PONG
        counts = (is_last and executed) or (refused and not self._ending)
        if counts and self.answer is None:
            self.answer = frame
            self.asked = self._requests[number - self._first][0]
            self._ending = self._ending or not is_last
        self._take({other for other in self._flights if other <= number}, now_s)
        self._replace()

    def _take(self, there: set[int], now_s: float) -> None:
        if not there:
            return
        newest = max(self._flights.pop(number).order for number in there)
        self._rounds = 0
        self._timer_s = now_s
        # The line keeps the order: a frame sent before one that arrived, and not
        # received itself, is lost.
        flights = self._flights.values()
        self._resend([flight for flight in flights if 0 < flight.order < newest])

    def _resend(self, flights: list[_Flight]) -> None:
        """Mark frames to be sent again; an answer may still come before they are."""
        for flight in flights:
            flight.order = 0
            flight.lost = True
        frames = self._next - self._first
        limit = _ABANDON_PER_FRAME * frames + _ABANDON_MORE
        if self._fragile and self.repeats + len(flights) > limit:
            self._ending = True
            self._replace()

    def _replace(self) -> None:
        if not self._ending:
            return
        for number, flight in self._flights.items():
            flight.kind = MessageKind.PING
            flight.code = encode(Frame(MessageKind.PING, number & 0xFF))
