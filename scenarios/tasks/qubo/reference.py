# SPDX-License-Identifier: Apache-2.0
"""The CPU reference solver: the firmware's own search (firmware/workloads/qubo),
compiled for this host on first use.

One algorithm is compared on two systems. A C compiler is needed.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError, RigError
from rig.files.shipped import shipped
from scenarios.tasks.qubo import edges, problem_wire
from scenarios.tasks.qubo.answer import encode
from scenarios.tasks.qubo.graph import Graph
from scenarios.tasks.qubo.library import Library

#: Neighbours touched between two looks at the clock: some 20 us.
WORK_PER_POLL = 20_000
COST_MIN = -(2**31)
#: The search; the other files there tie it to the firmware's shim.
SEARCH = ("nr_qubo.c", "nr_qubo_flip.c", "nr_qubo_graph.c", "nr_qubo_run.c")
REFUSALS = (
    "good",
    "truncated",
    "too large",
    "checksum",
    "node",
    "number",
    "edges",
    "kind",
    "weight",
)


@dataclass(frozen=True, slots=True)
class CostCrossing:
    """The first cost at or below a threshold, and the CPU time from the start at which
    it was known.
    """

    threshold: int
    cost: int
    latency_s: float


@dataclass(frozen=True, slots=True)
class FoundVector:
    """The result of a search: its best vector (nodes, int8), that vector's cost, the
    time it took, and the thresholds crossed.
    """

    cost: int
    vector: NDArray[np.int8]
    duration_s: float
    crossings: tuple[CostCrossing, ...]


class Solver:
    """The firmware's search on one graph: start it with a seed, search as often and as
    long as wanted.
    """

    def __init__(self, graph: Graph | bytes, cache: Path | None = None) -> None:
        """Take a graph, or one on the wire; raise ConfigError where the firmware
        refuses it."""
        wire = graph if isinstance(graph, bytes) else edges.encode(graph)
        if len(wire) >= edges.HEAD.size:
            head = problem_wire.head_of(wire)
        else:
            head = problem_wire.Head(0, 0, 0)
        self.nodes = head.nodes
        self._c = _functions(library().compiled(cache))
        # 0 for what 16-bit nodes cannot count: the firmware says so itself. Never more
        # than the bytes on the wire can describe.
        memory_b = 0
        if head.edges <= len(wire):
            memory_b = self._c.nr_qubo_memory_b(head.kind, head.nodes, head.edges)
        self._memory = (ctypes.c_uint32 * (memory_b // 4))()
        self._state = ctypes.create_string_buffer(self._c.nr_qubo_state_b())
        refusal = self._c.nr_qubo_load(
            self._state, self._memory, memory_b, wire, len(wire)
        )
        if refusal:
            raise ConfigError(
                f"the solver refuses the graph: {REFUSALS[refusal]}",
                evidence=f"{self.nodes} nodes",
            )
        self.start(0)

    @property
    def memory_b(self) -> int:
        """The memory that the graph and the search on it need, in bytes."""
        return ctypes.sizeof(self._memory) + len(self._state)

    @property
    def cost(self) -> int:
        """The best cost so far."""
        return int(self._c.nr_qubo_best_cost(self._state))

    @property
    def moves(self) -> int:
        """The moves since the start, in 32 bits."""
        return int(self._c.nr_qubo_moves(self._state))

    @property
    def vector(self) -> NDArray[np.int8]:
        """The best vector so far (nodes)."""
        octets = np.frombuffer(self.bits, np.uint8)
        vector = np.unpackbits(octets, count=self.nodes, bitorder="little")
        return vector.astype(np.int8)

    @property
    def bits(self) -> bytes:
        """The best vector so far, one bit a node, low bits first."""
        return ctypes.string_at(
            self._c.nr_qubo_best(self._state), (self.nodes + 7) // 8
        )

    def start(self, seed: int) -> None:
        """Restart; the same seed (32 bits) repeats the search."""
        self._c.nr_qubo_start(self._state, seed & 0xFFFFFFFF)

    def search(
        self, limit_s: float, target: int = COST_MIN, thresholds: Sequence[int] = ()
    ) -> FoundVector:
        """Search until the cost is at or below `target`, or for `limit_s` of this
        thread's CPU time.

        `thresholds` are costs whose crossings are reported.
        """
        waiting = sorted({*thresholds, target} - {COST_MIN}, reverse=True)
        crossings: list[CostCrossing] = []
        start_s = time.thread_time()
        while True:
            now_s = time.thread_time() - start_s
            while waiting and self.cost <= waiting[0]:
                crossings.append(CostCrossing(waiting.pop(0), self.cost, now_s))
            if self.cost <= target or now_s >= limit_s:
                reported = tuple(
                    crossing
                    for crossing in crossings
                    if crossing.threshold in thresholds
                )
                return FoundVector(self.cost, self.vector, now_s, reported)
            self.step(WORK_PER_POLL, waiting[0] if waiting else COST_MIN)

    def step(self, work: int, report_at: int = COST_MIN) -> None:
        """Search until about `work` neighbours were touched, or the best cost comes
        down to `report_at`.
        """
        self._c.nr_qubo_set_report_at(self._state, report_at)
        self._c.nr_qubo_step(self._state, work)
        self._c.nr_qubo_settle(self._state)


class Steps:
    """The search on a graph on the wire, for a virtual device
    (rig.interfaces.context.Searcher); raises ConfigError where it is refused.
    """

    def __init__(self, payload: bytes, seed: int) -> None:
        self._solver = Solver(payload)
        self._solver.start(seed)

    @property
    def cost(self) -> int:
        """The best cost so far."""
        return self._solver.cost

    def step(self, work: int) -> None:
        """Search on for at least `work` touched neighbours."""
        self._solver.step(work)

    def output(self, met: bool) -> bytes:
        """Return the answer: the best cost so far and its vector."""
        return encode(self.cost, met, self._solver.nodes, self._solver.bits)


def memory_b(wire: bytes) -> int:
    """Return the memory that a device needs for a problem and the search on it, in
    bytes; 0 for one that no device takes.
    """
    head = problem_wire.head_of(wire)
    c = _functions(library().compiled())
    return int(c.nr_qubo_memory_b(head.kind, head.nodes, head.edges))


def memory_b_if_known(wire: bytes) -> int | None:
    """Return the memory that a device needs; None without a C compiler."""
    try:
        return memory_b(wire)
    except RigError:
        return None


def library() -> Library:
    """Return the firmware's search as a library for this host."""
    root = shipped("firmware")
    sources = root / "workloads" / "qubo"
    core = root / "core"
    search = [sources / name for name in SEARCH]
    headers = [sources / "nr_qubo.h", core / "nr_frame.h", core / "nr_wire.h"]
    return Library(
        "qubo",
        [*search, core / "nr_frame.c"],
        headers,
        [core],
    )


def _functions(path: Path) -> ctypes.CDLL:
    c = ctypes.CDLL(str(path))
    c.nr_qubo_memory_b.restype = ctypes.c_uint64
    c.nr_qubo_memory_b.argtypes = (ctypes.c_uint32,) * 3
    c.nr_qubo_state_b.restype = ctypes.c_uint32
    c.nr_qubo_load.argtypes = (
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_char_p,
        ctypes.c_uint32,
    )
    c.nr_qubo_settle.argtypes = (ctypes.c_void_p,)
    c.nr_qubo_start.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    c.nr_qubo_step.restype = ctypes.c_bool
    c.nr_qubo_step.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    c.nr_qubo_set_report_at.argtypes = (ctypes.c_void_p, ctypes.c_int32)
    c.nr_qubo_best_cost.restype = ctypes.c_int32
    c.nr_qubo_best_cost.argtypes = (ctypes.c_void_p,)
    c.nr_qubo_moves.restype = ctypes.c_uint32
    c.nr_qubo_moves.argtypes = (ctypes.c_void_p,)
    c.nr_qubo_best.restype = ctypes.c_void_p
    c.nr_qubo_best.argtypes = (ctypes.c_void_p,)
    return c
