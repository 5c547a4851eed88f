# SPDX-License-Identifier: Apache-2.0
"""Python and the firmware read the same bytes as the same graph, and refuse the same
ones."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError
from scenarios.tasks.qubo import edges
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, from_edges, generate
from tests.scenarios.tasks.qubo.conftest import Firmware

GOOD, TRUNCATED, TOO_LARGE, CHECKSUM, NODE, NUMBER, EDGES, KIND = range(8)
#: A path 0-1-2 and an edge from 0 to 300: two numbers of one byte, one of two.
SMALL = from_edges(301, np.array([[0, 1], [1, 2], [0, 300]]))


def wire(nodes: int, count: int, body: bytes) -> bytes:
    """Put a right checksum to any body."""
    sizes = struct.pack("<II", nodes, count)
    return sizes + struct.pack("<I", zlib.crc32(sizes + body)) + body


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes = draw(st.integers(0, 400))
    node = st.integers(0, max(nodes - 1, 0))
    result = draw(
        st.lists(
            st.tuples(node, node).filter(lambda edge: edge[0] != edge[1]),
            max_size=60 if nodes > 1 else 0,
        )
    )
    return from_edges(nodes, np.array(result).reshape(-1, 2))


@settings(deadline=None)
@given(graphs())
def test_a_graph_comes_back_from_its_bytes(graph: Graph) -> None:
    back = edges.decode(edges.encode(graph))
    assert back.nodes == graph.nodes
    assert np.array_equal(back.pairs, graph.pairs)


def test_the_bytes_are_the_documented_ones() -> None:
    body = bytes([2, 0, 0xAA, 0x02, 1, 0]) + bytes(298)
    assert edges.encode(SMALL) == wire(301, 3, body)


def test_a_dense_graph_takes_a_byte_an_edge() -> None:
    graph = generate(Workload(500, 0.25, 0))
    assert len(edges.encode(graph)) < 1.1 * graph.edges


@settings(deadline=None)
@given(graphs())
def test_the_firmware_takes_every_graph_into_the_memory_it_asks_for(
    firmware: Firmware, graph: Graph
) -> None:
    data = edges.encode(graph)
    needed_b = firmware.ask(data, memory_b=0).needed_b
    result = firmware.ask(data, memory_b=needed_b)
    assert result.refusal == GOOD
    assert cost(graph, result.vector(graph.nodes)) == result.cost


@settings(deadline=None)
@given(graphs())
def test_a_byte_less_memory_is_refused_with_what_is_needed(
    firmware: Firmware, graph: Graph
) -> None:
    data = edges.encode(graph)
    needed_b = firmware.ask(data, memory_b=0).needed_b
    answer = firmware.ask(data, memory_b=needed_b - 1)
    assert (answer.refusal, answer.needed_b) == (TOO_LARGE, needed_b)


@settings(deadline=None, max_examples=300)
@given(graphs(), st.data())
def test_python_and_firmware_agree_on_damaged_graphs_whose_checksum_is_right(
    firmware: Firmware, graph: Graph, data: st.DataObject
) -> None:
    body = bytearray(edges.encode(graph)[edges.HEAD.size :])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(body)))
        body[position : position + data.draw(st.integers(0, 2))] = data.draw(
            st.binary(max_size=2)
        )
    count = max(graph.edges + data.draw(st.integers(-1, 1)), 0)
    damaged = wire(graph.nodes, count, bytes(body))
    refused = firmware.ask(damaged).refusal
    try:
        again = edges.decode(damaged)
    except DataError:
        assert refused != GOOD
    else:
        assert refused == GOOD
        # What both take is a graph, and there is one way to write it.
        assert edges.encode(again) == damaged


@settings(deadline=None)
@given(graphs(), st.data())
def test_every_flipped_bit_is_refused_by_both(
    firmware: Firmware, graph: Graph, data: st.DataObject
) -> None:
    damaged = bytearray(edges.encode(graph))
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    assert firmware.ask(bytes(damaged)).refusal in (CHECKSUM, TOO_LARGE, KIND)
    with pytest.raises(DataError):
        edges.decode(bytes(damaged))


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"", TRUNCATED),
        (edges.encode(SMALL)[:11], TRUNCATED),
        (wire(301, 3, bytes([2, 0, 0xAA, 0x02, 1, 0]) + bytes(297)), TRUNCATED),
        (wire(301, 3, bytes([2, 0, 0xAA, 0x02, 1, 0]) + bytes(299)), EDGES),
        (wire(301, 4, bytes([2, 0, 0xAA, 0x02, 1, 0]) + bytes(298)), EDGES),
        (wire(301, 2, bytes([2, 0, 0xAA, 0x02, 1, 0]) + bytes(298)), EDGES),
        (wire(301, 3, bytes([2, 0, 0xAB, 0x02, 1, 0]) + bytes(298)), NODE),
        (wire(301, 3, bytes([2, 0x80, 0x00, 0xAA, 0x02, 1, 0]) + bytes(298)), NUMBER),
        (wire(301, 3, bytes([2, 0, 0xAA, 0x82, 0x80, 0x80])), NUMBER),
        (wire(70_000, 0, bytes(69_999)), TOO_LARGE),
        (wire(3, 4, bytes([2, 0, 0, 1])), TOO_LARGE),
        (wire(0xFFFFFFFF, 0xFFFFFFFF, b""), KIND),
    ],
)
def test_each_fault_has_its_refusal(
    firmware: Firmware, data: bytes, refusal: int
) -> None:
    assert firmware.ask(data).refusal == refusal
    with pytest.raises(DataError):
        edges.decode(data)
