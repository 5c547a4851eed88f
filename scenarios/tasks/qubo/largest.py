# SPDX-License-Identifier: Apache-2.0
"""The largest workload that a system under test can do: by growth, then by bisection,
each try kept as evidence.

That a system can do all sizes below one that it can do is taken for granted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rig.bench.compatibility import refuse_mismatch
from rig.errors import (
    BenchError,
    ConfigError,
    DataError,
    DeadlineError,
    LocalProtocolError,
    RemoteProtocolError,
    SutError,
)
from rig.files import typed
from rig.interfaces.sut import SutInfo
from rig.model.steps import Load, Solve
from rig.session.session import Bench, open_bench
from scenarios.tasks.qubo import answer, edges
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import NODES_MAX, Graph, Workload, generate
from scenarios.tasks.qubo.targets import packed, unpacked

SCHEMA = "neurorig-largest-1"
#: QUBO.md, maximum workload size, in short.
RULE = (
    "the largest A with (A, 1 %, seed 0) and the largest B with (B, 100 %, seed 0) that"
    " load and give a solution better than cost 0"
)
METHOD = (
    "sizes are doubled until one fails, then bisected; that smaller ones than one that"
    " is good are good is taken for granted"
)
#: The two searches of the rule: name and density, both with seed 0.
SERIES = {"A": 0.01, "B": 1.0}
SEED = 0
FIRST_NODES = 16
#: Any solution better than the empty one, which costs 0.
BETTER = -1


@dataclass(frozen=True, slots=True)
class Try:
    """One size that was tried: `outcome` is "good", or why not: "refused", "failed",
    "wrong" (an answer of no use), "no better".

    `cost` is evaluated here, `claimed` the device's word; `vector` is the answer's
    bits, low first, in base 64.
    """

    nodes: int
    edges: int
    density: float
    payload_b: int
    graph_sha256: str
    outcome: str
    detail: str = ""
    cost: int | None = None
    claimed: int | None = None
    vector: str = ""

    @property
    def good(self) -> bool:
        """Whether it was loaded and gave a solution better than cost 0."""
        return self.outcome == "good"


@dataclass(frozen=True, slots=True)
class TriedSizes:
    """The tries in a file of evidence."""

    tries: tuple[Try, ...]
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest size that is good, 0 where none is, and the size after which none was
    tried, where that was the end of it.
    """

    nodes: int
    limit: int | None = None


def nodes_max(density: float, edges_max: int) -> int:
    """Return the most nodes whose graph has at most `edges_max` edges."""
    low = 0
    high = NODES_MAX
    while low < high:
        middle = (low + high + 1) // 2
        if Workload(middle, density, SEED).edges <= edges_max:
            low, high = (middle, high)
        else:
            low, high = (low, middle - 1)
    return low


def largest(
    good: Callable[[int], bool], limit: int, first: int = FIRST_NODES
) -> Largest:
    """Return the largest size up to `limit` that is good: doubled from `first` on until
    one is not, then bisected.
    """
    known = 0
    size = min(first, limit)
    while good(size):
        known = size
        if size == limit:
            return Largest(known, limit)
        size = min(2 * size, limit)
    bad = size
    while bad - known > 1:
        middle = (known + bad) // 2
        known, bad = (middle, bad) if good(middle) else (known, middle)
    return Largest(known)


class Prober:
    """Tries sizes on a bench, which it opens, and opens again where the system under
    test is lost; a context manager.
    """

    def __init__(
        self, bench: Path, overrides: tuple[str, ...], timeout_s: float
    ) -> None:
        self._path = bench
        self._overrides = overrides
        self._timeout_s = timeout_s
        self._stack: ExitStack | None = None
        self._bench: Bench | None = None

    def __enter__(self) -> Prober:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def info(self) -> SutInfo:
        """Description of the system under test by itself."""
        return self._open().sut.info

    def close(self) -> None:
        """Close the bench; closing twice is allowed."""
        stack = self._stack
        self._stack = None
        self._bench = None
        if stack is not None:
            stack.close()

    def attempt(self, nodes: int, density: float) -> Try:
        """Load a workload and ask for a solution better than 0."""
        graph = generate(Workload(nodes, density, SEED))
        payload = edges.encode(graph)
        described = (nodes, graph.edges, density, len(payload), graph.sha256)
        try:
            output = self._searched(payload)
        except (SutError, LocalProtocolError) as error:
            return Try(*described, "refused", error.joined("; "))
        except (DeadlineError, RemoteProtocolError, BenchError) as error:
            # It may be in any state now, or gone.
            self.close()
            return Try(*described, "failed", error.joined("; "))
        return _judged(Try(*described, "good"), graph, output)

    def _searched(self, payload: bytes) -> bytes:
        sut = self._open().sut
        sut.do(Load(0), [payload])
        return sut.do(Solve(0, self._timeout_s, seed=1, target=BETTER)).output

    def _open(self) -> Bench:
        if self._bench is None:
            with ExitStack() as stack:
                bench = stack.enter_context(open_bench(self._path, self._overrides))
                _refuse_unfit(bench)
                self._stack = stack.pop_all()
                self._bench = bench
        return self._bench


