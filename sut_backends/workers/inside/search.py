# SPDX-License-Identifier: Apache-2.0
"""A search in the worker: carried on piece by piece, its thresholds marked as it
reaches them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rig.interfaces.cpu_program import Routine, Search
from rig.model.completion import END, REACHED
from sut_backends.workers.inside.marks import Marks, no_collector, not_before

#: The phase of a search.
SOLVE = 1
#: The most thresholds in one search, as the framed layer has them.
THRESHOLDS_MAX = 16


@dataclass(frozen=True, slots=True)
class Order:
    """Parameters of a search; `apart_ns`: marks lie as far apart or farther, as a
    device's pulses do.
    """

    seed: int
    timeout_ns: int
    target: int | None
    thresholds: list[int]
    apart_ns: int


def solved(
    routine: Routine, value: Any, order: Order
) -> tuple[Marks, list[int], bytes]:
    """Search until the target is met or the time is over; return the marks, when each
    threshold was known (ns), and the output, which is made after the last mark.
    """
    if routine.search is None:
        raise ValueError("this program does not search")
    with no_collector():
        marks = [(SOLVE, time.monotonic_ns())]
        known = list[int]()
        search = routine.search(value, order.seed)
        met = searched(search, order, marks, known)
    return marks, known, search.output(met)


def searched(search: Search, order: Order, marks: Marks, known: list[int]) -> bool:
    """Run a search to its end, mark the thresholds that it reaches, note their times in
    `known`; return whether it met its target.

    A threshold is marked when the search is known to be there; if the mark before is
    too near, at the first look after it is far enough, with the thresholds reached
    meanwhile. Only the end waits for that.
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
            marked_ns = not_before(marks[-1][1] + order.apart_ns)
            marks.append((REACHED + reached - 1, marked_ns))
            marked = reached
        if over:
            marks.append((END, not_before(marks[-1][1] + order.apart_ns)))
            return met
        next_costs = list(order.thresholds[reached : reached + 1])
        if order.target is not None:
            next_costs.append(order.target)
        until = max(next_costs, default=None)
        more = search.advance((end_ns - at_ns) * 1e-9, until)
