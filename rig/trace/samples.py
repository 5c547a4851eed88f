# SPDX-License-Identifier: Apache-2.0
"""Samples of current and voltage: where they are in a file, and how they are read block
by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rig.arrays import Array, Float32s
from rig.host.stop import look
from rig.trace.reduced import Reduced

CURRENT = 1
VOLTAGE = 2

#: Samples that are summed at once: a processor's cache holds their products.
#: Whole chunks of the file.
BLOCK = 1 << 18
#: Samples that are read for a window far from the one before, as those of interleaved
#: trials are; where windows follow each other, all up to the end of the block are.
STEP = 1 << 15


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of the samples of a trace in its file: the current's signal, from sample
    `current_at` on, and the voltage's; one sample of voltage stands for `times` of
    current.

    Sample k has the voltage's sample (k + voltage_at) // times. Where `voltage` is None
    the voltage is `fixed_v`. `cleaned` converts samples of a foreign file, given
    with the number of their signal.
    """

    current: int = CURRENT
    current_at: int = 0
    voltage: int | None = VOLTAGE
    voltage_at: int = 0
    times: int = 1
    fixed_v: float = 1.0
    cleaned: Callable[[int, Array], Array] | None = None
    reduced: Reduced | None = None

    def read(self, reader: Any, first: int, count: int) -> tuple[Float32s, Float32s]:
        """Return current and voltage of `count` samples from `first` on."""
        if self.reduced is not None:
            current = self.reduced.read(reader, CURRENT, first, count)
            voltage = self.reduced.read(reader, VOLTAGE, first, count)
            return current, voltage
        current = self._whole(
            self.current, reader.fsr(self.current, self.current_at + first, count)
        )
        if self.voltage is None:
            return current, np.full(count, self.fixed_v, dtype=np.float32)
        begin = (first + self.voltage_at) // self.times
        end = (first + self.voltage_at + count - 1) // self.times + 1
        voltage = self._whole(
            self.voltage, reader.fsr(self.voltage, begin, end - begin)
        )
        if self.times > 1:
            places = np.arange(first, first + count, dtype=np.int64) + self.voltage_at
            voltage = voltage[places // self.times - begin]
        return current, voltage

    def _whole(self, signal: int, values: Array) -> Float32s:
        if self.cleaned is None:
            return values
        return self.cleaned(signal, values).astype(np.float32, copy=False)


#: The layout of the rig's own traces.
OWN = Layout()


@dataclass(frozen=True, slots=True)
class Around:
    """The samples about an instant, two more each way; the first has number `base`."""

    base: int
    current_a: Sequence[float]
    voltage_v: Sequence[float]

    def sample(self, at: int) -> tuple[float, float]:
        """Return current and voltage of a sample."""
        return self.current_a[at - self.base], self.voltage_v[at - self.base]

    def power_w(self, at: int) -> float:
        """Return the power of a sample."""
        return self.current_a[at - self.base] * self.voltage_v[at - self.base]

    def beside_w(self, at: float, length: int) -> tuple[float, float]:
        """Return the power of the samples before and after the one with an end."""
        before = max(math.floor(at) - 1, 0)
        after = min(math.floor(at) + 1, length - 1)
        return self.power_w(before), self.power_w(after)


def bounds(first: int, last: int, block: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each block of samples first <= k < last: up to the next
    multiple of so many."""
    while first < last:
        stop = min(last, (first // block + 1) * block)
        yield first, stop
        first = stop


class Samples:
    """Reads current and voltage of a trace; the last block is kept, as the next window
    often begins in it.
    """

    def __init__(self, reader: Any, layout: Layout, length: int) -> None:
        self._reader = reader
        self._layout = layout
        self._length = length
        self._begin = 0
        self._end = 0
        self._held: tuple[Float32s, Float32s]

    def blocks(self, first: int, last: int) -> Iterator[tuple[int, Float32s, Float32s]]:
        """Yield the number of a first sample, and current and voltage from there on, up
        to the end or the next multiple of BLOCK."""
        for begin, end in bounds(first, last, BLOCK):
            yield begin, *self.block(begin, end)

    def block(self, first: int, last: int) -> tuple[Float32s, Float32s]:
        """Return current and voltage of samples first <= k < last, at most BLOCK."""
        if first < self._begin or last > self._end:
            self._read(first, last)
        current, voltage = self._held
        part = slice(first - self._begin, last - self._begin)
        return current[part], voltage[part]

    def _read(self, first: int, stop: int) -> None:
        look()
        follows = self._begin <= first <= self._end
        step = BLOCK if follows else STEP
        self._begin = first // STEP * STEP
        self._end = min(-(-stop // step) * step, self._length)
        count = self._end - self._begin
        self._held = self._layout.read(self._reader, self._begin, count)

    def some(self, first: int, last: int) -> tuple[Float32s, Float32s]:
        """Return current and voltage of a few samples."""
        parts = [(current, voltage) for _, current, voltage in self.blocks(first, last)]
        if len(parts) == 1:
            return parts[0]
        current, voltage = (
            np.concatenate(signal) for signal in zip(*parts, strict=True)
        )
        return current, voltage

    def around(self, at: float) -> Around:
        """Return the samples about an instant."""
        middle = math.floor(at)
        base = max(middle - 2, 0)
        current, voltage = self.some(base, min(middle + 3, self._length))
        return Around(base, current.tolist(), voltage.tolist())