def series(
    prober: Prober, density: float, edges_max: int, tell: Callable[[Try], None]
) -> Largest:
    """Search the largest size of a density, with graphs of `edges_max` edges at most;
    `tell` is called with each try.
    """

    def good(nodes: int) -> bool:
        attempt = prober.attempt(nodes, density)
        tell(attempt)
        return attempt.good

    return largest(good, nodes_max(density, edges_max))


def content(
    info: SutInfo,
    timeout_s: float,
    found: Mapping[str, tuple[float, Largest]],
    every: Sequence[Try],
) -> dict[str, Any]:
    """Compose the evidence, JSON-able: the claimed sizes, and every try."""
    largest = {}
    for name, (density, one) in found.items():
        largest[name] = {"density": density} | dataclasses.asdict(one)
    return {
        "schema": SCHEMA,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "rule": RULE,
        "method": METHOD,
        "simulated": info.simulated,
        "sut": dataclasses.asdict(info),
        "timeout_s": timeout_s,
        "problem_seed": SEED,
        "largest": largest,
        "tries": [dataclasses.asdict(one) for one in every],
    }


def again(stored: Any) -> Any:
    """Evaluate the stored vector of each try once more, without a device; raise
    DataError where the evidence is of another form.
    """
    found = typed.from_json(TriedSizes, stored, "the evidence of the largest workload")
    tries = tuple(map(_evaluated, found.tries))
    return typed.to_json(dataclasses.replace(found, tries=tries))


def _evaluated(attempt: Try) -> Try:
    """Make a try once more from its size and its vector."""
    if attempt.nodes > NODES_MAX:
        raise DataError(
            f"a try has {attempt.nodes} nodes",
            evidence="the evidence of the largest workload",
        )
    graph = generate(Workload(attempt.nodes, attempt.density, SEED))
    payload_b = len(edges.encode(graph))
    made = dataclasses.replace(
        attempt, edges=graph.edges, payload_b=payload_b, graph_sha256=graph.sha256
    )
    if not attempt.vector:
        # Without a vector a try can be any failure, and no success.
        outcome = "failed" if attempt.good else attempt.outcome
        return dataclasses.replace(made, outcome=outcome)
    true = cost(graph, unpacked(attempt.vector, attempt.nodes))
    if attempt.claimed != true:
        outcome = "wrong"
    else:
        outcome = "no better" if true > BETTER else "good"
    return dataclasses.replace(made, cost=true, outcome=outcome)


def _judged(attempt: Try, graph: Graph, output: bytes) -> Try:
    """Judge a try by the vector of its answer."""
    try:
        decoded = answer.decode(output, graph.nodes)
    except DataError as error:
        return dataclasses.replace(attempt, outcome="wrong", detail=error.cause)
    true = cost(graph, decoded.vector)
    outcome, detail = "good", ""
    if decoded.claimed != true:
        outcome = "wrong"
        detail = f"it claims {decoded.claimed}, its vector costs {true}"
    elif true > BETTER:
        outcome = "no better"
        detail = "no solution better than cost 0 in time"
    vector = packed(decoded.vector)
    return dataclasses.replace(
        attempt,
        outcome=outcome,
        detail=detail,
        cost=true,
        claimed=decoded.claimed,
        vector=vector,
    )


def _refuse_unfit(bench: Bench) -> None:
    if bench.task.name != "qubo":
        raise ConfigError(
            f"the bench is one of {bench.task.name}",
            path="task",
            try_next="a bench with [task.qubo]",
        )
    refuse_mismatch(bench.sut.info, bench.task)
    if not bench.sut.info.solves:
        raise ConfigError(
            f"{bench.sut.info.name} cannot search by itself",
            path="sut",
            try_next="firmware that knows OPTIMIZE",
        )
