# SPDX-License-Identifier: Apache-2.0
"""The energy counter and the clock of a simulated host; the simulator of a chip adds
the chip's form of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from drivers.front_end import FrontEnd
from drivers.host_counters.settings import SimulatedCounterSettings
from rig.errors import DeadlineError
from rig.simulation.world import NS_PER_S, World

_CHUNK = 100_000
_POLL_S = 0.005
_TIMEOUT_S = 2.0


class SimulatedCounter:
    """Energy counter of a simulated host, and the clock of its readings.

    Its time goes on only while a caller waits for it. `stall_s`, a fault, lengthens the
    next wait, as for a thread that gets no processor. `updated` is called after every
    wait.
    """

    def __init__(self, world: World, settings: SimulatedCounterSettings) -> None:
        self._world = world
        self._update_s = settings.update_s
        self._gain = settings.gain
        self._base_w = settings.base_w
        self._origin_ns = world.now_ns()
        self._speed = 1 + settings.clock_ppm * 1e-6
        self._front_end = FrontEnd(
            world,
            1 / settings.update_s,
            clock_ppm=settings.clock_ppm,
            start_ns=self._origin_ns,
            share=settings.share,
        )
        self._read_past_ns = 0  # since it began
        self._turn = threading.Condition()
        self._awaited_ns = 0
        self.energy_j = 0.0
        self.power_w = 0.0  # at the last update
        self.stall_s = 0.0
        self.updated: Callable[[], None] = lambda: None

    @property
    def prompt(self) -> bool:
        """Whether events can be read at once; those of a live device are known a little
        later."""
        return not self._world.live

    @property
    def counted_s(self) -> float:
        """How much time is in `energy_j`."""
        return self._front_end.at * self._update_s

    def now_ns(self) -> int:
        """Return the present time of the simulated host."""
        return self._host_ns(self._world.now_ns())

    def read_ns(self) -> int:
        """Return the time that the counter has got to."""
        return self._first_ns + self._read_past_ns

    def let_pass(self, duration_ns: int) -> None:
        """Let time pass."""
        self._world.wait(duration_ns)

    def wait_until(self, time_ns: int, sooner: threading.Event | None) -> None:
        """Count up to a time, as soon as it is known what happened until then; raises
        DeadlineError when that never comes.
        """
        stall_ns = round(self.stall_s * NS_PER_S)
        self.stall_s = 0.0
        time_ns += stall_ns
        began_s = time.monotonic()
        seen_ns = -1
        while (known_ns := self._host_ns(self._world.horizon_ns())) < time_ns:
            if sooner is not None and sooner.is_set():
                return
            if known_ns != seen_ns:
                began_s = time.monotonic()
                seen_ns = known_ns
            if sooner is None and time.monotonic() - began_s > _TIMEOUT_S:
                raise DeadlineError(
                    "end of the simulated device's log",
                    _TIMEOUT_S,
                    try_next="did the device die? see the session's events",
                )
            with self._turn:
                self._awaited_ns = time_ns
                self._turn.notify_all()
                self._turn.wait(_POLL_S)
        self._count_to(time_ns)
        self.updated()

    def watch(self, working: Callable[[], bool]) -> Callable[[], None]:
        """Hold the world's virtual time until the polling thread has seen all of it, so
        that a recording does not depend on the scheduler."""

        def hold() -> None:
            with self._turn:
                self._turn.notify_all()
                while working() and self._awaited_ns <= self.now_ns():
                    self._turn.wait(_POLL_S)

        return self._world.watch(hold)

    def doubts(self) -> Iterable[tuple[int, int, str]]:
        """Return and clear the spans that the simulated device reported only after they
        had been counted."""
        update_ns = self._update_s * NS_PER_S
        for first, stop in self._front_end.late():
            span_ns = (
                self._first_ns + round(first * update_ns),
                self._first_ns + round(stop * update_ns),
            )
            yield (
                *span_ns,
                (
                    "the simulated device reported"
                    f" {(span_ns[1] - span_ns[0]) / 1e6:.1f} ms too late"
                ),
            )

    @property
    def _first_ns(self) -> int:
        # Not kept: a device that is the host itself says what its clock shows only when
        # it is opened, after its monitors.
        return self._world.monotonic_ns + round(self._origin_ns * self._speed)

    def _host_ns(self, world_ns: int) -> int:
        return self._first_ns + round((world_ns - self._origin_ns) * self._speed)

    def _count_to(self, time_ns: int) -> None:
        self._read_past_ns = max(time_ns - self._first_ns, self._read_past_ns)
        # Samples are due by the world's time and not by the rounded one of the host: no
        # state can come before it.
        updates = int(self._read_past_ns / NS_PER_S / self._update_s)
        updates = min(
            updates, self._front_end.at + self._front_end.due(self._world.horizon_ns())
        )
        while count := min(updates - self._front_end.at, _CHUNK):
            power_w = self._front_end.take(count).power_w
            self.power_w = (float(power_w[-1]) + self._base_w) * (1 + self._gain)
            drawn_w = float(power_w.sum()) + self._base_w * count
            self.energy_j += drawn_w * (1 + self._gain) * self._front_end.period_s
