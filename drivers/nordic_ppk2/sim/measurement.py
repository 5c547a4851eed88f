# SPDX-License-Identifier: Apache-2.0
"""One measurement of a simulated PPK2: the world's log becomes words of its stream,
with the faults of line and instrument.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.front_end import FrontEnd
from drivers.nordic_ppk2.sim.converter import Converter
from drivers.nordic_ppk2.sim.settings import Ppk2SimulatorSettings
from drivers.terminal_device import SimulatedStream
from rig.simulation.world import World

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
        share = 0.0 if settings.fed_v else settings.share
        front_end = FrontEnd(
            world,
            SAMPLE_HZ,
            clock_ppm=settings.clock_ppm,
            edge_delay_s=settings.edge_delay_s,
            share=share,
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
