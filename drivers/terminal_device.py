# SPDX-License-Identifier: Apache-2.0
"""A simulated instrument on a pseudo terminal: bytes in, bytes out, as on the serial
port of a real one.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Protocol

from drivers.front_end import FrontEnd
from rig.host.pseudo_terminal import open_terminal, unread_b
from rig.host.ready import ready
from rig.simulation.world import World

_BACKLOG = 100_000
_POLL_S = 0.002
#: Wait while no sample is taken or sent: a command ends it, and the end of the
#: simulator waits for it.
_IDLE_S = 0.02
_HOLD_S = 60.0
_DELIVERY_S = 2.0
_STALL_S = 2.0
#: A terminal takes so much at once.
_PIECE_B = 4096


class SimulatedStream:
    """The samples of a front end, up to the time `stop_ns` of a command to stop."""

    def __init__(self, world: World, front_end: FrontEnd) -> None:
        self._world = world
        self._front_end = front_end
        self._seen_ns = -1
        self._moved_s = time.monotonic()
        self.stop_ns: int | None = None

    def due(self) -> int:
        """Return how many samples could be sent."""
        return self._front_end.due(self._world.horizon_ns())

    @property
    def horizon_ns(self) -> int:
        """The time before which samples are sent."""
        horizon_ns = self._world.horizon_ns()
        return horizon_ns if self.stop_ns is None else min(horizon_ns, self.stop_ns)

    @property
    def stopped(self) -> bool:
        """Whether no sample will be due any more before the time of the stop."""
        if self.stop_ns is None:
            return False
        horizon_ns = self._world.horizon_ns()
        if horizon_ns != self._seen_ns:
            self._seen_ns = horizon_ns
            self._moved_s = time.monotonic()
        # A device that has died in a phase leaves a horizon that stands still.
        still = time.monotonic() - self._moved_s > _STALL_S
        return horizon_ns >= self.stop_ns or still


class CableFaults(Protocol):
    """Faults of the cable, by the time of the measurement; below 0 is never."""

    @property
    def unplugged_at_s(self) -> float:
        """When it is unplugged."""

    @property
    def mute_at_s(self) -> float:
        """When the last byte comes."""


class TerminalDevice(ABC):
    """Thread of one simulated instrument; a driver opens `port`. `frames_s` lies
    between two packets of its USB port in real time.
    """

    def __init__(self, name: str, world: World, frames_s: float) -> None:
        self._world = world
        self._frames_s = frames_s
        terminal = open_terminal(f"the simulated {name}")
        self._master, self._slave = terminal.device_fd, terminal.host_fd
        self.port = terminal.path
        self._tx = bytearray()
        self._rx = bytearray()
        self._heard = False
        self._mute = False
        self._measurement: SimulatedStream | None = None
        self._stopping = threading.Event()
        self._unwatch = world.watch(self._hold)
        self._thread = threading.Thread(
            target=self._work, name=f"simulated {name}", daemon=True
        )

    def close(self) -> None:
        """End the thread and the pseudo terminal; closing twice is allowed. The supply
        stays as it is.
        """
        self._stopping.set()
        self._thread.join()
        self._hang_up()

    @abstractmethod
    def _obey_received(self) -> None:
        """Take whole commands from `_rx` and obey them."""

    @abstractmethod
    def _sample(self) -> None:
        """Put the samples that are due into `_tx`."""

    @abstractmethod
    def _switch(self, on: bool) -> None:
        """Switch the supply."""

    @property
    def _busy(self) -> bool:
        return self._measurement is not None and not self._mute

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                # Bytes in a terminal are dropped when it is opened; those in an
                # instrument's buffer come later.
                speaks = self._tx and self._heard and not self._mute
                outlets = [self._master] if speaks else []
                patience_s = _POLL_S if self._busy else _IDLE_S
                readable, writable = ready([self._master], outlets, patience_s)
                if readable:
                    with suppress(BlockingIOError):
                        self._rx += os.read(self._master, _PIECE_B)
                        self._heard = True
                    self._obey_received()
                if writable:
                    self._send()
                if self._world.live:
                    self._stopping.wait(self._frames_s)
                self._sample()
        except _UnpluggedError:
            self._deliver()
            # The same cable feeds it.
            self._switch(False)
            self._hang_up()
        finally:
            self._unwatch()

    def _send(self) -> None:
        with suppress(BlockingIOError):
            del self._tx[: os.write(self._master, self._tx[:_PIECE_B])]

    def _strike(self, faults: CableFaults, elapsed_s: float) -> None:
        """Apply the faults of the cable that are due."""
        if 0 <= faults.unplugged_at_s <= elapsed_s:
            raise _UnpluggedError
        if 0 <= faults.mute_at_s <= elapsed_s and not self._mute:
            self._deliver()
            self._mute = True

    def _deliver(self) -> None:
        """Send the bytes that an instrument in real time would have sent by now:
        virtual time ran ahead of the line."""
        end_s = time.monotonic() + _DELIVERY_S
        while not self._world.live and time.monotonic() < end_s:
            if not self._tx and not unread_b(self._slave):
                break
            if self._tx:
                self._send()
            self._stopping.wait(_POLL_S)

    def _hang_up(self) -> None:
        for fd in (self._master, self._slave):
            if fd >= 0:
                os.close(fd)
        self._master = self._slave = -1

    def _hold(self) -> None:
        """Hold virtual time until the backlog is small; a host that does not read for
        long must not hold it for ever."""
        end_s = time.monotonic() + _HOLD_S
        while (
            (measurement := self._measurement) is not None
            and self._thread.is_alive()
            and time.monotonic() < end_s
        ):
            if self._world.live or measurement.due() <= _BACKLOG or self._mute:
                return
            self._stopping.wait(0.001)


class _UnpluggedError(Exception):
    """The simulated cable is out."""
