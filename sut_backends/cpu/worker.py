# SPDX-License-Identifier: Apache-2.0
"""The process in which a processor runs a task's program and stamps its marks; it imports nothing
that costs it time.

Requests and answers are a line of JSON each, and as many bytes after it as its `bytes` says; the
end of its input ends it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from rig.interfaces.cpu_program import Routine, Search
from rig.model.completion import BATCH, END, REACHED
from sut_backends.cpu.marks import Marks, no_collector, not_before
from sut_backends.cpu.stream import Inlet, Signal, played

_EMPTY_WINDOWS = 1000
_SOLVE = 1
#: The most thresholds in one search, as the framed layer has them.
THRESHOLDS_MAX = 16

Work = Callable[[Routine, Sequence[Any], int], tuple[Marks, Sequence[Any]]]


def serve(routine: Routine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    slots: dict[int, Any] = {}
    for line in requests:
        request = json.loads(line)
        payload = requests.read(request.get("bytes", 0))
        try:
            if request["op"] == "load":
                slots[request["slot"]] = routine.load(payload)
                answer(answers, {})
            elif request["op"] == "solve":
                marks, known, output = solved(
                    routine, slots[request["slot"]], Order(**request["order"])
                )
                answer(answers, {"marks": marks, "known": known}, output)
            elif request["op"] == "stream":
                signal = Signal(**request["signal"])
                # Whoever sends waits to be told: nothing of the windows to come is in the buffer of
                # `requests`.
                inlet = Inlet(requests.fileno(), signal, routine.load, slots)
                heard = played(routine, signal, slots, inlet, partial(answer, answers, {}))
                answer(
                    answers,
                    {"marks": heard.marks, "faults": heard.faults},
                    joined(routine, heard.results),
                )
            else:
                work = batched if request["batch"] else phased
                marks, results = uncollected(
                    work, routine, [slots[slot] for slot in request["slots"]], request["repeat"]
                )
                output = b"".join(routine.output(result) for result in results)
                answer(answers, {"marks": marks}, output)
        except Exception as error:
            answer(
                answers,
                {
                    "error": f"{type(error).__name__}: {error}",
                    "refused": isinstance(error, ValueError),
                },
            )


def joined(routine: Routine, results: Sequence[Any]) -> bytes:
    """Return the outputs of a stream's windows, which are all of one length."""
    outputs = [routine.output(result) for result in results]
    if len({len(output) for output in outputs}) > 1:
        raise RuntimeError("its outputs differ in length")
    return b"".join(outputs)


def uncollected(
    work: Work, routine: Routine, values: Sequence[Any], repeat: int
) -> tuple[Marks, Sequence[Any]]:
    """Do `work`; return its marks (phase, CLOCK_MONOTONIC in ns) and its last results."""
    with no_collector():
        return work(routine, values, repeat)


def phased(routine: Routine, values: Sequence[Any], repeat: int) -> tuple[Marks, Sequence[Any]]:
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


def batched(routine: Routine, values: Sequence[Any], repeat: int) -> tuple[Marks, Sequence[Any]]:
    """Run all phases of a value, then those of the next, `repeat` rounds over all values."""
    results: list[Any] = []
    start_ns = time.monotonic_ns()
    for _ in range(repeat):
        results = []
        for value in values:
            for phase in routine.phases:
                value = phase(value)
            results.append(value)
    return [(BATCH, start_ns), (END, time.monotonic_ns())], results


@dataclass(frozen=True, slots=True)
class Order:
    """Parameters of a search; `apart_ns`: marks lie as far apart or farther, as a device's pulses
    do.
    """

    seed: int
    timeout_ns: int
    target: int | None
    thresholds: list[int]
    apart_ns: int


def solved(routine: Routine, value: Any, order: Order) -> tuple[Marks, list[int], bytes]:
    """Search until the target is met or the time is over; return the marks, when each threshold was
    known (ns), and the output, which is made after the last mark.
    """
    if routine.search is None:
        raise ValueError("this program does not search")
    with no_collector():
        marks = [(_SOLVE, time.monotonic_ns())]
        known = list[int]()
        search = routine.search(value, order.seed)
        met = searched(search, order, marks, known)
    return marks, known, search.output(met)


def searched(search: Search, order: Order, marks: Marks, known: list[int]) -> bool:
    """Carry a search on to its end, mark what it reaches, note in `known` when; return whether it
    met its target.

    A threshold is marked when the search is known to be there; where the mark before is too near,
    at the first look after it is far enough, with what was reached meanwhile. Nothing but the end
    waits for that.
    """
    now_ns = time.monotonic_ns
    end_ns = marks[0][1] + order.timeout_ns
    marked = 0
    more = True
    while True:
        cost = search.cost
        at_ns = now_ns()
        reached = sum(cost <= threshold for threshold in order.thresholds)
        known += [at_ns] * (reached - len(known))
        met = order.target is not None and cost <= order.target
        over = met or at_ns >= end_ns or not more
        if reached > marked and (over or at_ns >= marks[-1][1] + order.apart_ns):
            marks.append((REACHED + reached - 1, not_before(marks[-1][1] + order.apart_ns)))
            marked = reached
        if over:
            marks.append((END, not_before(marks[-1][1] + order.apart_ns)))
            return met
        next_costs = [
            *order.thresholds[reached : reached + 1],
            *([] if order.target is None else [order.target]),
        ]
        until = max(next_costs, default=None)
        more = search.advance((end_ns - at_ns) * 1e-9, until)


class Nothing:
    """A search that is over at once."""

    cost = 0

    def advance(self, left_s: float, until: int | None) -> bool:
        """Do nothing."""
        return False

    def output(self, met: bool) -> bytes:
        """Return nothing."""
        return b""


def overhead_ns(phases: int) -> float:
    """Return the median length of a window in which nothing is done; of a search where there are no
    phases.
    """
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
        marks = [(_SOLVE, time.monotonic_ns())]
        searched(Nothing(), Order(0, 0, None, [], 0), marks, [])
        lengths.append(marks[-1][1] - marks[0][1])
    return float(sorted(lengths)[_EMPTY_WINDOWS // 2])


def answer(answers: BinaryIO, content: dict[str, Any], block: bytes = b"") -> None:
    """Write one answer."""
    answers.write(json.dumps(content | {"bytes": len(block)}).encode() + b"\n" + block)
    answers.flush()


def main(order: str) -> None:
    """Do what `order`, JSON, says: `entry`, `arguments`, `core` (-1: any) and `threads` of
    numerical libraries.
    """
    job = json.loads(order)
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
        os.environ[f"{name}_NUM_THREADS"] = str(job["threads"])
    # Whatever the program prints goes to standard error: this pipe is for answers alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if job["core"] >= 0:
        os.sched_setaffinity(0, {job["core"]})
    try:
        module, _, function = job["entry"].partition(":")
        routine: Routine = getattr(importlib.import_module(module), function)(**job["arguments"])
    except Exception as error:
        answer(answers, {"error": f"{type(error).__name__}: {error}"})
        return
    gc.freeze()
    numpy = sys.modules.get("numpy")
    about = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": getattr(numpy, "__version__", "not used"),
        "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "overhead_ns": overhead_ns(len(routine.phases)),
        "phases": len(routine.phases),
        "searches": routine.search is not None,
    }
    answer(answers, about)
    serve(routine, sys.stdin.buffer, answers)
