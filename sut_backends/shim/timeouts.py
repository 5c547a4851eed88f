# SPDX-License-Identifier: Apache-2.0
"""Retransmission timeouts (after RFC 6298): from the line rate and the round trips
measured so far.
"""

from __future__ import annotations

BITS_PER_BYTE = 10  # start, eight data bits, stop
#: Shorter times are dominated by the scheduler of a desktop system.
RTO_MIN_S = 0.020
#: Before the first measurement; a USB bridge alone may take 16 ms each way.
RTO_FIRST_S = 0.100
#: A lost ACK is repaired after one time-out; half of another one is for a late
#: scheduler.
GUARD_MARGIN = 1.5


class RetransmissionTimeouts:
    """Estimate the retransmission time-out (RTO) as RFC 6298 does, with the time on the
    line subtracted before and added after.

    All times in seconds. `baud` follows the line; `busy_s` is how long a DUT that
    processes a stream may not read the line: it is added to time-outs, and no round
    trip is measured meanwhile.
    """

    def __init__(self, baud: int, timeout_s: float = 2.0) -> None:
        self.baud = baud
        self.timeout_s = timeout_s
        self.busy_s = 0.0
        self.round_trip_s: float | None = None
        self._deviation_s = 0.0

    def line_s(self, count_b: int) -> float:
        """Return how long `count_b` bytes take on the line."""
        return count_b * BITS_PER_BYTE / self.baud

    def learn(self, elapsed_s: float, count_b: int) -> None:
        """Take the time of one round trip of `count_b` bytes without a repeat."""
        if self.busy_s:
            return
        sample_s = max(elapsed_s - self.line_s(count_b), 0.0)
        if self.round_trip_s is None:
            self.round_trip_s = sample_s
            self._deviation_s = sample_s / 2
        else:
            self._deviation_s += (
                abs(sample_s - self.round_trip_s) - self._deviation_s
            ) / 4
            self.round_trip_s += (sample_s - self.round_trip_s) / 8

    def rto_s(self, count_b: int, repeats: int = 0) -> float:
        """Return the time-out for an exchange of `count_b` bytes that has been repeated
        `repeats` times.
        """
        measured_s = RTO_FIRST_S
        if self.round_trip_s is not None:
            measured_s = self.round_trip_s + 4 * self._deviation_s
        rto_s = max(RTO_MIN_S, measured_s)
        ceiling_s = max(rto_s, self.timeout_s / 8)
        return min(rto_s * 1.5**repeats, ceiling_s) + self.line_s(count_b) + self.busy_s

    def guard_s(self, count_b: int) -> float:
        """Return how long the DUT should listen after its ACK: longer than the
        time-out, so that a repeat precedes the window.
        """
        return GUARD_MARGIN * self.rto_s(count_b)
