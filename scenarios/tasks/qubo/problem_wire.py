# SPDX-License-Identifier: Apache-2.0
"""Problems as bytes, for the way to the device: docs/reference/QUBO.md, "Weights on the
wire".

A graph without weights has the bytes of edges.py. In those of the other kinds, byte 3
of the head is the kind. Weights of nodes stand before the rows; a weight of a node in a
set is a number, other weights are signed: 0, -1, 1, -2 are 0, 1, 2, 3. In a cut the
sign of each edge is the lowest bit of its number.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

import numpy as np

from rig.errors import DataError
from scenarios.tasks.qubo import edges
from scenarios.tasks.qubo.graph import NODES_MAX, Graph
from scenarios.tasks.qubo.problem import (
    CUT,
    FLIP_NODES_MAX,
    GENERAL,
    SET,
    Kind,
    QuadraticProblem,
    Sense,
    Whole,
    cut,
    independent_set,
)

#: The kinds of firmware/workloads/qubo/nr_qubo.h.
PLAIN_SET, WEIGHTED_SET, UNIT_CUT, WEIGHTED = range(4)
WEIGHT_BITS = 32


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a problem."""

    kind: int
    nodes: int
    edges: int


def head_of(data: bytes) -> Head:
    """Return kind, nodes and edges; raise DataError where there is no head."""
    if len(data) < edges.HEAD.size:
        raise DataError(f"{len(data)} bytes are too few for a problem")
    first, count, _ = edges.HEAD.unpack_from(data)
    return Head(first >> edges.KIND_BITS, first & (1 << edges.KIND_BITS) - 1, count)


def kind_of(problem: QuadraticProblem) -> int:
    """Return the kind of a problem on the wire."""
    if problem.kind == SET:
        return WEIGHTED_SET if problem.weighted else PLAIN_SET
    return UNIT_CUT if problem.kind == CUT and not problem.weighted else WEIGHTED


def encode(problem: QuadraticProblem) -> bytes:
    """Return a problem as bytes; offset, scale and sense are no part of it."""
    kind = kind_of(problem)
    if kind == PLAIN_SET:
        return edges.encode(problem.graph)
    before = np.empty(0, np.int64)
    numbers, opens = edges.numbered(problem.graph)
    if kind == WEIGHTED_SET:
        before = -problem.linear
    elif kind == UNIT_CUT:
        numbers[~opens] = 2 * numbers[~opens] + (problem.quadratic < 0)
    else:
        before = _folded(problem.linear)
        places = np.flatnonzero(~opens) + 1
        numbers = np.insert(numbers, places, _folded(problem.quadratic))
    body = edges.written(np.concatenate([before, numbers])).tobytes()
    sizes = edges.SIZES.pack(problem.nodes | kind << edges.KIND_BITS, problem.edges)
    checksum = zlib.crc32(body, zlib.crc32(sizes))
    return sizes + checksum.to_bytes(4, "little") + body


def sha256(problem: QuadraticProblem) -> str:
    """Return the SHA-256 of a problem: a line of its offset, scale and sense, and its
    bytes.
    """
    way = f"{problem.offset} {problem.scale} {problem.sense}"
    head = f"neurorig problem 1\n{way}\n".encode()
    return hashlib.sha256(head + encode(problem)).hexdigest()


