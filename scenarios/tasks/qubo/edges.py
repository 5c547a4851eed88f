# SPDX-License-Identifier: Apache-2.0
"""Graphs as bytes, for the way to the device: docs/reference/QUBO.md, "The graph on the
wire"; firmware/workloads/qubo has the other side.

Nodes, edges and a checksum (CRC-32 of the rest), 4 bytes each, low first. Then for each
node but the last the number of its greater neighbours, and for each of them how many
nodes were passed over since the one before (the first: since the node itself). Numbers
are 7 bits a byte, low first, with the upper bit set where more follow. Loops, doubles
and disorder cannot be written down.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from scenarios.tasks.qubo.graph import NODES_MAX, Graph

HEAD = struct.Struct("<III")
SIZES = struct.Struct("<II")
#: The upper bits of the number of nodes are the kind of a problem (problem_wire.py).
KIND_BITS = 24
#: The most bytes of one number: all are below 2**16.
NUMBER_B = 3
#: The most bytes of a weight: all are below 2**32.
WEIGHT_B = 5


def encode(graph: Graph) -> bytes:
    """Return a graph as bytes."""
    body = written(numbered(graph)[0]).tobytes()
    sizes = SIZES.pack(graph.nodes, graph.edges)
    checksum = zlib.crc32(body, zlib.crc32(sizes))
    return HEAD.pack(graph.nodes, graph.edges, checksum) + body


def decode(data: bytes) -> Graph:
    """Return the graph that `data` describes; raise DataError where it describes
    none."""
    if len(data) < HEAD.size:
        raise DataError(f"{len(data)} bytes are too few for a graph")
    nodes, edges, checksum = HEAD.unpack_from(data)
    if nodes >> KIND_BITS:
        raise DataError(
            "a problem with weights, or a cut, where a graph without weights is wanted",
            try_next="a graph, or a program of the task, which reads every problem",
        )
    if zlib.crc32(data[HEAD.size :], zlib.crc32(SIZES.pack(nodes, edges))) != checksum:
        raise DataError("the checksum of the graph does not fit its bytes")
    numbers = read(np.frombuffer(data, np.uint8, offset=HEAD.size), NUMBER_B)
    if nodes > NODES_MAX or len(numbers) != max(nodes - 1, 0) + edges:
        raise DataError(
            f"{len(numbers)} numbers do not make {nodes} nodes and {edges} edges"
        )
    return Graph(nodes, pairs(nodes, numbers))


def numbered(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the numbers of all rows, and which of them are counts of neighbours."""
    lesser, greater = (end.astype(np.int64) for end in graph.ends)
    before = np.concatenate([[0], greater[:-1]]) if graph.edges else greater
    opens = np.diff(lesser, prepend=-1) != 0
    passed = greater - np.where(opens, lesser, before) - 1
    counts = np.bincount(lesser, minlength=max(graph.nodes - 1, 0))
    places = np.cumsum(counts) - counts
    numbers = np.insert(passed, places, counts)
    opens_row = np.zeros(len(numbers), bool)
    opens_row[places + np.arange(len(places))] = True
    return numbers, opens_row


def written(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return numbers as bytes, 7 bits in each."""
    length_b = np.ones(len(numbers), np.int64)
    for byte in range(1, WEIGHT_B):
        length_b += numbers >= 1 << 7 * byte
    place = np.cumsum(length_b) - length_b
    out = np.zeros(int(length_b.sum()), np.uint8)
    for byte in range(WEIGHT_B):
        there = length_b > byte
        more = np.where(length_b[there] > byte + 1, 0x80, 0)
        out[place[there] + byte] = numbers[there] >> 7 * byte & 0x7F | more
    return out


def read(data: NDArray[np.uint8], most_b: int) -> NDArray[np.int64]:
    """Return the numbers that `written` wrote, each of at most `most_b` bytes; raise
    DataError for other bytes."""
    ends = np.flatnonzero(data < 0x80)
    length_b = np.diff(ends, prepend=-1)
    if len(data) and (data[-1] >= 0x80 or length_b.max(initial=0) > most_b):
        raise DataError("a number of the graph does not end")
    if (data[ends[length_b > 1]] == 0).any():
        raise DataError("a number of the graph is longer than it needs to be")
    numbers = np.zeros(len(ends), np.int64)
    for byte in range(most_b):
        there = length_b > byte
        places = ends[there] - length_b[there] + 1 + byte
        numbers[there] |= (data[places].astype(np.int64) & 0x7F) << 7 * byte
    return numbers


def pairs(nodes: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the pairs of the rows of numbers; raise DataError where they do not fit
    `nodes`."""
    parts: list[NDArray[np.int64]] = []
    place = 0
    for node in range(nodes - 1):
        if place < len(numbers):
            row = numbers[place + 1 : place + 1 + int(numbers[place])]
        else:
            row = numbers[:0]
        neighbours = node + np.cumsum(row + 1)
        is_cut_off = place >= len(numbers) or len(row) != numbers[place]
        if is_cut_off or (len(row) and neighbours[-1] >= nodes):
            raise DataError(f"the neighbours of node {node} do not fit {nodes} nodes")
        parts.append(node * nodes + neighbours)
        place += 1 + len(row)
    if place != len(numbers):
        raise DataError(f"{len(numbers) - place} numbers follow the last node")
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.uint64)
