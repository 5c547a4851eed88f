# SPDX-License-Identifier: Apache-2.0
"""The peer of the speed benchmark: the processing of the samples by the runner of
MLPerf Tiny of its two energy monitors, in Python.

Written after benchmark/runner of mlcommons/tiny, master at REVISION (read, not copied).
power_manager_js220.py adds up the energy of sample after sample, looks at the GPIO of
each, and puts a sum into a queue every thousandth of a second and at each rising edge.
power_manager_lpm.py matches each line with regular expressions and puts every value
into the queue. script.py takes the queue apart item by item. The runner's earlier work
is not included: the maker's driver for the JS220, and for the LPM01A a thread that
reads the port byte by byte.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of mlcommons/tiny; benchmark/runner/power_manager was changed last by 4b503b8 (31
#: July 2025).
REVISION = "1afd2c9820f795965a6134facd0b4dfae41ef23f"
#: Sums that are put into the queue in a second.
SUMS_HZ = 1000


def joulescope(
    current_a: NDArray[np.float32],
    voltage_v: NDArray[np.float32],
    levels: NDArray[np.uint8],
    sample_hz: float,
) -> tuple[float, int, int]:
    """Return energy (J), number of rising edges, and how many sums went through the
    queue; a level for each sample.
    """

    def read(put: Callable[[Any], None]) -> None:
        stride = int(sample_hz) // SUMS_HZ
        summed_j = 0.0
        held = 0
        last = None
        rises = 0
        for number in range(len(current_a)):
            amps = current_a[number]
            volts = voltage_v[number]
            level = int(levels[number] > 0)
            summed_j += amps * volts / sample_hz
            held += 1
            rose = last == 0 and level == 1
            last = level
            if held >= stride or rose:
                put(float(summed_j))
                if rose:
                    put(f"event {rises:02} ris")
                    rises += 1
                summed_j = 0.0
                held = 0

    sums_j, events = _collected(read)
    return sum(sums_j), events, len(sums_j)


def lpm01a(text: str) -> tuple[float, int]:
    """Return the sum of the values in a text stream, and number of events."""

    def read(put: Callable[[Any], None]) -> None:
        for line in text.replace("\0", "").split("\r\n"):
            if not line:
                continue
            if line.startswith("TimeStamp"):
                put(line)
            elif re.match(r"\d{4}[+-]\d{2}", line):
                result = [
                    match.group() for match in re.finditer(r"\d{4}[-+]\d{2}", line)
                ]
                for value in [
                    float(digits.replace("+", "e+").replace("-", "e-"))
                    for digits in result
                ]:
                    put(value)
            elif re.match(r"event \d+ ris", line):
                put(line)

    values, events = _collected(read)
    return sum(values), events


def _collected(
    read: Callable[[Callable[[Any], None]], None],
) -> tuple[list[float], int]:
    """Let a thread put everything into a queue, then sort values from lines."""
    box: queue.Queue[Any] = queue.Queue()
    thread = threading.Thread(target=read, args=(box.put,), name="peer")
    thread.start()
    thread.join()
    values = []
    events = 0
    for item in _taken(box):
        if isinstance(item, str):
            events += re.match(r"event (\d+) ris", item) is not None
        else:
            values.append(item)
    return values, events


def _taken(box: queue.Queue[Any]) -> Iterator[Any]:
    while not box.empty():
        yield box.get()