def decode(data: bytes, kind: Kind = GENERAL) -> QuadraticProblem:
    """Return the problem that `data` describes; raise DataError where it describes
    none. A cut whose edges have other weights than 1 and -1 is a general problem on the
    wire, and `kind` tells one from the other.
    """
    head = head_of(data)
    if head.kind == PLAIN_SET:
        return independent_set(edges.decode(data))
    most = NODES_MAX if head.kind == WEIGHTED_SET else FLIP_NODES_MAX
    if head.kind > WEIGHTED or head.nodes > most:
        raise DataError(f"a problem of kind {head.kind} with {head.nodes} nodes")
    sizes = data[: edges.SIZES.size]
    checksum = int.from_bytes(data[edges.SIZES.size : edges.HEAD.size], "little")
    if zlib.crc32(data[edges.HEAD.size :], zlib.crc32(sizes)) != checksum:
        raise DataError("the checksum of the problem does not fit its bytes")
    most_b = edges.WEIGHT_B if head.kind == WEIGHTED else edges.NUMBER_B
    numbers = edges.read(np.frombuffer(data, np.uint8, offset=edges.HEAD.size), most_b)
    if len(numbers) and numbers.max() >= 1 << WEIGHT_BITS:
        raise DataError("a weight of more than 32 bits")
    weights = 0 if head.kind == UNIT_CUT else head.nodes
    if len(numbers) < weights:
        raise DataError(f"{len(numbers)} numbers are too few for {weights} weights")
    before, rows = numbers[:weights], numbers[weights:]
    if head.kind == WEIGHTED:
        rows, folded = _apart(head, rows)
    else:
        folded = np.empty(0, np.int64)
        _refuse_count(head, len(rows))
    signs = folded
    if head.kind == UNIT_CUT:
        rows, signs = _signs(head, rows)
    pairs = edges.pairs(head.nodes, rows).astype(np.int64)
    if len(pairs) != head.edges:
        raise DataError(f"{len(pairs)} edges, {head.edges} announced")
    if head.kind == WEIGHTED_SET:
        if len(before) and before.min() < 1:
            raise DataError("a node of the problem has no weight")
        return independent_set(Graph(head.nodes, pairs.astype(np.uint64)), before)
    if head.kind == UNIT_CUT:
        return cut(head.nodes, pairs, 1 - 2 * signs)
    quadratic = _unfolded(folded)
    if (quadratic == 0).any():
        raise DataError("a pair of the problem has no weight")
    linear = _unfolded(before)
    sense: Sense = "max" if kind == CUT else "min"
    return QuadraticProblem(kind, head.nodes, linear, pairs, quadratic, sense=sense)


def _refuse_count(head: Head, numbers: int) -> None:
    if numbers != max(head.nodes - 1, 0) + head.edges:
        raise DataError(
            f"{numbers} numbers do not make {head.nodes} nodes and {head.edges} edges"
        )


def _counts(head: Head, rows: Whole, each: int) -> Whole:
    """Return where the count of each row stands, with `each` numbers an edge."""
    places = np.empty(max(head.nodes - 1, 0), np.int64)
    place = 0
    for row in range(len(places)):
        if place >= len(rows):
            raise DataError(f"the neighbours of node {row} are missing")
        places[row] = place
        place += 1 + each * int(rows[place])
    if place != len(rows):
        raise DataError(f"{len(rows)} numbers do not make {head.nodes} rows")
    return places


def _apart(head: Head, rows: Whole) -> tuple[Whole, Whole]:
    """Return the rows without their weights, and these."""
    counts = np.zeros(len(rows), bool)
    counts[_counts(head, rows, 2)] = True
    of_edges = np.flatnonzero(~counts)
    weights = of_edges[1::2]
    kept = np.ones(len(rows), bool)
    kept[weights] = False
    return rows[kept], rows[weights]


def _signs(head: Head, rows: Whole) -> tuple[Whole, Whole]:
    """Return the rows without the signs of their edges, and these as 0 and 1."""
    of_edges = np.ones(len(rows), bool)
    of_edges[_counts(head, rows, 1)] = False
    signs = rows[of_edges] & 1
    plain = rows.copy()
    plain[of_edges] >>= 1
    return plain, signs


def _folded(weights: Whole) -> Whole:
    return np.where(weights < 0, -2 * weights - 1, 2 * weights)


def _unfolded(folded: Whole) -> Whole:
    return np.where(folded % 2 == 1, -(folded // 2) - 1, folded // 2)
