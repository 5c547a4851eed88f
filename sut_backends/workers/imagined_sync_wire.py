# SPDX-License-Identifier: Apache-2.0
"""Imagined SYNC wire that shows a simulated monitor a program on this computer;
simulated.

The program's marks are true; that they are pulses on a wire, and the power drawn
between them, is invented.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rig.model.completion import Mark
from rig.simulation.world import NS_PER_S, World
from sut_backends.hosted.sync_wire import Power


class ImaginedWire:
    """Turns marks, in CLOCK_MONOTONIC ns, into states of a world that lives in real
    time from here on.
    """

    def __init__(self, world: World, power_w: Power, hold_ns: int) -> None:
        self._world = world
        self._power_w = power_w
        self._hold_ns = hold_ns
        self._origin_ns = time.monotonic_ns() - world.now_ns()
        self._lock = threading.Lock()
        self._held_ns: int | None = None
        self._rest_ns = time.monotonic_ns()  # when the last pulse is over
        world.monotonic_ns = self._origin_ns
        world.put(self._rest_ns - self._origin_ns, True, power_w.idle)
        world.follow(self._now_ns, self._horizon_ns)

    def pulse(self, phase: int) -> Mark:
        """Pulse now."""
        self._settle()
        with self._lock:
            now_ns = time.monotonic_ns()
            self._put(phase, now_ns, self._hold_ns)
        return Mark(phase, now_ns)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A context whose pulses are reported when it ends."""
        self._settle()
        with self._lock:
            self._held_ns = time.monotonic_ns()
        try:
            yield
        finally:
            with self._lock:
                self._held_ns = None

    def tell(self, marks: Sequence[Mark]) -> None:
        """Put the pulses that happened while it was busy; of phases that are too short
        for a pulse and a pause, half is pulse.
        """
        with self._lock:
            ends = [mark.tick for mark in marks[1:]]
            pairs = zip(marks, [*ends, marks[-1].tick + 2 * self._hold_ns], strict=True)
            for mark, next_ns in pairs:
                self._put(
                    mark.phase,
                    mark.tick,
                    min(self._hold_ns, (next_ns - mark.tick) // 2),
                )

    def close(self) -> None:
        """End the wire; no power is drawn afterwards."""
        self._settle()
        with self._lock:
            self._world.put(time.monotonic_ns() - self._origin_ns, True, 0.0)

    def _put(self, phase: int, time_ns: int, hold_ns: int) -> None:
        for level, at_ns in ((False, time_ns), (True, time_ns + hold_ns)):
            self._world.put(
                at_ns - self._origin_ns, level, self._power_w.of(phase, level)
            )
        self._rest_ns = time_ns + 2 * hold_ns

    def _settle(self) -> None:
        time.sleep(max(self._rest_ns - time.monotonic_ns(), 0) / NS_PER_S)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._origin_ns

    def _horizon_ns(self) -> int:
        with self._lock:
            return (
                time.monotonic_ns() if self._held_ns is None else self._held_ns
            ) - self._origin_ns
