# SPDX-License-Identifier: Apache-2.0
"""A stream in the process of a program: played by CLOCK_MONOTONIC, its windows taken
from the pipe while it plays.

The rules are a device's, docs/reference/PROTOCOL.md section 9. Between windows the
process sleeps, as one that listens would: it does not spin, which would draw power, so
a window begins as late as the system wakes a sleeper up.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.interfaces.cpu_program import Routine
from rig.model.completion import DECIDED, END, STREAM
from sut_backends.workers.inside.marks import Marks, no_collector, not_before

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that is played: windows of so many bytes, the first `slots` of them
    loaded before; marks lie `apart_ns` apart or more.
    """

    sizes_b: list[int]
    slots: int
    hop: int
    window: int
    sample_hz: int
    apart_ns: int

    def ready_ns(self, window: int) -> int:
        """Return how long after the start the last sample of a window is captured."""
        return (window * self.hop + self.window) * _NS // self.sample_hz

    def wanted_ns(self, window: int) -> int:
        """Return how long after the start the newest hop of a window begins to be
        captured."""
        return (window * self.hop + self.window - self.hop) * _NS // self.sample_hz


@dataclass(frozen=True, slots=True)
class PlayedStream:
    """The result of a stream: the output of each processed window, and its faults, in
    words."""

    marks: Marks
    results: Sequence[Any]
    faults: list[str]


class Inlet:
    """The windows that are not loaded before: each is taken from the pipe when its slot
    is free, and converted by `load`.
    """

    def __init__(
        self,
        fd: int,
        signal: Signal,
        load: Callable[[bytes], Any],
        slots: MutableMapping[int, Any],
    ) -> None:
        self._fd = fd
        self._signal = signal
        self._load = load
        self._slots = slots
        self._next = min(signal.slots, len(signal.sizes_b))
        self._left_b = sum(signal.sizes_b[self._next :])
        self._block = b""
        self._late: list[tuple[int, int]] = []

    def listen(self, start_ns: int, done: int) -> None:
        """Read blocks until window `done` is ready, while slots are free; if it is
        ready already, only the blocks that are there."""
        until_ns = start_ns + self._signal.ready_ns(done)
        while True:
            left_s = max(until_ns - time.monotonic_ns(), 0) / _NS
            if self._next >= min(done + self._signal.slots, len(self._signal.sizes_b)):
                time.sleep(left_s)
            # It waits for parts of a millisecond, which poll() rounds up; this process
            # has few descriptors.
            elif select.select([self._fd], [], [], left_s)[0]:  # noqa: TID251
                self._take(start_ns)
            if time.monotonic_ns() >= until_ns:
                return

    def drain(self) -> None:
        """Read and drop the remaining blocks."""
        while self._left_b:
            self._read(self._left_b)

    def lateness(self) -> list[str]:
        """Return which windows came late."""
        if not self._late:
            return []
        worst_ns, window = max(self._late)
        others = (
            f", and {len(self._late) - 1} others were late, by less"
            if len(self._late) > 1
            else ""
        )
        return [
            f"starved: window {window} was there {worst_ns / 1e6:.3g} ms after its"
            f" newest hop had begun{others}"
        ]

    def _take(self, start_ns: int) -> None:
        window = self._next
        size_b = self._signal.sizes_b[self._next]
        self._block += self._read(size_b - len(self._block))
        if len(self._block) < size_b:
            return
        block = self._block
        self._block = b""
        self._next = window + 1
        self._slots[window % self._signal.slots] = self._load(block)
        late_ns = time.monotonic_ns() - start_ns - self._signal.wanted_ns(window)
        if late_ns > 0:
            self._late.append((late_ns, window))

    def _read(self, most_b: int) -> bytes:
        block = os.read(self._fd, most_b)
        if not block:
            raise SystemExit("the rig is gone")
        self._left_b -= len(block)
        return block


def played(
    routine: Routine,
    signal: Signal,
    slots: MutableMapping[int, Any],
    inlet: Inlet,
    tell: Callable[[], None],
) -> PlayedStream:
    """Play a stream to its end, or until it starves, overruns or fails; `tell` is
    called when it has started.
    """
    marks = [(STREAM, 0)]
    results = []
    ending = ""
    if routine.begin is not None:
        routine.begin()
    with no_collector():
        marks = [(STREAM, time.monotonic_ns())]
        tell()
        try:
            for window in range(len(signal.sizes_b)):
                inlet.listen(marks[0][1], window)
                if ending := _missed(
                    signal, window, slots, time.monotonic_ns() - marks[0][1]
                ):
                    break
                before_ns = marks[-1][1]
                of_window, result = _processed(
                    routine,
                    slots.pop(window % signal.slots),
                    before_ns,
                    signal.apart_ns,
                )
                marks += of_window
                results.append(result)
        except Exception as error:
            ending = f"the program failed: {type(error).__name__}: {error}"
        marks.append((END, not_before(marks[-1][1] + signal.apart_ns)))
        inlet.drain()
    faults = inlet.lateness()
    if ending:
        faults.append(
            f"{ending}; the stream ended with {len(results)} of {len(signal.sizes_b)}"
            " windows answered"
        )
    return PlayedStream(marks, results, faults)


def _missed(
    signal: Signal, window: int, slots: MutableMapping[int, Any], elapsed_ns: int
) -> str:
    """Return why a window cannot be processed, so long after the start; empty where it
    can."""
    if window % signal.slots not in slots:
        return f"starved: window {window} was not there when it was to be processed"
    after = window + signal.slots
    if after < len(signal.sizes_b) and elapsed_ns >= signal.ready_ns(after):
        return (
            f"overrun: the device came to window {window} when its slot was due for"
            " another"
        )
    return ""


def _processed(
    routine: Routine, value: Any, before_ns: int, apart_ns: int
) -> tuple[Marks, Any]:
    """Run all phases of a window; return their marks, as far apart as pulses must be,
    and the result.
    """
    marks: Marks = []
    for number, phase in enumerate(routine.phases, start=1):
        before_ns = not_before(before_ns + apart_ns)
        marks.append((number, before_ns))
        value = phase(value)
    marks.append((DECIDED, not_before(before_ns + apart_ns)))
    return marks, value
