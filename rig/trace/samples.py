# SPDX-License-Identifier: Apache-2.0
"""Samples of current and voltage: where they are in a file, and how they are read block
by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.host.stop import look
from rig.trace.reduced import Reduced

CURRENT = 1
VOLTAGE = 2

#: Samples that are read at once: whole chunks of the file; and a processor's cache
#: holds what is computed of them.
BLOCK = 1 << 18

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of the samples of a trace in its file: the current's signal, from sample
    `current_at` on, and the voltage's; one sample of voltage stands for `times` of
    current.

    Sample k has the voltage's sample (k + voltage_at) // times. Where `voltage` is None
    the voltage is `fixed_v`. `cleaned` converts samples of a foreign file.
    """

    current: int = CURRENT
    current_at: int = 0
    voltage: int | None = VOLTAGE
    voltage_at: int = 0
    times: int = 1
    fixed_v: float = 1.0
    cleaned: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    reduced: Reduced | None = None

    def read(self, reader: Any, first: int, count: int) -> tuple[Floats, Floats]:
        """Return current and voltage of `count` samples from `first` on."""
        if self.reduced is not None:
            return (
                self.reduced.read(reader, CURRENT, first, count),
                self.reduced.read(reader, VOLTAGE, first, count),
            )
        current = self._whole(reader.fsr(self.current, self.current_at + first, count))
        if self.voltage is None:
            return current, np.full(count, self.fixed_v, dtype=np.float32)
        begin = (first + self.voltage_at) // self.times
        end = (first + self.voltage_at + count - 1) // self.times + 1
        voltage = self._whole(reader.fsr(self.voltage, begin, end - begin))
        if self.times > 1:
            places = np.arange(first, first + count, dtype=np.int64) + self.voltage_at
            voltage = voltage[places // self.times - begin]
        return current, voltage

    def _whole(self, values: NDArray[Any]) -> Floats:
        if self.cleaned is None:
            return values
        return self.cleaned(values).astype(np.float32, copy=False)


#: The layout of the rig's own traces.
OWN = Layout()


@dataclass(frozen=True, slots=True)
class Around:
    """The samples about an instant, two more each way; the first has number `base`."""

    base: int
    current: Floats
    voltage: Floats

    def sample(self, at: int) -> tuple[float, float]:
        """Return current and voltage of a sample."""
        return float(self.current[at - self.base]), float(self.voltage[at - self.base])

    def power_w(self, at: int) -> float:
        """Return the power of a sample."""
        current, voltage = self.sample(at)
        return current * voltage

    def beside_w(self, at: float, length: int) -> tuple[float, float]:
        """Return the power of the samples before and after the one with an end."""
        before = max(math.floor(at) - 1, 0)
        after = min(math.floor(at) + 1, length - 1)
        return self.power_w(before), self.power_w(after)


class Samples:
    """Reads current and voltage block by block; the last block is kept, as the next
    window often begins in it.
    """

    def __init__(self, reader: Any, layout: Layout, length: int) -> None:
        self._reader = reader
        self._layout = layout
        self._length = length
        self._number = -1
        self._block: tuple[Floats, Floats]

    def blocks(self, first: int, last: int) -> Iterator[tuple[int, Floats, Floats]]:
        """Yield the number of a first sample, and current and voltage from there on."""
        while first < last:
            number, at = divmod(first, BLOCK)
            if number != self._number:
                look()
                count = min(BLOCK, self._length - number * BLOCK)
                self._block = self._layout.read(self._reader, number * BLOCK, count)
                self._number = number
            stop = min(last - number * BLOCK, BLOCK)
            current, voltage = self._block
            yield first, current[at:stop], voltage[at:stop]
            first = number * BLOCK + stop

    def some(self, first: int, last: int) -> tuple[Floats, Floats]:
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
        base = max(math.floor(at) - 2, 0)
        return Around(base, *self.some(base, min(math.floor(at) + 3, self._length)))
