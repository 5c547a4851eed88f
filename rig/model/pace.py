# SPDX-License-Identifier: Apache-2.0
"""Times of a device, as far as its settings determine them without the device."""

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
        """Time of one run of all phases on one sample."""
        return sum(self.phases_s) if self.phases_s else None

    def loading_s(self, payload_b: float) -> float:
        """Compute the time of a load of so many bytes."""
        return self.load_s + self.byte_s * payload_b


@dataclass(frozen=True, slots=True)
class Duration:
    """A time in seconds: as known, and at most. Where it is not `expected`, only limits
    are known, and `known_s` is the least.
    """

    known_s: float
    most_s: float
    expected: bool = True

    @property
    def expected_s(self) -> float | None:
        """The expected time, None where only limits are known."""
        return self.known_s if self.expected else None

    def times(self, count: float) -> Duration:
        """Multiply the time by `count`."""
        return Duration(count * self.known_s, count * self.most_s, self.expected)

    def __add__(self, other: Duration) -> Duration:
        """Add the time of a next part."""
        return Duration(
            self.known_s + other.known_s,
            self.most_s + other.most_s,
            self.expected and other.expected,
        )
