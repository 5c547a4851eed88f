# SPDX-License-Identifier: Apache-2.0
"""Prepared streams of the energy monitors: what each instrument would deliver of one
known waveform, in its own blocks; simulated.

The waveform: every 50 ms SYNC is low for 1 ms, and the DUT draws 60 mA for 20 ms, 6 mA
before and after; noise on both signals.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.st_lpm01a.sim.shell import decimal
from drivers.st_lpm01a.sim.stream import hexadecimal

PULSE_S = 0.05
TICK_HZ = 2_000_000
#: So much is different; then it comes again. More than a processor's cache holds.
_DISTINCT_S = 2
_STAMP_SAMPLES = 1000

Block = tuple[str, dict[str, Any]]


def analog(
    sample_hz: float, seconds: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return current (A) and voltage (V) of the waveform."""
    random = np.random.default_rng(1)
    phase_s = np.arange(round(sample_hz * seconds)) / sample_hz % PULSE_S
    high = (phase_s >= 0.010) & (phase_s < 0.030)
    current = np.where(high, np.float32(0.06), np.float32(0.006)).astype(np.float32)
    current += np.float32(20e-6) * random.standard_normal(
        len(current), dtype=np.float32
    )
    voltage = np.float32(3.3) + np.float32(0.5e-3) * random.standard_normal(
        len(current), dtype=np.float32
    )
    return current, voltage


def line(tick_hz: float, seconds: float) -> NDArray[np.uint8]:
    """Return the level of SYNC at each tick."""
    phase_s = np.arange(round(tick_hz * seconds)) / tick_hz % PULSE_S
    return ((phase_s < 0.010) | (phase_s >= 0.011)).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class JoulescopeStreams:
    """The streams of a JS220 ("js220": 1 MHz beside 2 MHz of SYNC, 50 000 samples a
    block) or JS110 (2 MHz, 65 394 a block).
    """

    model: str
    current: NDArray[np.float32]
    voltage: NDArray[np.float32]
    packed: NDArray[np.uint8]

    @classmethod
    def prepare(cls, model: str) -> JoulescopeStreams:
        """Make the waveform; a block more than `_DISTINCT_S`, so that each block is one
        piece of it.
        """
        seconds = _DISTINCT_S + PULSE_S
        current, voltage = analog(TICK_HZ / _PER[model], seconds)
        # The same again after `_DISTINCT_S`.
        again = round(TICK_HZ / _PER[model] * _DISTINCT_S)
        for values in (current, voltage):
            values[again:] = values[: len(values) - again]
        return cls(
            model,
            current,
            voltage,
            np.packbits(line(TICK_HZ, seconds), bitorder="little"),
        )

    @property
    def sample_ticks(self) -> int:
        """Return how many ticks of its counter a sample takes."""
        return _PER[self.model]

    @property
    def sample_hz(self) -> float:
        """Return the rate of current and voltage."""
        return TICK_HZ / self.sample_ticks

    def blocks(self, seconds: float) -> Iterator[Block]:
        """Yield blocks in the order of their arrival; all signals end with the same
        tick, a multiple of 16.
        """
        ticks = round(seconds * TICK_HZ) // 16 * 16
        size = {"js220": 50_000, "js110": 65_394}[self.model]
        origin = 0 if self.model == "js110" else 2**33
        time_map = {
            "offset_time": 0,
            "offset_counter": origin,
            "counter_rate": float(TICK_HZ),
        }
        signals: dict[str, tuple[NDArray[Any], int, int]] = {
            "current": (self.current, self.sample_ticks, size * self.sample_ticks),
            "voltage": (self.voltage, self.sample_ticks, size * self.sample_ticks),
            "sync": (self.packed, 8, 100_000),
        }
        spans = (
            _spans(signal, whole, ticks) for signal, (_, _, whole) in signals.items()
        )
        for end, signal, start in heapq.merge(*spans):
            data, element_ticks, _ = signals[signal]
            first = start % (_DISTINCT_S * TICK_HZ) // element_ticks
            yield (
                signal,
                {
                    "sample_id": origin + start,
                    "utc": 0,
                    "sample_rate": TICK_HZ,
                    "decimate_factor": 1 if signal == "sync" else self.sample_ticks,
                    "time_map": dict(time_map),
                    "data": data[first : first + (end - start) // element_ticks],
                },
            )

    def energy_j(self, seconds: float) -> float:
        """Return the energy of whole repetitions."""
        once = round(self.sample_hz * _DISTINCT_S)
        power = self.current[:once].astype(np.float64) * self.voltage[:once]
        return float(power.sum()) / self.sample_hz * seconds / _DISTINCT_S


_PER = {"js220": 2, "js110": 1}


def _spans(signal: str, whole: int, ticks: int) -> Iterator[tuple[int, str, int]]:
    """Yield end, signal and start of each block."""
    for start in range(0, ticks, whole):
        yield min(start + whole, ticks), signal, start


def lpm01a(output: str, sample_hz: int, seconds: float) -> tuple[list[bytes], float]:
    """Return what an LPM01A sends in format `output` in pieces of 50 ms, up to its last
    time stamp, and the charge (C) in it.
    """
    current = analog(sample_hz, seconds)[0].astype(np.float64)
    falls = np.flatnonzero(np.diff(line(sample_hz, seconds).view(np.int8)) < 0) + 1
    stream = bytearray()
    for first in range(0, len(current), _STAMP_SAMPLES):
        rows = current[first : first + _STAMP_SAMPLES]
        stream += _stamp(output, first * 1000 // sample_hz)
        if output == "bin_hexa":
            stream += hexadecimal(rows)
            continue
        stream += b"\0"
        at = 0
        for position in (
            falls[(falls >= first) & (falls < first + _STAMP_SAMPLES)] - first
        ):
            stream += decimal(rows[at:position]).tobytes() + b"event %02d ris\r\n" % (
                np.searchsorted(falls, first + position) % 100
            )
            at = position
        stream += decimal(rows[at:]).tobytes()
    stream += _stamp(output, len(current) * 1000 // sample_hz)
    size = -(-len(stream) * round(PULSE_S * 1000) // round(seconds * 1000))
    return [bytes(stream[at : at + size]) for at in range(0, len(stream), size)], float(
        current.sum()
    ) / sample_hz


def _stamp(output: str, time_ms: int) -> bytes:
    if output == "bin_hexa":
        return b"\xf0\xf3" + time_ms.to_bytes(4) + b"\0\xff\xff"
    return b"\r\nTimeStamp: %03ds %03dms, buff 00%%\r\n" % divmod(time_ms, 1000)
