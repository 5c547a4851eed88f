# SPDX-License-Identifier: Apache-2.0
"""A simulated PPK2 on a pseudo terminal: bytes in, bytes out, as on its measurement
port.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

import numpy as np

from drivers.nordic_ppk2.sim.converter import metadata
from drivers.nordic_ppk2.sim.measurement import (
    SimulatedMeasurement,
    SupplyOutput,
    stale_words,
)
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from rig.host.pseudo_terminal import open_terminal, unread_b
from rig.host.ready import ready
from rig.interfaces.context import BenchContext

#: How many bytes follow a command: the mode, the voltage, a gain and its range.
_ARGUMENTS = {0x0C: 1, 0x0D: 2, 0x11: 1, 0x25: 5}
_START, _STOP, _METADATA, _RESET = 0x06, 0x07, 0x19, 0x20
_POWER, _VOLTAGE, _MODE = 0x0C, 0x0D, 0x11
_SOURCE = 2
#: A terminal takes so much at once. The instrument sends 1024 bytes at a time.
_PIECE_B = 4096
#: Bytes that wait for the host before no more are made; how large its buffer is, is
#: not published.
_TX_B = 65_536
_BACKLOG = 100_000
_POLL_S = 0.002
_IDLE_S = 0.02
_FRAMES_S = 0.002
_TIMEOUT_S = 60.0
_DELIVERY_S = 2.0


class Ppk2Simulator:
    """One simulated PPK2 in a thread of its own; a driver opens `port`."""

    def __init__(self, settings: Ppk2SimulatorSettings, context: BenchContext) -> None:
        self._settings = settings
        self._world = context.world
        self._random = np.random.default_rng([context.seed, settings.seed])
        terminal = open_terminal("the simulated PPK2")
        self._master, self._slave = terminal.device_fd, terminal.host_fd
        self.port = terminal.path
        faults = settings.faults
        self._tx = bytearray()
        self._rx = bytearray()
        self._mode = _SOURCE
        self._millivolts = 5000
        self._measurement: SimulatedMeasurement | None = None
        self._measurements = 0
        self._heard = False
        self._mute = faults.is_shell
        self._pending: list[bytes] = []
        self._stopping = threading.Event()
        self._measures = threading.Event()
        self._world.supply_on = faults.supply_found_on
        self._unwatch = self._world.watch(self._hold)
        self._tx += stale_words(faults.stale_b, self._random)
        if faults.streaming:
            self._start()
        self._thread = threading.Thread(
            target=self._work, name="simulated PPK2", daemon=True
        )
        self._thread.start()

    def measures(self, limit_s: float) -> bool:
        """Wait until it measures; return whether it does. In virtual time the command
        must be obeyed before time passes, and it is not acknowledged.
        """
        return self._measures.wait(limit_s)

    def close(self) -> None:
        """End the thread and the pseudo terminal; closing twice is allowed."""
        self._stopping.set()
        self._thread.join()
        self._hang_up()

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                # Bytes in a terminal are dropped when it is opened; those in an
                # instrument's buffer come later.
                speaks = self._tx and self._heard and not self._mute
                wants = [self._master] if speaks else []
                patience_s = _POLL_S if self._measurement else _IDLE_S
                readable, writable = ready([self._master], wants, patience_s)
                if readable:
                    self._hear()
                if writable:
                    with suppress(BlockingIOError):
                        piece = self._tx[:_PIECE_B]
                        del self._tx[: os.write(self._master, piece)]
                if self._world.live:
                    self._stopping.wait(_FRAMES_S)
                self._sample()
        except _UnpluggedError:
            self._deliver()
            self._world.supply_on = False
            self._hang_up()
        finally:
            self._unwatch()

    def _deliver(self) -> None:
        """Send the bytes that an instrument in real time would have sent by now."""
        end_s = time.monotonic() + _DELIVERY_S
        while (
            not self._world.live
            and time.monotonic() < end_s
            and (self._tx or unread_b(self._slave))
        ):
            if self._tx:
                with suppress(BlockingIOError):
                    del self._tx[: os.write(self._master, self._tx)]
            self._stopping.wait(_POLL_S)

    def _hang_up(self) -> None:
        for fd in (self._master, self._slave):
            if fd >= 0:
                os.close(fd)
        self._master = self._slave = -1

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            self._rx += os.read(self._master, 4096)
            self._heard = True
        while self._rx:
            size = 1 + _ARGUMENTS.get(self._rx[0], 0)
            if len(self._rx) < size:
                return
            command = bytes(self._rx[:size])
            del self._rx[:size]
            if command[0] == _POWER:
                self._obey(command)
            else:
                # After a stop these wait until the last samples are sent.
                self._pending.append(command)
        self._obey_pending()

    def _obey_pending(self) -> None:
        while self._pending and not self._is_stopping:
            self._obey(self._pending.pop(0))

    @property
    def _is_stopping(self) -> bool:
        measurement = self._measurement
        stopping = measurement is not None and measurement.stop_ns is not None
        return stopping and not self._mute

    def _obey(self, command: bytes) -> None:
        code = command[0]
        if self._settings.faults.is_shell or code in self._settings.faults.disobeys:
            return
        if code == _METADATA:
            self._tx += metadata(self._settings, self._mode, self._millivolts)
        elif code == _START and self._measurement is None:
            self._start()
        elif code == _STOP and self._measurement is not None:
            self._measurement.stop_ns = self._world.now_ns()
        elif code == _POWER:
            self._world.supply_on = command[1] != 0
        elif code == _MODE and self._measurement is None:
            self._mode = command[1]
        elif code == _VOLTAGE and self._measurement is None:
            self._millivolts = int.from_bytes(command[1:], "big")

    def _start(self) -> None:
        self._measurements += 1
        first = self._measurements == 1
        if first:
            faults = self._settings.faults
            self._tx += stale_words(faults.late_stale_b, self._random)
        self._measurement = SimulatedMeasurement(
            self._settings,
            self._world,
            SupplyOutput(self._world.supply_on, self._millivolts / 1000),
            self._random,
            faulty=first,
        )
        self._measures.set()

    def _sample(self) -> None:
        measurement = self._measurement
        if measurement is None:
            return
        if len(self._tx) >= _TX_B and measurement.stop_ns is None:
            return
        self._tx += measurement.advance()
        faults = self._settings.faults
        if self._measurements == 1:
            if 0 <= faults.unplugged_at_s <= measurement.elapsed_s:
                raise _UnpluggedError
            if 0 <= faults.mute_at_s <= measurement.elapsed_s and not self._mute:
                self._deliver()
                self._mute = True
        if measurement.over:
            self._measures.clear()
            self._measurement = None
            self._obey_pending()

    def _hold(self) -> None:
        """Hold virtual time until the backlog is small; a host that does not read for
        long must not hold it for ever."""
        end_s = time.monotonic() + _TIMEOUT_S
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
