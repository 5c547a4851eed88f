# SPDX-License-Identifier: Apache-2.0
"""A simulated PPK2 on a pseudo terminal: bytes in, bytes out, as on its measurement
port.
"""

from __future__ import annotations

import threading

import numpy as np

from drivers.nordic_ppk2.sim.converter import metadata
from drivers.nordic_ppk2.sim.measurement import (
    SimulatedMeasurement,
    SupplyOutput,
    stale_words,
)
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from drivers.terminal_device import TerminalDevice
from rig.interfaces.context import BenchContext

#: How many bytes follow a command: the mode, the voltage, a gain and its range.
_ARGUMENTS = {0x0C: 1, 0x0D: 2, 0x11: 1, 0x25: 5}
_START, _STOP, _METADATA, _RESET = 0x06, 0x07, 0x19, 0x20
_POWER, _VOLTAGE, _MODE = 0x0C, 0x0D, 0x11
_SOURCE = 2
#: Bytes that wait for the host before no more are made; how large its buffer is, is
#: not published.
_TX_B = 65_536
_FRAMES_S = 0.002


class Ppk2Simulator(TerminalDevice):
    """One simulated PPK2 in a thread of its own."""

    _measurement: SimulatedMeasurement | None

    def __init__(self, settings: Ppk2SimulatorSettings, context: BenchContext) -> None:
        super().__init__("PPK2", context.world, _FRAMES_S)
        self._settings = settings
        self._random = np.random.default_rng([context.seed, settings.seed])
        faults = settings.faults
        self._mode = _SOURCE
        self._millivolts = 5000
        self._measurements = 0
        self._mute = faults.is_shell
        self._pending: list[bytes] = []
        self._measures = threading.Event()
        self._switch(faults.supply_found_on)
        self._tx += stale_words(faults.stale_b, self._random)
        if faults.streaming:
            self._start()
        self._thread.start()

    def measures(self, limit_s: float) -> bool:
        """Wait until it measures; return whether it does. In virtual time the command
        must be obeyed before time passes, and it is not acknowledged.
        """
        return self._measures.wait(limit_s)

    def _switch(self, on: bool) -> None:
        self._world.supply_on = on
        true_share = 1 + self._settings.supply_v_error
        self._world.supply_v = self._millivolts / 1000 * true_share

    def _obey_received(self) -> None:
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
            self._switch(command[1] != 0)
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
        output = SupplyOutput(self._world.supply_on, self._millivolts / 1000)
        self._measurement = SimulatedMeasurement(
            self._settings,
            self._world,
            output,
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
        if self._measurements == 1:
            self._strike(self._settings.faults, measurement.elapsed_s)
        if measurement.over:
            self._measures.clear()
            self._measurement = None
            self._obey_pending()
