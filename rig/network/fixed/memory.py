# SPDX-License-Identifier: Apache-2.0
"""Where the values of a network lie in a device's memory: buffers share places when no
two of them are needed at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass

from rig.network.fixed.form import Delaying, FixedNetwork, FixedNode, Pass
from rig.network.fixed.layout import scratch


@dataclass(frozen=True, slots=True)
class Buffer:
    """So many values, needed from one node of a step to another, both with it."""

    name: str
    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Places of values: `outputs` of nodes, `inputs` of nodes, `rings` of delays and
    the memory of nodes with weights; `size` is that of all.
    """

    outputs: dict[str, int]
    inputs: dict[str, int]
    rings: dict[str, int]
    size: int


def plan(network: FixedNetwork) -> Plan:
    """Return the places of a network's values."""
    order = {node.name: number for number, node in enumerate(network.nodes)}
    roots = {node.name: _root(network, node) for node in network.nodes}
    buffers = [*_buffers(network, order, roots)]
    at, size = _placed(buffers)
    outputs = {name: at[root] for name, root in roots.items()}
    inputs = {}
    for node in network.nodes:
        if gathers(node):
            inputs[node.name] = at[_gathered(node)]
        elif node.edges:
            inputs[node.name] = outputs[node.edges[0].source]
    rings = {node.name: at[_ring(node)] for node in network.nodes if _ring(node) in at}
    return Plan(outputs, inputs, rings, size)


def gathers(node: FixedNode) -> bool:
    """Check whether a node's input is a sum or scaled, so that it has a place of its
    own."""
    return len(node.edges) > 1 or any(not edge.plain for edge in node.edges)


def depth(node: FixedNode) -> int:
    """Return how many steps a node keeps in its ring; 0 without one."""
    if isinstance(node.body, Delaying):
        return int(node.body.steps.max(initial=0)) + 1
    return 0


def _gathered(node: FixedNode) -> str:
    return f"{node.name} input"


def _ring(node: FixedNode) -> str:
    return f"{node.name} ring"


def _root(network: FixedNetwork, node: FixedNode) -> str:
    """Return the name of the buffer with a node's output."""
    while isinstance(node.body, Pass) and node.edges:
        if gathers(node):
            return _gathered(node)
        node = network.node(node.edges[0].source)
    return node.name


def _buffers(
    network: FixedNetwork, order: dict[str, int], roots: dict[str, str]
) -> list[Buffer]:
    end = len(network.nodes)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for number, node in enumerate(network.nodes):
        if gathers(node):
            name = _gathered(node)
            first[name], last[name], sizes[name] = number, number, node.inputs
        if roots[node.name] == node.name:
            # Inputs are put in place before the first node.
            begin = 0 if node.name in network.inputs else number
            first[node.name], last[node.name] = begin, number
            sizes[node.name] = node.outputs
        if depth(node):
            name = _ring(node)
            first[name], last[name], sizes[name] = 0, end, depth(node) * node.outputs
        if size := scratch(network, node):
            name = _ring(node)
            first[name], last[name], sizes[name] = number, number, size
    for number, node in enumerate(network.nodes):
        for edge in node.edges:
            root = roots[edge.source]
            # Values used in the next step are never overlaid.
            first[root] = 0 if edge.late else first[root]
            last[root] = end if edge.late else max(last[root], number)
    return [Buffer(name, sizes[name], first[name], last[name]) for name in sizes]


def _placed(buffers: list[Buffer]) -> tuple[dict[str, int], int]:
    """Return a place for each buffer, the largest first, each as far down as it can
    lie."""
    at: dict[str, int] = {}
    done: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda each: (-each.size, each.first, each.name)):
        overlapping = [
            other
            for other in done
            if other.first <= buffer.last and buffer.first <= other.last
        ]
        beside = sorted((at[other.name], other.size) for other in overlapping)
        place = 0
        for start, size in beside:
            if place + buffer.size <= start:
                break
            place = max(place, start + size)
        at[buffer.name] = place
        done.append(buffer)
    return at, max((at[each.name] + each.size for each in buffers), default=0)
