# SPDX-License-Identifier: Apache-2.0
"""The edge wire of an emulated board: SYNC edges in the board's own time, which becomes
the time of the simulated world.
"""

from __future__ import annotations

import time

from rig.errors import RemoteProtocolError
from rig.model.completion import END
from rig.simulation.world import World
from sut_backends.hosted.sync_wire import EdgeWire, Power

NS_PER_TICK = 1_000  # the boards count microseconds
AHEAD_NS = 10_000_000  # the board says every 5 ms what time it is


class GuestWire(EdgeWire):
    """Read lines of firmware/ports/cortex_m/nr_edge_wire.h in a thread of its own; set
    the time and the horizon of the world.

    While the board computes, its time is independent of the wall's; while it sleeps,
    both pass at the same rate. Therefore the horizon is the time that the board stated
    last, and the present is that plus the wall's time since then, `AHEAD_NS` at most.
    `origin_ns` is the time of the world at the board's tick 0.
    """

    gather_s = 0.002  # the board writes byte by byte

    def __init__(self, fd: int, world: World, power_w: Power, origin_ns: int) -> None:
        self._told_ns, self._told_wall_ns = origin_ns, time.monotonic_ns()
        world.put(origin_ns, True, power_w.of(END, True))
        super().__init__(fd, world, power_w, origin_ns)

    def now_ns(self) -> int:
        """Return the present time of the world. Never goes back."""
        with self._lock:
            self._drain()  # edges not read yet are earlier than the present
            self._now_ns = max(self._now_ns, self._world_ns(time.monotonic_ns()))
            return self._now_ns

    def _world_ns(self, wall_ns: int) -> int:
        ahead_ns = max(wall_ns - self._told_wall_ns, 0)
        return self._told_ns + (ahead_ns if self._ended else min(ahead_ns, AHEAD_NS))

    def _move_horizon(self, wall_ns: int) -> None:
        self._horizon_ns = max(
            self._horizon_ns, self._world_ns(wall_ns) if self._ended else self._told_ns
        )

    def _take(self, line: bytes) -> None:
        """Take a line of a letter and hexadecimal numbers."""
        try:
            kind, *words = line.decode("ascii").split(" ")
            self._understand(kind, [int(word, 16) for word in words])
        except ValueError:
            self.fault = RemoteProtocolError(
                "the edge wire carries something else", evidence=repr(line[:80])
            )

    def _understand(self, kind: str, numbers: list[int]) -> None:
        """Take `T tick` or `E tick phase low_us`; raise ValueError for another line."""
        if (kind, len(numbers)) == ("T", 1):
            self._tell(self._origin_ns + numbers[0] * NS_PER_TICK)
        elif (kind, len(numbers)) == ("E", 3):
            self._pulse(*numbers)
        else:
            raise ValueError(kind)

    def _pulse(self, tick: int, phase: int, low_us: int) -> None:
        fall_ns = self._origin_ns + tick * NS_PER_TICK
        rise_ns = fall_ns + low_us * NS_PER_TICK
        self._phase = phase
        self._put(fall_ns, False, self._power_w.of(phase, False))
        self._put(rise_ns, True, self._power_w.of(phase, True))
        # The firmware starts no second pulse before: it holds the line low for up to a
        # microsecond longer than high.
        self._tell(rise_ns + (low_us - 1) * NS_PER_TICK)

    def _tell(self, time_ns: int) -> None:
        if time_ns > self._told_ns:
            self._told_ns, self._told_wall_ns = time_ns, time.monotonic_ns()
