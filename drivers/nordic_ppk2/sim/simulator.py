# SPDX-License-Identifier: Apache-2.0
"""A simulated PPK2 on a pseudo terminal: bytes in, bytes out, as on its measurement
port.

One measurement of a simulated PPK2: the world's log becomes words of its stream,
with the faults of line and instrument.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.nordic_ppk2.sim.converter import Converter, metadata
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from drivers.terminal_device import SimulatedStream, TerminalDevice
from rig.interfaces.context import BenchContext
from rig.simulation.world import World

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
        if self._measurements == 1:
            self._strike(self._settings.faults, measurement.elapsed_s)
        if measurement.over:
            self._measures.clear()
            self._measurement = None
            self._obey_pending()


SAMPLE_HZ = 100_000
WORD_B = 4
#: Most samples that are converted at once.
_BLOCK = 20_000
_LAST_CODE = (1 << 14) - 1
_NO_RANGE = 6


@dataclass(frozen=True, slots=True)
class SupplyOutput:
    """The state of the instrument's output: whether it is on, and the voltage that is
    set."""

    on: bool
    supply_v: float


class SimulatedMeasurement(SimulatedStream):
    """Samples of the front end become words."""

    def __init__(
        self,
        settings: Ppk2SimulatorSettings,
        world: World,
        output: SupplyOutput,
        random: np.random.Generator,
        *,
        faulty: bool,
    ) -> None:
        self._settings = settings
        self._output = output
        self._random = random
        self._faulty = faulty
        self._converter = Converter(settings, output.supply_v)
        front_end = FrontEnd(
            world,
            SAMPLE_HZ,
            clock_ppm=settings.clock_ppm,
            edge_delay_s=settings.edge_delay_s,
            share=0.0 if settings.fed_v else settings.share,
            random=random,
        )
        super().__init__(world, front_end)
        self._count = int(random.integers(64))
        self._sent_b = 0
        self.late = False

    @property
    def elapsed_s(self) -> float:
        """The time of the next sample, in the instrument's time."""
        return self._front_end.at / SAMPLE_HZ

    def advance(self) -> bytes:
        """Return the bytes that are due."""
        count = min(self._front_end.due(self.horizon_ns), _BLOCK)
        faults = self._settings.faults
        for at_s in (faults.unplugged_at_s, faults.mute_at_s):
            if at_s >= 0 and self._faulty:
                left = round(at_s * SAMPLE_HZ) - self._front_end.at
                count = min(count, max(left, 0))
        return self._words(count) if count else b""

    @property
    def over(self) -> bool:
        """Whether all samples up to the stop have been sent."""
        return self.stopped and not self._front_end.due(self.horizon_ns)

    def _words(self, count: int) -> bytes:
        block = self._front_end.take(count)
        self.late = self.late or any(True for _ in self._front_end.late())
        ranges, codes = self._converter.convert(self._seen_a(block.power_w))
        counts = (self._count + np.arange(count)) % 64
        self._count = (self._count + count) % 64
        words = codes | ranges << 14 | counts << 18 | self._lines(block.levels) << 24
        return self._spoil(words.astype("<u4"), block.first)

    def _seen_a(self, power_w: NDArray[np.float64]) -> NDArray[np.float64]:
        settings = self._settings
        true_v = self._output.supply_v * (1 + settings.supply_v_error)
        true_a = power_w / true_v if self._output.on else np.zeros(len(power_w))
        seen_a = true_a * (1 + settings.gain) + settings.offset_a
        if settings.noise_a:
            seen_a += settings.noise_a * self._random.standard_normal(len(seen_a))
        return seen_a

    def _lines(self, levels: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the eight lines: those that no wire goes to are low."""
        stuck = self._settings.faults.logic_stuck
        if stuck:
            return np.full(len(levels), 0xFF if stuck == "high" else 0, dtype=np.int64)
        on = 1 if self._output.on else 0
        return levels.astype(np.int64) * on << self._settings.sync

    def _spoil(self, words: NDArray[np.uint32], first: int) -> bytes:
        """Apply the faults."""
        if not self._faulty:
            return words.tobytes()
        faults = self._settings.faults
        places = np.arange(first, first + len(words))
        if faults.saturate_at >= 0:
            stop = faults.saturate_at + faults.saturate_samples
            words[(places >= faults.saturate_at) & (places < stop)] |= _LAST_CODE
        if faults.no_range_at >= 0:
            words[places == faults.no_range_at] |= _NO_RANGE << 14
        if faults.flip_at >= 0:
            words[places == faults.flip_at] ^= np.uint32(faults.flip_mask)
        if faults.lose_at >= 0:
            stop = faults.lose_at + faults.lose_samples
            words = words[(places < faults.lose_at) | (places >= stop)]
        return self._lose_bytes(bytearray(words.tobytes()))

    def _lose_bytes(self, stream: bytearray) -> bytes:
        faults = self._settings.faults
        begin = self._sent_b
        self._sent_b += len(stream)
        if faults.lose_byte_at >= 0:
            lost = faults.lose_byte_at - begin
            del stream[max(lost, 0) : max(lost + faults.lose_bytes, 0)]
        return bytes(stream)


def stale_words(size_b: int, random: np.random.Generator) -> bytes:
    """Return bytes of an earlier measurement, which end within a word."""
    count = size_b // WORD_B + 1
    counts = (int(random.integers(64)) + np.arange(count)) % 64
    words = (random.integers(4000, 4100, count) | counts << 18).astype("<u4")
    return words.tobytes()[-size_b:] if size_b else b""
