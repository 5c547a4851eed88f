# SPDX-License-Identifier: Apache-2.0
"""How long a device takes, as far as its settings determine it without the device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of a device in seconds; `phases_s` are those of one run of each phase on
    one sample, none where only the device knows them.

    A load takes `load_s` and `byte_s` for each byte of its payload. `overhead_s` comes
    on top of every other step. `virtual`: the times pass by a clock of their own,
    faster than real ones. `wired`: what passes a line to the device is logged. `slots`
    is how many samples it holds, 0 where only the device knows.
    """

    load_s: float = 0.0
    byte_s: float = 0.0
    sync_s: float = 0.04
    phases_s: tuple[float, ...] = ()
    overhead_s: float = 0.0
    virtual: bool = False
    wired: bool = True
    slots: int = 0

    @property
    def query_s(self) -> float | None:
        """Return the time of one run of all phases on one sample."""
        return sum(self.phases_s) if self.phases_s else None


@dataclass(frozen=True, slots=True)
class Duration:
    """How long something takes, in seconds: at least, as expected, and at most.

    `expected_s` is None where nothing is known but the limits.
    """

    least_s: float
    expected_s: float | None
    most_s: float

    def times(self, count: int) -> Duration:
        """Return `count` of them, one behind the other."""
        expected_s = None if self.expected_s is None else count * self.expected_s
        return Duration(count * self.least_s, expected_s, count * self.most_s)

    @property
    def known_s(self) -> float:
        """Return what is expected, or where nothing is, the least."""
        return self.least_s if self.expected_s is None else self.expected_s


def exactly(seconds: float, overhead_s: float) -> Duration:
    """Return a duration that the device keeps by its timer, with what comes on top of
    it."""
    return Duration(seconds, seconds + overhead_s, 1.1 * seconds + 10 * overhead_s)


def roughly(seconds: float) -> Duration:
    """Return a duration that is known within a factor of two."""
    return Duration(seconds / 2, seconds, 2 * seconds)


def limited(expected_s: float | None, limit_s: float, least_s: float = 0.0) -> Duration:
    """Return a duration that has a limit, and perhaps an expectation from the device's
    settings, else what it takes at least.
    """
    if expected_s is None:
        return Duration(least_s, None, limit_s)
    return Duration(expected_s / 2, expected_s, max(limit_s, expected_s))
