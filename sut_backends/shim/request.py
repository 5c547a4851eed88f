# SPDX-License-Identifier: Apache-2.0
"""One request that awaits its answer, also across a silent window: docs/PROTOCOL.md
section 3. No port, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from sut_backends.shim import messages
from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import MessageKind
from sut_backends.shim.timeouts import RetransmissionTimeouts

REPEATS_MAX = 12
# how often DONE is asked for with no sound in return before the window is taken as
# still open
CALLS_MAX = 5
#: A GO is sent within this share of the guard, which begins behind the request's way to
#: the DUT: the rest is for the GO's own way and for a host that stood still.
_GO_SHARE = 0.5
_FRAME_B = 10  # delimiters, type, seq, crc32, COBS


@dataclass(frozen=True, slots=True)
class Silence:
    """A window in which the DUT says nothing: it opens `guard_s` after the ACK, or at a
    GO where the DUT `takes_go`, and should be over `limit_s` later.
    """

    guard_s: float
    limit_s: float
    takes_go: bool = False


class Request:
    """Send one frame, again where that is due, until it is answered or hopeless. All
    times in seconds of the caller's clock.

    `answer` is the answer, `awaited` says what is missing, `failed` that it is not
    worth waiting any longer. An answer has at most `longest_b` bytes of payload.
    """

    def __init__(
        self,
        kind: MessageKind,
        payload: bytes,
        number: int,
        timeouts: RetransmissionTimeouts,
        silence: Silence | None = None,
        repeats_max: int = REPEATS_MAX,
        longest_b: int = messages.CAPS_MAX_PAYLOAD_B,
    ) -> None:
        frame = Frame(kind, number & 0xFF, payload)
        self.frame = frame
        self.silence = silence
        self.following = number + 1
        self.answer: Frame | None = None
        self.failed = False
        self.acknowledged = False
        self.repeats = 0
        self._code = encode(frame)
        self._go = (
            encode(Frame(MessageKind.GO, frame.seq))
            if silence and silence.takes_go
            else b""
        )
        self._go_before_s = float("-inf")  # until when a GO may be sent
        self._timeouts = timeouts
        self._repeats_max = messages.GUARD_RESTARTS_MAX if silence else repeats_max
        self._due = True  # to be sent at the next occasion
        self._sent = 0
        self._acks = 0
        self._sent_s = 0.0
        self._open_s = self._limit_s = float(
            "inf"
        )  # the silence: from when it can be, to when it should be over
        self._noise_s: float | None = None
        self._calls = 0  # how often DONE has been asked for since the last silence
        self._last_call = False
        # One value for the whole exchange: the guard that the DUT was told depends on
        # it.
        self._rto_s = timeouts.rto_s(len(self._code) + _FRAME_B + 4)
        # What is heard of DONE extends the wait, so this need not be the time of all of
        # it.
        self._done_s = timeouts.rto_s(
            len(self._code) + _on_line_b(messages.CAPS_MAX_PAYLOAD_B)
        )
        self._answer_b = _on_line_b(_answer_payload_b(frame, longest_b))

    @property
    def finished(self) -> bool:
        """Return True once there is nothing to wait for."""
        return self.answer is not None or self.failed

    @property
    def awaited(self) -> str:
        """Return what is missing, for people."""
        name = MessageKind(self.frame.kind).name
        if self.silence is None:
            return f"answer to {name}"
        return f"DONE of {name}" if self.acknowledged else f"acknowledgement of {name}"

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        if self._due or self._go_before_s > self._sent_s:
            return self._sent_s
        if self.acknowledged and not self._calls:
            noise_s = (
                self._limit_s if self._noise_s is None else self._noise_s + self._rto_s
            )
            return min(noise_s, self._limit_s)
        if self.acknowledged:
            return max(self._sent_s, self._noise_s or 0.0) + self._done_s
        return self._sent_s + self._pause_s

    def outgoing(self, now_s: float) -> bytes:
        """Return what is to be sent now."""
        if self._go_before_s > self._sent_s:
            return self._go_once(now_s)
        if not self._due or self.finished:
            return b""
        self._due = False
        self._sent = self._sent + 1
        self._sent_s = now_s
        return self._code

    def receive(self, frame: Frame, now_s: float) -> None:
        """Take a frame from the DUT."""
        if frame.kind == MessageKind.ACK:
            if self.silence and frame.seq == (self.frame.seq + 1) & 0xFF:
                self._begin_guard(self.silence, now_s, frame)
        elif frame.kind == MessageKind.CAPS and self.frame.kind != MessageKind.HELLO:
            # HELLO has no place in the order: a late answer to one may carry this
            # number
            return
        elif frame.seq == self.frame.seq and frame.kind >= MessageKind.ACK:
            if not self.silence:
                self._learn(now_s, frame)
            self.answer = frame

    def noise(self, now_s: float) -> None:
        """Take note that bytes came which are no frame: in a silent window they can
        only be the remains of DONE.

        Before the window can have opened they are the remains of a second ACK, and mean
        nothing.
        """
        if self.silence and self.acknowledged and now_s >= self._open_s:
            self._noise_s = now_s
            if not self._last_call:
                self._calls = 0

    def expire(self, now_s: float) -> None:
        """Let time pass: decide what to send again."""
        if self.finished or self._due or now_s < self.wake_s:
            return
        if not self.acknowledged:
            self._repeat(self.repeats < self._repeats_max)
        elif now_s >= self._limit_s and not self._last_call:
            self._last_call = True
            self._calls = 0
            self._call()
        elif self._calls < CALLS_MAX:
            self._call()
        else:
            self.failed = self._last_call
            self._calls = 0
            self._noise_s = None

    def _begin_guard(self, silence: Silence, now_s: float, ack: Frame) -> None:
        """Each ACK restarts the guard. From a device that stood still one for each
        repeat comes: none is the remains of DONE. More than those mean nothing: they
        would keep the window open.
        """
        self._acks += 1
        if self._acks > self._sent:
            return
        if not self.acknowledged:
            self._learn(now_s, ack)
        self.acknowledged = True
        self._due = False
        self._noise_s = None
        self._open_s = self._sent_s + silence.guard_s
        self._limit_s = now_s + silence.guard_s + silence.limit_s
        # After a repeated request a second ACK may be under way, and would be taken for
        # noise of the window: then the guard passes as ever.
        if self._go and self._sent == 1:
            self._go_before_s = self._sent_s + silence.guard_s * _GO_SHARE

    def _go_once(self, now_s: float) -> bytes:
        """Return the GO that opens the window, nothing where it could come when the
        guard is over: it would disturb the window.
        """
        in_time = now_s < self._go_before_s and not self.finished
        self._go_before_s = float("-inf")
        if in_time:
            self._open_s = now_s
        return self._go if in_time else b""

    @property
    def _pause_s(self) -> float:
        if self.silence:
            # The DUT restarts its guard so often and no more: after that only waiting
            # helps one that stands still.
            return (
                max(self._rto_s, self._timeouts.timeout_s)
                if self.repeats == self._repeats_max
                else self._rto_s
            )
        return self._timeouts.rto_s(len(self._code) + self._answer_b, self.repeats)

    def _call(self) -> None:
        self._calls += 1
        self._repeat(True)

    def _repeat(self, hopeful: bool) -> None:
        self._due = hopeful
        self.failed = not hopeful
        self.repeats += hopeful

    def _learn(self, now_s: float, frame: Frame) -> None:
        if self._sent == 1:
            self._timeouts.learn(
                now_s - self._sent_s,
                len(self._code) + messages.FRAME_OVERHEAD_B + 3 + len(frame.payload),
            )


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
