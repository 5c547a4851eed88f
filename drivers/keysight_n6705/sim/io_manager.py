# SPDX-License-Identifier: Apache-2.0
"""A simulated EEMBC IO Manager: writes `m-lap-us-N` for each falling edge of SYNC, in
the microseconds of its own clock.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from drivers.front_end import FrontEnd
from drivers.keysight_n6705.sim.settings import SimulatorFaults
from rig.simulation.world import World

_POLL_S = 0.01
_TICK_HZ = 1_000_000
#: Steps of the microcontroller's count, and where the count stands at the beginning:
#: near its end, which it passes soon.
_STEP_US = 4
_ORIGIN_US = (1 << 32) - 50_000
_RATE_HZ = 1_000.0


class IoManagerSimulator:
    """Listens on a socket of this machine; `port` is its name for pyserial. In virtual
    time it writes before time goes on.
    """

    def __init__(self, world: World, clock_ppm: float, faults: SimulatorFaults) -> None:
        self._world = world
        self._faults = faults
        self._laps = 0
        self._front_end = FrontEnd(world, _RATE_HZ, clock_ppm=clock_ppm)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(_POLL_S)
        self.port = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._end_watch = world.watch(self._tell)
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._work, name="keysight n6705 io manager simulator", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End its thread; closing twice is allowed."""
        self._stop.set()
        self._end_watch()
        self._thread.join()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
        self._server.close()

    def _work(self) -> None:
        while not self._stop.is_set():
            if self._connection is None:
                with suppress(TimeoutError):
                    connection, _ = self._server.accept()
                    with self._lock:
                        self._connection = connection
                        self._send(b"m-ready\r\n")
            if self._world.live:
                self._tell()
            self._stop.wait(_POLL_S)

    def _tell(self) -> None:
        with self._lock:
            while (due := self._front_end.due(self._world.horizon_ns())) > 0:
                for fall in self._front_end.take(min(due, 100_000)).falls:
                    count_us = int(fall / _RATE_HZ * _TICK_HZ / _STEP_US) * _STEP_US
                    self._lap(str((_ORIGIN_US + count_us) % (1 << 32)))

    def _lap(self, stamp: str) -> None:
        self._laps += 1
        faults = self._faults
        if self._laps == faults.unplugged_lap and self._connection is not None:
            self._connection.close()
            self._connection = None
        shown = f"{stamp[:-2]}?" if self._laps == faults.garbled_lap else stamp
        times = {faults.lost_lap: 0, faults.extra_lap: 2}.get(self._laps, 1)
        self._send(f"m-lap-us-{shown}\r\n".encode() * times)

    def _send(self, line: bytes) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.sendall(line)
