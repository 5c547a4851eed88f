# SPDX-License-Identifier: Apache-2.0
"""How a board's stopwatch and the host's clock lie to each other, bounded by what
cannot be: an event read before it was measured, a stopwatch that ran before it was
started. Pure.

docs/decisions/2026-11-23-monitors-without-edges.md has the reasons.
"""

from __future__ import annotations

from rig.errors import BenchError

NS_PER_S = 1_000_000_000
_WINDOW_NS = NS_PER_S
#: So many events must have come, and over such a time, before the offset is stated: on
#: a busy host the least delay takes a while to be seen.
_SETTLED = 3
SETTLE_S = 1.0
#: Times are rounded to microseconds, and a thread may be a little late to read its
#: clock.
_SLACK_NS = 50_000


class ClockTie:
    """Converts stamps of a stopwatch to times of CLOCK_MONOTONIC.

    `started_ns`: the stopwatch was started after this time. `limit_ppm`: the two clocks
    differ in rate by no more. Stamps that never move are ignored: then the time of
    reading counts.
    """

    def __init__(self, started_ns: int, limit_ppm: float) -> None:
        self._started_ns = started_ns
        self._rate = limit_ppm * 1e-6
        self._heard = 0
        self._settled = False
        self._first_read_ns: int | None = None
        self._last_ns: int | None = None
        self._moved = False
        self._offset_ns = 0.0
        self._envelope_ns = float("inf")
        self._window_at_ns = 0
        self._window_ns = float("inf")
        self.half_width_ns = float("inf")

    @property
    def settled(self) -> bool:
        """Whether enough was heard to state a time."""
        return self._settled

    @property
    def stamped(self) -> bool:
        """Whether the stamps say anything."""
        return self._moved

    def hear(self, stamp_ns: int | None, read_ns: int) -> None:
        """Take note of an event that was there at `read_ns`; raises BenchError where
        its stamp cannot be true.
        """
        was_settled = self._settled
        self._heard += 1
        if self._first_read_ns is None:
            self._first_read_ns = read_ns
        long_enough = read_ns - self._first_read_ns >= SETTLE_S * NS_PER_S
        self._settled = was_settled or (long_enough and self._heard >= _SETTLED)
        if stamp_ns is None:
            return
        if self._last_ns is not None and stamp_ns != self._last_ns:
            self._moved = True
        if self._last_ns is not None and stamp_ns < self._last_ns:
            raise _jumped(f"{stamp_ns / 1e9:.6f} s after {self._last_ns / 1e9:.6f} s")
        self._last_ns = stamp_ns
        late_ns = read_ns - stamp_ns
        if late_ns < self._started_ns - self._rate * stamp_ns - _SLACK_NS:
            raise _jumped(
                f"an event of {stamp_ns / 1e9:.6f} s was read"
                f" {(read_ns - self._started_ns) / 1e9:.6f} s after the stopwatch was"
                " started"
            )
        if not was_settled:
            self._envelope_ns = min(self._envelope_ns, late_ns)
            self._offset_ns = (self._started_ns + self._envelope_ns) / 2
            self.half_width_ns = (self._envelope_ns - self._started_ns) / 2
            self._window_at_ns = stamp_ns
            return
        self._follow(stamp_ns, late_ns)

    def host_ns(self, stamp_ns: int | None, read_ns: int) -> int:
        """Return the time of an event by CLOCK_MONOTONIC."""
        if stamp_ns is None or not self._moved:
            return read_ns
        return round(self._offset_ns + stamp_ns)

    def _follow(self, stamp_ns: int, late_ns: float) -> None:
        """Follow the least delay of each second, by no more than the clocks can differ:
        a crystal drifts, a busy host only delays.
        """
        self._window_ns = min(self._window_ns, late_ns)
        passed_ns = stamp_ns - self._window_at_ns
        if passed_ns >= _WINDOW_NS:
            most_ns = self._rate * passed_ns
            step_ns = min(max(self._window_ns - self._envelope_ns, -most_ns), most_ns)
            self._envelope_ns += step_ns
            self._offset_ns += step_ns
            self._window_at_ns = stamp_ns
            self._window_ns = float("inf")
        self._offset_ns = min(self._offset_ns, late_ns)


def _jumped(evidence: str) -> BenchError:
    return BenchError(
        "the stamps of the board's power events cannot be true",
        evidence=evidence,
        try_next=(
            "did another program start or reset the board's stopwatch? Stamps are taken"
            " to be microseconds; close other users of the board and measure again"
        ),
    )
