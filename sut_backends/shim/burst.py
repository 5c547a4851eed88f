# SPDX-License-Identifier: Apache-2.0
"""Frames back to back that the DUT acknowledges and does not execute:
docs/reference/PROTOCOL.md section 7. No port, no clock.
"""

from __future__ import annotations

from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import MessageKind
from sut_backends.shim.timeouts import RetransmissionTimeouts

_FAR_AHEAD = 128  # numbers: outside of any window, and no repeat of the last one


class Burst:
    """Send `frames` full PINGs at once, without repeats, and count the ACKs until all
    came or the DUT is silent.

    All times are seconds of the caller's clock; `sent_b` are bytes on the line. The
    numbers of the session stay unused: `number` remains the next one.
    """

    def __init__(
        self, frames: int, payload_b: int, number: int, timeouts: RetransmissionTimeouts
    ) -> None:
        self.frames = frames
        self.following = number
        self.answer: Frame | None = None
        self.failed = False
        self.repeats = 0
        self.acknowledged = 0
        payload = bytes(at & 0xFF for at in range(payload_b))
        self._code = (
            encode(Frame(MessageKind.PING, (number + _FAR_AHEAD) & 0xFF, payload))
            * frames
        )
        self.sent_b = len(self._code)
        self._due = True
        self._over = False
        self._heard_s = 0.0
        self._line_s = timeouts.line_s(self.sent_b)
        # Without repeats the time-out of a round trip is too short: an emulator, or a
        # device's USB bridge, may stand still for longer.
        self._silence_s = timeouts.timeout_s + timeouts.line_s(2 * payload_b)

    @property
    def finished(self) -> bool:
        """True once all are acknowledged or the DUT has fallen silent."""
        return self._over or self.acknowledged == self.frames

    @property
    def awaited(self) -> str:
        """Name the missing answer, for error messages."""
        return "acknowledgement of a burst"

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        return 0.0 if self._due else self._heard_s + self._silence_s

    def outgoing(self, now_s: float) -> bytes:
        """Return the bytes to send now."""
        if not self._due:
            return b""
        self._due = False
        self._heard_s = now_s + self._line_s
        return self._code

    def receive(self, frame: Frame, now_s: float) -> None:
        """Take a frame from the DUT."""
        self.acknowledged += frame.kind == MessageKind.ACK
        self.noise(now_s)

    def noise(self, now_s: float) -> None:
        """Note that bytes came: the DUT is still answering."""
        self._heard_s = max(self._heard_s, now_s)

    def expire(self, now_s: float) -> None:
        """Let time pass."""
        self._over = not self._due and now_s >= self.wake_s
