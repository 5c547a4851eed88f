# SPDX-License-Identifier: Apache-2.0
"""The peer of the speed benchmark: loops over single samples in Python, as the runner of MLPerf Tiny has them.

Rewritten from what mlcommons/tiny does in benchmark/runner (read, not copied): power_manager_js220.py puts a list of time, current
and voltage into a queue for each sample, and at commit 241aa68 looks at the GPIO sample by sample; power_manager_lpm.py matches
each line with regular expressions; script.py takes the queue apart item by item. There, both run at 1000 samples a second.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLE = re.compile(r"\d{4}[-+]\d{2}")
_EVENT = re.compile(r"event \d+ ris")


def joulescope(
    current_a: NDArray[np.float32], voltage_v: NDArray[np.float32], levels: NDArray[np.uint8], sample_hz: float
) -> tuple[float, int]:
    """Return energy (J) and number of falling edges; a level for each sample."""

    def read(put: Callable[[Any], None]) -> None:
        last = None
        came_s = time.time()
        for number in range(len(current_a)):
            put([came_s, current_a[number], voltage_v[number]])
            level = int(levels[number] > 0)
            if last == 1 and level == 0:
                put(f"event {number} ris")
            last = level

    samples, events = _collected(read)
    return sum(current * voltage for _, current, voltage in samples) / sample_hz, events


def lpm01a(text: str) -> tuple[float, int]:
    """Return the sum of the values in a text stream, and number of events."""

    def read(put: Callable[[Any], None]) -> None:
        for line in text.replace("\0", "").split("\r\n"):
            if not line:
                continue
            if line.startswith("TimeStamp") or _EVENT.match(line):
                put(line)
            elif _SAMPLE.match(line):
                for found in _SAMPLE.finditer(line):
                    put(float(found.group().replace("+", "e+").replace("-", "e-")))

    samples, events = _collected(read)
    return sum(samples), events


def _collected(read: Callable[[Callable[[Any], None]], None]) -> tuple[list[Any], int]:
    """Let a thread put everything into a queue, then sort samples from lines."""
    box: queue.Queue[Any] = queue.Queue()
    thread = threading.Thread(target=read, args=(box.put,), name="peer")
    thread.start()
    thread.join()
    samples, events = [], 0
    for item in _taken(box):
        if isinstance(item, str):
            events += item.startswith("event")
        else:
            samples.append(item)
    return samples, events


def _taken(box: queue.Queue[Any]) -> Iterator[Any]:
    while not box.empty():
        yield box.get()
