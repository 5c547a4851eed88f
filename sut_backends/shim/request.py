# SPDX-License-Identifier: Apache-2.0
"""One request that awaits its answer, also across a silent window:
docs/reference/PROTOCOL.md section 3. No port, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from sut_backends.shim import messages
from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import MessageKind
from sut_backends.shim.timeouts import RetransmissionTimeouts

REPEATS_MAX = 12
#: How often DONE is asked for without any byte in return before the window counts as
#: still open.
CALLS_MAX = 5
#: A GO is sent within this share of the guard, which the DUT starts when it has
#: received the request: the rest is for the GO's own way and for a host that stood
#: still.
_GO_SHARE = 0.5
_FRAME_B = 10  # delimiters, type, seq, crc32, COBS
_NEVER_S = float("-inf")


@dataclass(frozen=True, slots=True)
class SilentWindow:
    """A window during which the DUT sends no byte: it opens `guard_s` after the ACK, or
    at a GO where the DUT `takes_go`, and should be over `limit_s` later; `try_next` is
    for one that is not.
    """

    guard_s: float
    limit_s: float
    takes_go: bool = False
    try_next: str = ""


class Stage(Enum):
    """Progress of a request. Without a silent window it stays SENT until its answer."""

    SENT = auto()  # no answer and no ACK yet
    GUARDING = auto()  # acknowledged: the DUT waits for the guard to pass, or for a GO
    SILENT = auto()  # the window may be open
    CALLING = auto()  # DONE is asked for by sending the request again


class Request:
    """Send one frame, with repeats, until it is answered or fails. All times are
    seconds of the caller's clock.

    `answer` is the answer, `awaited` names the one that is missing, `failed` is set
    when waiting ends without one. An answer has at most `longest_b` bytes of payload.
    """

    def __init__(
        self,
        kind: MessageKind,
        payload: bytes,
        number: int,
        timeouts: RetransmissionTimeouts,
        *,
        silence: SilentWindow | None = None,
        repeats_max: int = REPEATS_MAX,
        longest_b: int = messages.CAPS_MAX_PAYLOAD_B,
    ) -> None:
        frame = Frame(kind, number & 0xFF, payload)
        self.frame = frame
        self.following = number + 1
        self.answer: Frame | None = None
        self.failed = False
        self.repeats = 0
        self._silence = silence
        self._stage = Stage.SENT
        self._code = encode(frame)
        takes_go = silence is not None and silence.takes_go
        self._go = encode(Frame(MessageKind.GO, frame.seq)) if takes_go else b""
        self._go_before_s = _NEVER_S  # a GO may be sent until then
        self._timeouts = timeouts
        self._repeats_max = messages.GUARD_RESTARTS_MAX if silence else repeats_max
        self._due = True  # to be sent at the next occasion
        self._sent = 0
        self._acks = 0
        self._sent_s = 0.0
        self._open_s = float("inf")  # the earliest start of the window
        self._limit_s = float("inf")  # the window should be over by then
        self._noise_s: float | None = None
        self._calls = 0  # how often DONE was asked for since the last sound
        self._last_calls = False  # the limit has passed
        # Constant over the whole exchange: the guard in the request depends on it.
        self._rto_s = timeouts.rto_s(len(self._code) + _FRAME_B + 4)
        # Every part of DONE that arrives extends the wait, so this need not be the time
        # of the longest DONE.
        done_b = _on_line_b(messages.CAPS_MAX_PAYLOAD_B)
        self._done_s = timeouts.rto_s(len(self._code) + done_b)
        self._answer_b = _on_line_b(_answer_payload_b(frame, longest_b))

    @property
    def finished(self) -> bool:
        """True once it is answered or has failed."""
        return self.answer is not None or self.failed

    @property
    def awaited(self) -> str:
        """Name the missing answer, for error messages."""
        name = MessageKind(self.frame.kind).name
        if self._silence is None:
            return f"answer to {name}"
        if self._stage is Stage.SENT:
            return f"acknowledgement of {name}"
        return f"DONE of {name}"

    @property
    def try_next(self) -> str:
        """What to try where the window is not over in time; empty where it was not
        reached.
        """
        if self._silence is None or self._stage is Stage.SENT:
            return ""
        return self._silence.try_next

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        if self._due or self._go_before_s > self._sent_s:
            return self._sent_s
        match self._stage:
            case Stage.SENT:
                return self._sent_s + self._pause_s
            case Stage.CALLING:
                return max(self._sent_s, self._noise_s or 0.0) + self._done_s
            case _ if self._noise_s is None:
                return self._limit_s
            case _:
                return min(self._noise_s + self._rto_s, self._limit_s)

    def outgoing(self, now_s: float) -> bytes:
        """Return the bytes to send now."""
        if self._go_before_s > self._sent_s:
            return self._go_once(now_s)
        if not self._due or self.finished:
            return b""
        self._due = False
        self._sent += 1
        self._sent_s = now_s
        return self._code

    def receive(self, frame: Frame, now_s: float) -> None:
        """Take a frame from the DUT."""
        if frame.kind == MessageKind.ACK:
            if self._silence and frame.seq == (self.frame.seq + 1) & 0xFF:
                self._begin_guard(self._silence, now_s, frame)
        elif frame.kind == MessageKind.CAPS and self.frame.kind != MessageKind.HELLO:
            # HELLO is outside the numbering: a late answer to one may carry this
            # number.
            return
        elif frame.seq == self.frame.seq and frame.kind >= MessageKind.ACK:
            if not self._silence:
                self._learn(now_s, frame)
            self.answer = frame

    def noise(self, now_s: float) -> None:
        """Note that bytes arrived that are no frame: once the window can be open they
        are the remains of DONE.

        Before that they are the remains of a second ACK and are ignored.
        """
        if self._stage is Stage.SENT or now_s < self._open_s:
            return
        self._noise_s = now_s
        if not self._last_calls:
            self._stage = Stage.SILENT

    def expire(self, now_s: float) -> None:
        """Let time pass: decide what to send again."""
        if self.finished or self._due or now_s < self.wake_s:
            return
        if self._stage is Stage.SENT:
            self._repeat(self.repeats < self._repeats_max)
            return
        if self._stage is not Stage.CALLING:
            self._calls = 0
        if now_s >= self._limit_s and not self._last_calls:
            self._last_calls = True
            self._calls = 0
        if self._calls < CALLS_MAX:
            self._stage = Stage.CALLING
            self._calls += 1
            self._repeat(True)
        else:
            self.failed = self._last_calls
            self._stage = Stage.SILENT
            self._noise_s = None

    def _begin_guard(self, silence: SilentWindow, now_s: float, ack: Frame) -> None:
        """Each ACK restarts the guard. A device that stood still sends one for each
        repeat: none of them is the remains of DONE. More ACKs than requests are
        ignored: they would keep the window open.
        """
        self._acks += 1
        if self._acks > self._sent:
            return
        if self._stage is Stage.SENT:
            self._learn(now_s, ack)
        if self._stage is not Stage.CALLING:
            self._stage = Stage.GUARDING
        self._due = False
        self._noise_s = None
        self._open_s = self._sent_s + silence.guard_s
        self._limit_s = now_s + silence.guard_s + silence.limit_s
        # After a repeated request a second ACK may be under way, and would be taken for
        # noise of the window: then no GO is sent and the whole guard passes.
        if self._go and self._sent == 1:
            self._go_before_s = self._sent_s + silence.guard_s * _GO_SHARE

    def _go_once(self, now_s: float) -> bytes:
        """Return the GO that opens the window; empty where it could arrive after the
        guard: it would disturb the window.
        """
        in_time = now_s < self._go_before_s and not self.finished
        self._go_before_s = _NEVER_S
        if not in_time:
            return b""
        self._open_s = now_s
        self._stage = Stage.SILENT
        return self._go

    @property
    def _pause_s(self) -> float:
        if not self._silence:
            return self._timeouts.rto_s(len(self._code) + self._answer_b, self.repeats)
        # The DUT restarts its guard a limited number of times: after the last repeat a
        # DUT that stands still is waited for.
        if self.repeats == self._repeats_max:
            return max(self._rto_s, self._timeouts.timeout_s)
        return self._rto_s

    def _repeat(self, hopeful: bool) -> None:
        self._due = hopeful
        self.failed = not hopeful
        self.repeats += hopeful

    def _learn(self, now_s: float, frame: Frame) -> None:
        if self._sent != 1:
            return
        answer_b = messages.FRAME_OVERHEAD_B + 3 + len(frame.payload)
        self._timeouts.learn(now_s - self._sent_s, len(self._code) + answer_b)


def _on_line_b(payload_b: int) -> int:
    return payload_b + payload_b // 254 + _FRAME_B


def _answer_payload_b(frame: Frame, longest_b: int) -> int:
    if frame.kind == MessageKind.PING:
        return len(frame.payload)
    longer = {
        MessageKind.HELLO: messages.CAPS_MAX_PAYLOAD_B,
        MessageKind.RESULT: longest_b,
        MessageKind.SELFTEST: messages.ReportMessage.head.size,
        MessageKind.TAKE: longest_b,
    }
    return longer.get(MessageKind(frame.kind), 4)
