# SPDX-License-Identifier: Apache-2.0
"""The edge wire of the POSIX firmware: its SYNC edges and phases, in true time, become
states of the simulated world.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Unit, doc

from rig.errors import DeadlineError, DeviceLost, ProtocolError, RemoteProtocolError
from rig.host.pseudo_terminal import do_not_block
from rig.host.ready import ready
from rig.interfaces.context import BenchContext
from rig.model.completion import BATCH, END, REACHED, STREAM, SYNC
from rig.simulation.world import World
from sut_backends.processes.child_process import ChildProcess

#: While the device may mark, a line that states an edge has been written and can be
#: read within this: longer than the machine keeps a process waiting (0.57 s was seen,
#: with nine at work on two cores). An edge that comes later is a gap of the recording:
#: "reported ... ms too late".
MARGIN_NS = 1_000_000_000
#: The same after a step that failed or was stopped: its later marks are of no use, and
#: the end of the recording should not be delayed.
GIVEN_UP_NS = 100_000_000
# Phases while which the host may take time from the device; between the windows of a
# stream the device listens.
_BUSY = {*range(0x01, STREAM), *range(REACHED, REACHED + 0x10)}
_PREPROCESS = 0x01
_BLOCK_B = 65_536


@dataclass(frozen=True, slots=True)
class Power:
    """Power of the simulated DUT in each phase."""

    idle: Annotated[float, Ge(0), Unit("W"), doc("While it idles.")] = 0.010
    preprocess: Annotated[
        float, Ge(0), Unit("W"), doc("While it preprocesses, and while it searches.")
    ] = 0.030
    infer: Annotated[
        float,
        Ge(0),
        Unit("W"),
        doc("While it infers, also where that is the only phase."),
    ] = 0.050
    sync: Annotated[float, Ge(0), Unit("W"), doc("During a pulse of a SYNC burst.")] = (
        0.012
    )
    batch: Annotated[float, Ge(0), Unit("W"), doc("In a batch.")] = 0.045

    def of_task(self, context: BenchContext) -> Power:
        """Return the powers by the numbers of a task's phases: the only phase infers,
        unless it is a search.
        """
        if len(context.phases) > 1 or context.searcher is not None:
            return self
        return replace(self, preprocess=self.infer)

    def of(self, phase: int, level: bool) -> float:
        """Return the power from an edge on that starts `phase` or, for SYNC, ends its
        pulse.

        A search has one phase, the first, which continues after the marks of its
        thresholds.
        """
        if phase == SYNC:
            return self.idle if level else self.sync
        if phase not in _BUSY:
            return self.idle
        if phase == BATCH:
            return self.batch
        return (
            self.preprocess if phase == _PREPROCESS or phase >= REACHED else self.infer
        )


class EdgeWire:
    """Read edge lines `tick true_ns level phase stolen_ns` in a thread of its own; set
    the time and the horizon of the world.

    `origin_ns` is CLOCK_MONOTONIC at time 0 of the world. `late_events` counts states
    before a horizon that had been handed out, `reordered_events` those that came before
    the last one in the log and were put at its time: both stay 0 unless the machine is
    overloaded.

    The log is complete `MARGIN_NS` before the present; between two steps up to the
    present itself: the device has answered, so all its marks have been written.
    """

    #: How long to wait for more bytes after the first: a line that comes in pieces is
    #: read as a whole.
    gather_s = 0.0

    def __init__(self, fd: int, world: World, power_w: Power, origin_ns: int) -> None:
        self._fd = fd
        self._world = world
        self._power_w = power_w
        self._origin_ns = origin_ns
        self.late_events = 0
        self.reordered_events = 0
        self.fault: RemoteProtocolError | None = None
        self._lock = threading.Lock()
        self._partial = b""
        self._margin_ns = MARGIN_NS
        self._phase, self._last_ns, self._stolen_ns = END, world.states()[-1].time_ns, 0
        self._now_ns = world.now_ns()
        self._horizon_ns = 0
        self._ended = False
        do_not_block(fd)
        self._woken, self._wake = os.pipe()
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._read, name="edge wire", daemon=True
        )
        world.follow(self.now_ns, self.horizon_ns)
        self._thread.start()

    def now_ns(self) -> int:
        """Return the present time of the world: the wall's, less the time that the host
        took from the device. Never goes back.
        """
        with self._lock:
            self._now_ns = max(self._now_ns, self._world_ns(time.monotonic_ns()))
            return self._now_ns

    def horizon_ns(self) -> int:
        """Return the time before which the log is complete. Never goes back."""
        with self._lock:
            self._drain()
            return self._horizon_ns

    @contextmanager
    def marking(self, process: ChildProcess) -> Iterator[None]:
        """Let the device, a process, mark in this context: after it the device has
        answered, or its answer is not waited for any more.

        Raise the fault of the wire, or DeviceLost for a process that ended, in place of
        the errors that follow from it.
        """
        if self.fault is not None:
            raise self.fault
        self._trail_by(MARGIN_NS)
        margin_ns = GIVEN_UP_NS
        try:
            yield
            margin_ns = 0
        except (DeviceLost, DeadlineError, ProtocolError) as error:
            gone = process.gone()
            if gone is not None:
                raise gone from error
            raise
        finally:
            self._trail_by(margin_ns)

    def _trail_by(self, margin_ns: int) -> None:
        with self._lock:
            self._margin_ns = margin_ns

    def close(self) -> None:
        """End the thread; from then on the device draws no power. Closing twice is
        allowed.
        """
        if self._thread.is_alive() or not self._ended:
            os.write(self._wake, b"x")
        self._thread.join()
        with self._lock:
            self._end(time.monotonic_ns())
            for fd in (self._fd, self._woken, self._wake):
                if fd >= 0:
                    os.close(fd)
            self._fd = self._woken = self._wake = -1

    def _read(self) -> None:
        while not self._ended:
            there, _ = ready([self._fd, self._woken])
            if self.gather_s and self._woken not in there:
                time.sleep(self.gather_s)
            with self._lock:
                self._drain()
            if self._woken in there:
                return

    def _world_ns(self, wall_ns: int) -> int:
        return wall_ns - self._stolen_ns - self._origin_ns

    def _drain(self) -> None:
        """Take all lines written so far. The horizon follows the wall time before the
        read that returned no bytes.
        """
        while not self._ended:
            wall_ns = time.monotonic_ns()
            try:
                block = os.read(self._fd, _BLOCK_B)
            except BlockingIOError:
                break
            if not block:
                self._end(wall_ns)
                return
            *lines, self._partial = (self._partial + block).split(b"\n")
            for line in lines:
                self._take(line)
        else:
            wall_ns = time.monotonic_ns()
        self._move_horizon(wall_ns)

    def _move_horizon(self, wall_ns: int) -> None:
        if self._ended:
            horizon_ns = self._world_ns(wall_ns)
        elif self._phase in _BUSY or self._partial:
            # The device's share of the wall's time is known only at its next edge.
            horizon_ns = self._last_ns
        else:
            horizon_ns = self._world_ns(wall_ns) - self._margin_ns
        self._horizon_ns = max(self._horizon_ns, horizon_ns)

    def _take(self, line: bytes) -> None:
        try:
            _, true_ns, level, phase, stolen_ns = (int(word) for word in line.split())
        except ValueError:
            self.fault = RemoteProtocolError(
                "the edge wire carries something else", evidence=repr(line[:80])
            )
            return
        self._phase = phase
        self._stolen_ns = stolen_ns
        self._put(
            true_ns - self._origin_ns, bool(level), self._power_w.of(phase, bool(level))
        )

    def _put(self, time_ns: int, level: bool, power_w: float) -> None:
        self.late_events += time_ns < self._horizon_ns
        self.reordered_events += time_ns < self._last_ns
        self._last_ns = max(time_ns, self._last_ns)
        self._world.put(self._last_ns, level, power_w)

    def _end(self, wall_ns: int) -> None:
        if not self._ended:
            self._ended = True
            self._last_ns = max(self._world_ns(wall_ns), self._last_ns)
            self._world.put(self._last_ns, True, 0.0)
        self._move_horizon(wall_ns)
