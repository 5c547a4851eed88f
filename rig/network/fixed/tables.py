# SPDX-License-Identifier: Apache-2.0
"""A network as the tables that the firmware interprets
(firmware/workloads/network/nr_network.h): rows of numbers in the order of its structs.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from itertools import chain

import numpy as np

from rig.network.fixed.form import (
    Above,
    Convolution,
    Delaying,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Pool,
    PoolWindow,
    Population,
    Scaling,
)
from rig.network.fixed.layout import scratch, takes_spikes, words
from rig.network.fixed.memory import Plan, depth, gathers, plan

KINDS = (
    "PASS",
    "DENSE",
    "DENSE_EVENTS",
    "CONVOLUTION",
    "CONVOLUTION_EVENTS",
    "POOL",
    "SCALE",
    "THRESHOLD",
    "DELAY",
    "NEURONS",
    "OUTPUT",
)
Row = tuple[int, ...]


@dataclass(slots=True)
class NodeRow:
    """A node as the firmware has it (nr_network.h), in the order of its struct."""

    kind: int = 0
    edges_at: int = 0
    edges: int = 0
    input_at: int = 0
    inputs: int = 0
    value_at: int = 0
    values: int = 0
    state_at: int = 0
    weight_at: int = 0
    bias_at: int = 0
    up: int = 0
    shift: int = 0
    detail: int = 0
    ring_at: int = 0
    depth: int = 0
    membrane_at: int = 0
    parameter_at: int = 0
    parameter_each: int = 0


@dataclass(slots=True)
class Tables:
    """All numbers of a network for the firmware; `state_count` int32 and `value_count`
    int16 are the memory that it needs.
    """

    nodes: list[Row] = field(default_factory=list)
    edges: list[Row] = field(default_factory=list)
    windows: list[Row] = field(default_factory=list)
    populations: list[Row] = field(default_factory=list)
    inputs: list[Row] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    value_count: int = 0
    state_count: int = 0
    input_b: int = 1

    def put(self, numbers: Ints) -> int:
        """Append numbers, unless the table has them already; return their place."""
        values = numbers.reshape(-1).tolist()
        if len(values) == 1 and values[0] in self.numbers:
            return self.numbers.index(values[0])
        self.numbers += values
        return len(self.numbers) - len(values)

    def parameter(self, numbers: Ints) -> Row:
        """Append a number for each value, or one for all; return its place and which it
        is."""
        return self.put(numbers), int(numbers.size > 1)

    @property
    def constant_b(self) -> int:
        """The bytes of all tables."""
        rows = (self.nodes, self.edges, self.windows, self.populations, self.inputs)
        in_rows = sum(map(len, chain.from_iterable(rows)))
        numbers = (self.outputs, self.numbers, self.weights)
        return 4 * (in_rows + sum(map(len, numbers)))

    @property
    def memory_b(self) -> int:
        """The bytes of states and values."""
        return 4 * self.state_count + 2 * self.value_count


def tables(network: FixedNetwork) -> Tables:
    """Return the tables of a network."""
    made = Tables(input_b=network.input_b)
    places = plan(network)
    made.value_count = places.size
    states = _state_places(network, made)
    taken = [node for node in network.nodes if node.name not in network.inputs]
    for node in taken:
        made.nodes.append(_node(network, node, places, states, made))
    numbers = {node.name: number for number, node in enumerate(taken)}
    made.inputs = [
        (places.outputs[name], network.node(name).outputs) for name in network.inputs
    ]
    made.outputs = [numbers[name] for name in network.outputs]
    return made


def _state_places(network: FixedNetwork, made: Tables) -> dict[str, int]:
    states = {}
    for node in network.nodes:
        states[node.name] = made.state_count
        if isinstance(node.body, Population):
            made.state_count += node.outputs * (2 if node.body.synaptic else 1)
        elif isinstance(node.body, Delaying):
            made.state_count += 1
        elif node.name in network.outputs:
            membrane = network.membranes[network.outputs.index(node.name)]
            made.state_count += node.outputs * (1 if membrane else 2)
    return states


def _node(
    network: FixedNetwork,
    node: FixedNode,
    places: Plan,
    states: dict[str, int],
    made: Tables,
) -> Row:
    row = NodeRow(
        edges_at=len(made.edges),
        input_at=places.inputs[node.name],
        inputs=node.inputs,
        value_at=places.outputs[node.name],
        values=node.outputs,
        state_at=states[node.name],
    )
    if gathers(node):
        row.edges = len(node.edges)
        made.edges += [
            (places.outputs[edge.source], edge.multiplier, edge.shift)
            for edge in node.edges
        ]
    if isinstance(node.body, Dense | Convolution):
        kind = _weighted(network, node, node.body, row, made)
        row.ring_at = places.rings.get(node.name, 0)
    else:
        kind = _details(node, row, places, made)
    if node.name in network.outputs:
        kind = "OUTPUT"
        membrane = network.membranes[network.outputs.index(node.name)]
        row.membrane_at = states[membrane] if membrane else -1
    row.kind = KINDS.index(kind)
    return astuple(row)


def _weighted(
    network: FixedNetwork,
    node: FixedNode,
    body: Dense | Convolution,
    row: NodeRow,
    made: Tables,
) -> str:
    """Fill the row of a node with weights, and add its tables; return its kind."""
    spikes = takes_spikes(network, node)
    row.weight_at = len(made.weights)
    # With the half for rounding; no sum with it leaves 32 bit (checks.py).
    row.bias_at = made.put(body.bias + (1 << body.shift >> 1))
    row.up = body.up
    row.shift = body.shift
    row.detail = len(made.windows)
    row.depth = scratch(network, node)
    made.weights += words(body, spikes).tolist()
    if isinstance(body, Convolution):
        made.windows.append(_window(node, body.window, body.groups))
    kind = "DENSE" if isinstance(body, Dense) else "CONVOLUTION"
    return f"{kind}_EVENTS" if spikes else kind


def _details(node: FixedNode, row: NodeRow, places: Plan, made: Tables) -> str:
    """Add a node's row and its tables; return its kind."""
    body = node.body
    match body:
        case Pool():
            row.shift = body.shift
            row.detail = len(made.windows)
            made.windows.append(_window(node, body.window, 1))
            return "POOL"
        case Scaling():
            row.shift = body.shift
            row.parameter_at, row.parameter_each = made.parameter(body.multiplier)
            return "SCALE"
        case Above():
            row.parameter_at, row.parameter_each = made.parameter(body.threshold)
            return "THRESHOLD"
        case Delaying():
            row.ring_at = places.rings[node.name]
            row.depth = depth(node)
            row.parameter_at, row.parameter_each = made.parameter(body.steps)
            return "DELAY"
        case Population():
            row.shift = body.shift
            row.detail = len(made.populations)
            made.populations.append(_population(body, made))
            return "NEURONS"
    return "PASS"


def _window(node: FixedNode, window: PoolWindow, groups: int) -> Row:
    """Return a row; a line of values is an image of height 1."""
    shape_in = (node.shape_in[0], *(1, *node.shape_in[1:])[-2:])
    shape_out = (node.shape_out[0], *(1, *node.shape_out[1:])[-2:])
    return (
        *shape_in,
        *shape_out,
        *window.kernel,
        *window.stride,
        *window.dilation,
        *window.before,
        groups,
    )


def _population(body: Population, made: Tables) -> Row:
    choices = (
        body.synaptic,
        body.spiking,
        body.together,
        body.last_current,
        body.subtracts,
        body.above,
        body.takes,
    )
    flags = sum(2**bit for bit, chosen in enumerate(choices) if chosen)
    parameters = (
        body.gain,
        -body.keep_current,
        body.couple,
        -body.keep,
        body.leak,
        body.start,
        body.threshold,
        body.reset,
    )
    row = [flags, body.spikes_max, body.gain_shift, body.couple_shift]
    for numbers in parameters:
        row += made.parameter(np.asarray(numbers))
    return tuple(row)
