# SPDX-License-Identifier: Apache-2.0
"""The physical truth of a simulated bench: one clock, and one log of supply power and
SYNC level over it.

A simulated SUT writes the log, a simulated monitor reads it through its own imperfect
clock and converter. No result is computed here: the log *is* the truth that results
are compared with.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class State:
    """From `time_ns` on the DUT draws `power_w` and drives SYNC to `level` (True is
    high, the rest state).
    """

    time_ns: int
    level: bool
    power_w: float


def _nothing() -> None:
    return


class World:
    """The virtual clock and the log; thread-safe. Time starts at 0 ns.

    In a *virtual* world time passes only by `advance`. A backend whose device lives in
    real time calls `follow` with two functions: the world's present time, and its
    horizon: the time before which no further state will be put.

    `monotonic_ns` is what CLOCK_MONOTONIC of the simulated host shows at time 0. `look`
    is called whenever virtual time is about to pass, and `pause` lets real time pass:
    who wants to end it all raises there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: list[State] = [State(0, True, 0.0)]
        self._now_ns = 0
        self._clock: Callable[[], int] | None = None
        self._horizon: Callable[[], int] | None = None
        self._watchers: list[Callable[[], None]] = []
        self.look: Callable[[], None] = _nothing
        self.pause: Callable[[float], None] = time.sleep
        self.supply_on = False
        #: True voltage of the supply at its output while it is on.
        self.supply_v = 0.0
        #: The supply is switched on, and a wire that is open keeps it from the device.
        self.supply_cut = False
        self.monotonic_ns = 1_000_000_000_000

    def follow(self, now_ns: Callable[[], int], horizon_ns: Callable[[], int]) -> None:
        """Let real time drive this world from here on."""
        self._clock = now_ns
        self._horizon = horizon_ns

    @property
    def live(self) -> bool:
        """Whether time goes by itself."""
        return self._clock is not None

    def now_ns(self) -> int:
        """Return the present time."""
        return self._clock() if self._clock else self._now_ns

    def horizon_ns(self) -> int:
        """Return the time before which the log is complete."""
        return self._horizon() if self._horizon else self._now_ns

    def advance(self, duration_ns: int) -> None:
        """Let virtual time pass; a watcher may hold it until it has caught up."""
        if duration_ns < 0:
            raise ValueError(f"time does not go backwards: {duration_ns} ns")
        self.look()
        self._now_ns += duration_ns
        for watcher in tuple(self._watchers):
            watcher()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after every step of virtual time: a simulated instrument that
        must keep up blocks in it.

        Returns what ends it; ending twice is allowed.
        """
        self._watchers.append(watcher)

        def end() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return end

    def wait(self, duration_ns: int) -> None:
        """Let time pass: virtual time at once, real time by sleeping."""
        if self._clock is None:
            self.advance(duration_ns)
        else:
            self.pause(duration_ns / NS_PER_S)

    def put(self, time_ns: int, level: bool, power_w: float) -> None:
        """Add a state; states come in the order of their times."""
        with self._lock:
            if time_ns < self._states[-1].time_ns:
                raise ValueError(
                    f"state at {time_ns} ns comes after one at"
                    f" {self._states[-1].time_ns} ns"
                )
            self._states.append(State(time_ns, level, power_w))

    def states(self, first: int = 0) -> list[State]:
        """Return the log from entry `first` on."""
        with self._lock:
            return self._states[first:]

    def true_energy_j(self, start_ns: int, stop_ns: int) -> float:
        """Return the exact energy between two true times: the truth that tests compare
        with."""
        with self._lock:
            states = self._states
            at = max(
                bisect_right(states, start_ns, key=lambda state: state.time_ns) - 1, 0
            )
            energy = 0.0
            time_ns = start_ns
            while time_ns < stop_ns:
                end = states[at + 1].time_ns if at + 1 < len(states) else stop_ns
                end = min(end, stop_ns)
                energy += states[at].power_w * (end - time_ns) / NS_PER_S
                time_ns = end
                at = at + 1
            return energy
