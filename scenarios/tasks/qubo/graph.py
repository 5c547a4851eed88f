# SPDX-License-Identifier: Apache-2.0
"""Random graphs by (nodes, density, seed): edge for edge those of the published
generator, without a dense matrix.

The published generator asks networkx for gnm_random_graph(nodes, int(0.5 * density *
nodes**2), seed). That function draws pairs of nodes with random.Random(seed).choice
until enough different ones were found. Here the same Mersenne Twister words are drawn
and filtered in bulk.
"""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError

#: A pair (less than 2**32) and the place at which it was drawn (likewise) share a
#: 64-bit number.
NODES_MAX = 65535
WORDS_AT_ONCE = 1 << 20

Pairs = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Workload:
    """One published problem: number of nodes, density of edges (0 to 1 and over:
    complete), seed.
    """

    nodes: int
    density: float
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= NODES_MAX:
            raise ConfigError(
                f"{self.nodes} nodes: 0 to {NODES_MAX} are possible",
                path="task.qubo.nodes",
            )
        if not 0 <= self.density < math.inf:
            raise ConfigError(
                f"a density of {self.density}: 0 or more is possible",
                path="task.qubo.density",
            )

    @property
    def edges(self) -> int:
        """Number of edges that the published generator makes: not density times all
        pairs, and never more than all pairs.
        """
        drawn = int(0.5 * self.density * self.nodes**2)
        return min(drawn, self.nodes * (self.nodes - 1) // 2)

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {100 * self.density:g} %, seed {self.seed}"


@dataclass(frozen=True)
class Graph:
    """An undirected graph without loops: `pairs` holds u * nodes + v of each edge u <
    v, sorted and without doubles.
    """

    nodes: int
    pairs: Pairs

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.pairs)

    @cached_property
    def ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The lesser and the greater node of each edge, int32, sorted by the
        lesser and then by the greater.
        """
        lesser, greater = np.divmod(self.pairs, np.uint64(max(self.nodes, 1)))
        return lesser.astype(np.int32), greater.astype(np.int32)

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The adjacency as compressed sparse rows: starts (nodes + 1) and sorted
        neighbours (2 * edges).
        """
        lesser, greater = self.ends
        # 16-bit keys are sorted by counting, and stably: by the greater node, then by
        # the lesser.
        backwards = np.argsort(greater.astype(np.uint16), kind="stable")
        up = np.bincount(lesser, minlength=self.nodes)
        down = np.bincount(greater, minlength=self.nodes)
        starts = np.concatenate([[0], np.cumsum(up + down)]).astype(np.int64)
        neighbours = np.empty(2 * self.edges, np.int32)
        place = np.arange(self.edges)
        neighbours[place + np.repeat(np.cumsum(up) - up, down)] = lesser[backwards]
        neighbours[place + np.repeat(np.cumsum(down), up)] = greater
        return starts, neighbours

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the graph as text: nodes, edges, then all edges u < v
        in order, each number 4 bytes, low first.
        """
        digest = hashlib.sha256(b"neurorig graph 1\n")
        digest.update(np.array([self.nodes, self.edges], "<u4").tobytes())
        digest.update(np.stack(self.ends, axis=1).astype("<u4").tobytes())
        return digest.hexdigest()


def generate(workload: Workload) -> Graph:
    """Return the graph of a workload: networkx.gnm_random_graph(nodes, int(0.5 *
    density * nodes**2), seed), edge for edge.
    """
    nodes = workload.nodes
    edges = workload.edges
    all_pairs = nodes * (nodes - 1) // 2
    if edges == all_pairs:
        lesser, greater = np.triu_indices(nodes, 1)
        return Graph(nodes, (lesser * nodes + greater).astype(np.uint64))
    draws = _Draws(nodes, workload.seed)
    codes = np.empty(0, np.uint64)
    while len(codes) < edges:
        missing = edges - len(codes)
        # A pair drawn at random is new with probability 1 - found / all_pairs; a little
        # more than expected is drawn.
        expected = all_pairs * math.log((all_pairs - len(codes)) / (all_pairs - edges))
        new = _new(
            draws.pairs(math.ceil(expected + 3 * math.sqrt(expected))), codes, missing
        )
        codes = np.sort(np.concatenate([codes, new])) if len(codes) else new
    return Graph(nodes, codes)


def from_edges(nodes: int, edges: NDArray[np.integer]) -> Graph:
    """Return the graph with `edges`, an array (edges, 2) in any order and direction;
    loops are refused, doubles count once.
    """
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    lesser, greater = np.sort(ends, axis=1).T
    outside = (lesser < 0) | (greater >= nodes)
    if (outside | (lesser == greater)).any():
        raise ConfigError(
            f"an edge joins a node to itself or leaves the {nodes} nodes",
            path="task.qubo",
        )
    return Graph(nodes, np.unique((lesser * nodes + greater).astype(np.uint64)))


def _new(drawn: Pairs, known: Pairs, missing: int) -> Pairs:
    """Return those of `drawn` that are not in `known`, each once, and of these the
    `missing` that were drawn first.
    """
    drawn = drawn << np.uint64(32)
    drawn |= np.arange(len(drawn), dtype=np.uint64)
    drawn.sort()
    pair = drawn >> np.uint64(32)
    first = np.empty(len(pair), bool)
    first[:1] = True
    np.not_equal(pair[1:], pair[:-1], out=first[1:])
    if len(known):
        first &= known[np.minimum(np.searchsorted(known, pair), len(known) - 1)] != pair
    new: Pairs = pair[first]
    if len(new) > missing:
        place = drawn[first] & np.uint64(0xFFFFFFFF)
        new = new[place <= np.partition(place, missing - 1)[missing - 1]]
    return new


class _Draws:
    """The pairs that random.Random(seed) would choose one after the other, without
    those of a node with itself.
    """

    def __init__(self, nodes: int, seed: int) -> None:
        _, state, _ = random.Random(seed).getstate()
        self._words = np.random.MT19937()
        key = np.array(state[:-1], np.uint32)
        self._words.state = {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": state[-1]},
        }
        self._nodes = nodes
        # choice() takes the upper bits of a word, as many as the number of nodes has,
        # until they are less than it.
        self._shift = np.uint64(32 - nodes.bit_length())
        self._odd = np.empty(0, np.uint64)

    def pairs(self, at_least: int) -> Pairs:
        """Return the next `at_least` pairs or more, as lesser * nodes + greater, in the
        order of drawing.
        """
        parts: list[Pairs] = []
        missing = at_least
        while missing > 0:
            parts.append(self._next(min(4 * missing + 16, WORDS_AT_ONCE)))
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def _next(self, count: int) -> Pairs:
        words = self._words.random_raw(count) >> self._shift
        nodes = np.concatenate([self._odd, words[words < self._nodes]])
        even = len(nodes) - len(nodes) % 2
        self._odd = nodes[even:]
        first = nodes[:even:2]
        second = nodes[1:even:2]
        pairs: Pairs = np.minimum(first, second) * np.uint64(self._nodes) + np.maximum(
            first, second
        )
        different: Pairs = pairs[first != second]
        return different
