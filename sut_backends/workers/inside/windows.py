# SPDX-License-Identifier: Apache-2.0
"""Windows in the worker: a routine's phases run and marked, and the overhead of a
window."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rig.interfaces.cpu_program import Routine
from rig.model.completion import BATCH, END
from sut_backends.workers.inside.marks import Marks, no_collector
from sut_backends.workers.inside.search import SOLVE, Order, searched

_EMPTY_WINDOWS = 1000

Work = Callable[[Routine, Sequence[Any], int], "tuple[Marks, Sequence[Any]]"]


def uncollected(
    work: Work, routine: Routine, values: Sequence[Any], repeat: int
) -> tuple[Marks, Sequence[Any]]:
    """Do `work`; return its marks (phase, CLOCK_MONOTONIC in ns) and its last
    results."""
    with no_collector():
        return work(routine, values, repeat)


def phased(
    routine: Routine, values: Sequence[Any], repeat: int
) -> tuple[Marks, Sequence[Any]]:
    """Run each phase `repeat` times over all values before the next."""
    now_ns = time.monotonic_ns
    marks = []
    for number, phase in enumerate(routine.phases, start=1):
        results: Sequence[Any] = values
        marks.append((number, now_ns()))
        for _ in range(repeat):
            results = [phase(value) for value in values]
        values = results
    marks.append((END, now_ns()))
    return marks, values


def batched(
    routine: Routine, values: Sequence[Any], repeat: int
) -> tuple[Marks, Sequence[Any]]:
    """Run all phases of a value, then those of the next, `repeat` rounds over all
    values; where the routine takes many values at once, all together.
    """
    results: Sequence[Any] = []
    if routine.batch is not None:
        start_ns = time.monotonic_ns()
        for _ in range(repeat):
            results = routine.batch(values)
        return [(BATCH, start_ns), (END, time.monotonic_ns())], results
    start_ns = time.monotonic_ns()
    for _ in range(repeat):
        results = done = []
        for value in values:
            for phase in routine.phases:
                value = phase(value)
            done.append(value)
    return [(BATCH, start_ns), (END, time.monotonic_ns())], results


class EmptyRoutine:
    """A search that is over at once."""

    cost = 0

    def advance(self, left_s: float, until: int | None) -> bool:
        """Advance without work."""
        return False

    def output(self, met: bool) -> bytes:
        """Return an empty output."""
        return b""


def overhead_ns(phases: int) -> float:
    """Measure the median length of a window without work; of a search if there are no
    phases."""
    if not phases:
        return _empty_search_ns()
    nothing = Routine(bytes, (lambda value: value,) * phases, bytes)
    lengths = []
    for _ in range(_EMPTY_WINDOWS):
        marks, _ = phased(nothing, [b""], 1)
        lengths.append((marks[-1][1] - marks[0][1]) / phases)
    return sorted(lengths)[_EMPTY_WINDOWS // 2]


def _empty_search_ns() -> float:
    lengths = []
    for _ in range(_EMPTY_WINDOWS):
        marks = [(SOLVE, time.monotonic_ns())]
        searched(EmptyRoutine(), Order(0, 0, None, [], 0), marks, [])
        lengths.append(marks[-1][1] - marks[0][1])
    return float(sorted(lengths)[_EMPTY_WINDOWS // 2])
