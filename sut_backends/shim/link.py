# SPDX-License-Identifier: Apache-2.0
"""The reliable host side of the framed layer: frame numbers, counters and the transfer
in progress. No port, no clock: time is passed in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from rig.errors import LocalProtocolError
from sut_backends.shim.burst import Burst
from sut_backends.shim.frame import Frame, FrameDecoder
from sut_backends.shim.messages import FIRST_MAX_PAYLOAD_B, MessageKind
from sut_backends.shim.request import REPEATS_MAX, Request, SilentWindow
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.shim.window import RequestWindow

#: A whole line that only the text layer sends: within a frame the words may be part of
#: an output.
_TEXT_LAYER = re.compile(rb"(?:\A|\n)m-(?:init-done|ready)\r\n")


class Transfer(Protocol):
    """A transfer between host and DUT: a Request, a RequestWindow or a Burst."""

    failed: bool
    repeats: int
    answer: Frame | None

    @property
    def finished(self) -> bool: ...
    @property
    def following(self) -> int: ...
    @property
    def awaited(self) -> str: ...
    @property
    def wake_s(self) -> float: ...
    def outgoing(self, now_s: float) -> bytes: ...
    def receive(self, frame: Frame, now_s: float) -> None: ...
    def noise(self, now_s: float) -> None: ...
    def expire(self, now_s: float) -> None: ...


class ShimLink:
    """One transfer at a time, with frames numbered in one sequence.

    `received_b` counts bytes and `retransmissions` frames retransmitted, over the whole
    session; `restarted` is set when the DUT sends a line of its power-up.
    """

    def __init__(self, timeouts: RetransmissionTimeouts) -> None:
        self.timeouts = timeouts
        self.decoder = FrameDecoder()
        self.window = 1
        self.max_payload_b = FIRST_MAX_PAYLOAD_B
        self.received_b = 0
        self.restarted = False
        self._retransmissions = 0
        self._established = False
        self._number = 0
        self._transfer: Transfer | None = None

    @property
    def retransmissions(self) -> int:
        """Number of frames that were retransmitted so far."""
        return self._retransmissions + (self._transfer.repeats if self._transfer else 0)

    @property
    def wake_s(self) -> float:
        """Return when `expire` is to be called."""
        return self._transfer.wake_s if self._transfer else float("inf")

    def establish(self, window: int, max_payload_b: int) -> None:
        """Take over the limits of CAPS, and forget the text that came before it."""
        self.window = window
        self.max_payload_b = max_payload_b
        self.decoder.max_payload_b = max(max_payload_b, self.decoder.max_payload_b)
        self.decoder.forget()
        self._established = True

    def request(
        self,
        kind: MessageKind,
        payload: bytes = b"",
        silence: SilentWindow | None = None,
        repeats_max: int = REPEATS_MAX,
    ) -> Request:
        """Begin one request."""
        self._check(payload)
        request = Request(
            kind,
            payload,
            self._number,
            self.timeouts,
            silence=silence,
            repeats_max=repeats_max,
            longest_b=self.max_payload_b,
        )
        self._begin(request)
        return request

    def stream(
        self, requests: Sequence[tuple[MessageKind, bytes]], fragile: bool = False
    ) -> RequestWindow:
        """Begin a stream of requests; `fragile` ones are abandoned where most of them
        break."""
        for _, payload in requests:
            self._check(payload)
        stream = RequestWindow(
            requests, self._number, self.window, self.timeouts, fragile
        )
        self._begin(stream)
        return stream

    def burst(self) -> Burst:
        """Begin a burst of as many full frames as the DUT takes at once."""
        burst = Burst(self.window, self.max_payload_b, self._number, self.timeouts)
        self._begin(burst)
        return burst

    def end(self) -> None:
        """End the transfer in progress: the next one takes the number that follows."""
        if self._transfer:
            self._number = self._transfer.following
            self._retransmissions += self._transfer.repeats
            self._transfer = None

    def rewind(self) -> None:
        """Give the next request the number of the last one, which failed: only for the
        very same request.
        """
        self.end()
        self._number -= 1

    def feed(self, block: bytes, now_s: float) -> None:
        """Take received bytes."""
        self.received_b += len(block)
        dropped = self.decoder.dropped
        for frame in self.decoder.feed(block):
            if self._transfer and not self._transfer.finished:
                self._transfer.receive(frame, now_s)
        if self._transfer and (self.decoder.dropped > dropped or self.decoder.pending):
            self._transfer.noise(now_s)
        heard = self.decoder.dropped_tail + self.decoder.pending
        self.restarted |= self._established and _TEXT_LAYER.search(heard) is not None

    def outgoing(self, now_s: float) -> bytes:
        """Return the bytes to send now."""
        return self._transfer.outgoing(now_s) if self._transfer else b""

    def expire(self, now_s: float) -> None:
        """Let time pass; to be called only after all bytes that came before `now_s`
        were read.
        """
        if self._transfer:
            self._transfer.expire(now_s)

    def _check(self, payload: bytes) -> None:
        if len(payload) > self.max_payload_b:
            raise LocalProtocolError(
                f"payload of {len(payload)} bytes, the DUT takes {self.max_payload_b}"
            )

    def _begin(self, transfer: Transfer) -> None:
        if self._transfer:  # an error left it unfinished
            raise LocalProtocolError(f"still waiting for {self._transfer.awaited}")
        self._transfer = transfer
