# SPDX-License-Identifier: Apache-2.0
"""Memory that a network takes on a device, node by node, before a build."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from rig.network.fixed.form import (
    Convolution,
    Dense,
    FixedNetwork,
    FixedNode,
    Population,
)
from rig.network.fixed.layout import scratch, takes_spikes, words
from rig.network.fixed.memory import depth
from rig.network.fixed.tables import NodeRow, tables


@dataclass(frozen=True, slots=True)
class NodeSize:
    """A node: bytes of its constants in flash, and in RAM of its states and of its
    values, which may share their place with those of others.
    """

    name: str
    kind: str
    constant_b: int
    state_b: int
    value_b: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """A network: bytes of all tables in flash; in RAM of states and values, of an input
    with so many steps, and of an answer.
    """

    nodes: tuple[NodeSize, ...]
    constant_b: int
    memory_b: int
    input_b: int
    answer_b: int

    def largest(self, count: int = 3) -> list[NodeSize]:
        """Return the nodes that take most, flash and RAM together."""
        ordered = sorted(
            self.nodes,
            key=lambda node: -(node.constant_b + node.state_b + node.value_b),
        )
        return ordered[:count]


def sizes(network: FixedNetwork, steps: int) -> Sizes:
    """Return the memory of a network with inputs of so many steps."""
    made = tables(network)
    nodes = tuple(_node(network, node) for node in network.nodes)
    return Sizes(
        nodes,
        made.constant_b,
        made.memory_b,
        network.channels * network.input_b * steps,
        8 * network.answers,
    )


def _node(network: FixedNetwork, node: FixedNode) -> NodeSize:
    constants = len(fields(NodeRow))
    for each in fields(node.body):
        numbers = getattr(node.body, each.name)
        if isinstance(numbers, np.ndarray) and each.name != "weight":
            constants += numbers.size
    if isinstance(node.body, Dense | Convolution):
        constants += words(node.body, takes_spikes(network, node)).size
    states = 0
    if isinstance(node.body, Population):
        states = node.outputs * (2 if node.body.synaptic else 1)
    values = node.outputs * (1 + depth(node)) + scratch(network, node)
    return NodeSize(node.name, node.kind, 4 * constants, 4 * states, 2 * values)
