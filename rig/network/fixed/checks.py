# SPDX-License-Identifier: Apache-2.0
"""Checks of a network in whole numbers that comes from a file: the firmware uses its
tables without checks, so no entry may lead out of its memory or its 32 bits.
"""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from rig.errors import DataError
from rig.network.fixed.factors import MULTIPLIER_SHIFT_MAX, SHIFT_MAX
from rig.network.fixed.form import (
    KEEP_ONE,
    MULTIPLIER_MAX,
    STATE_MAX,
    VALUE_MAX,
    Above,
    Convolution,
    Delaying,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Pass,
    Pool,
    PoolWindow,
    Population,
    Scaling,
)

_WEIGHT_MAX = 127
_UP_MAX = 8
_SIZE_MAX = 2**24
_SPIKES_MAX = 255
_DELAY_MAX = 2**16
_SIDE_MAX = 2**15


def require_whole(network: FixedNetwork) -> None:
    """Raise DataError where a network is none that the quantiser could have made."""
    order = {node.name: number for number, node in enumerate(network.nodes)}
    _require(len(order) == len(network.nodes), "graph", "two nodes of one name")
    _require(network.input_b in (1, 2), "graph", "inputs of neither 1 nor 2 bytes")
    _require(math.isfinite(network.dt_s) and network.dt_s > 0, "graph", "a time step")
    for name in (*network.inputs, *network.outputs):
        _require(name in order, name, "no such node")
    _require(
        bool(network.inputs and network.outputs), "graph", "no input, or no output"
    )
    _require(
        len(network.membranes) == len(network.outputs),
        "graph",
        "membranes of its outputs",
    )
    most: dict[str, int] = {}
    for node in network.nodes:
        _require_node(network, node, order, most)
    for name, source in zip(network.outputs, network.membranes, strict=True):
        node = network.node(name)
        _require(
            isinstance(node.body, Pass) and bool(node.edges), name, "no output node"
        )
        if source:
            _require(source in order, source, "no such node")
            own = network.node(source)
            fits = isinstance(own.body, Population) and own.outputs == node.outputs
            _require(fits, name, f"membranes of {source}")


def largest(network: FixedNetwork, node: FixedNode) -> int:
    """Return the largest absolute value that can leave a node."""
    if node.name in network.inputs:
        return network.input_max + (network.input_b == 2)
    if isinstance(node.body, Population) and node.body.spiking:
        return node.body.spikes_max
    return 1 if isinstance(node.body, Above) else VALUE_MAX + 1


def _require(holds: bool, node: str, what: str) -> None:
    if not holds:
        raise DataError(f"{node[:80]}: {what} cannot be right in whole numbers")


def _require_node(
    network: FixedNetwork, node: FixedNode, order: dict[str, int], most: dict[str, int]
) -> None:
    for shape in (node.shape_in, node.shape_out):
        sides = (
            all(0 < side <= _SIZE_MAX for side in shape)
            and math.prod(shape) <= _SIZE_MAX
        )
        _require(sides, node.name, f"the shape {shape}")
    for scale in (node.scale_in, node.scale, node.state_scale, node.weight_scale):
        _require(math.isfinite(scale) and scale >= 0, node.name, f"the scale {scale}")
    given = node.name in network.inputs
    _require(given is not bool(node.edges), node.name, "its edges")
    entering = 0
    for edge in node.edges:
        _require(edge.source in order, node.name, f"the source {edge.source[:40]}")
        later = order[edge.source] >= order[node.name]
        _require(later is edge.late, node.name, f"the order of {edge.source}")
        fits = network.node(edge.source).outputs == node.inputs
        _require(fits, node.name, f"the size of {edge.source}")
        number = abs(edge.multiplier) <= MULTIPLIER_MAX
        _require(
            number and 0 <= edge.shift <= MULTIPLIER_SHIFT_MAX, node.name, "an edge"
        )
        entering = VALUE_MAX + 1
        if len(node.edges) == 1 and edge.plain:
            entering = most.get(edge.source, VALUE_MAX + 1)
    _require_body(node, entering)
    passed = isinstance(node.body, Pass | Delaying) and not given
    most[node.name] = entering if passed else largest(network, node)


def _require_body(node: FixedNode, entering: int) -> None:
    body = node.body
    same = node.inputs == node.outputs
    match body:
        case Dense():
            _require(
                body.weight.shape == (node.outputs, node.inputs),
                node.name,
                "its weights",
            )
            _require_sums(node, body, entering)
        case Convolution():
            kernel = body.weight.shape
            groups = (
                body.groups > 0 and len(kernel) == 4 and len(node.shape_in) in (2, 3)
            )
            _require(groups, node.name, "its weights")
            channels = (kernel[0], kernel[1] * body.groups)
            fits = channels == (node.shape_out[0], node.shape_in[0])
            fits &= (
                kernel[0] % body.groups == 0 and tuple(kernel[2:]) == body.window.kernel
            )
            _require(fits, node.name, "its weights")
            _require_window(node, body.window)
            _require_sums(node, body, entering)
        case Pool():
            fits = len(node.shape_in) == 3 and node.shape_in[0] == node.shape_out[0]
            _require(fits, node.name, "its channels")
            _require_window(node, body.window)
            # A sum of 2^15 for each place of the kernel, and what rounds it.
            _require(math.prod(body.window.kernel) < 2**14, node.name, "its kernel")
            _require(0 <= body.shift <= 28, node.name, "its shift")
        case Scaling():
            _require(
                same and 0 <= body.shift <= MULTIPLIER_SHIFT_MAX, node.name, "its shift"
            )
            _require_numbers(node, body.multiplier, MULTIPLIER_MAX)
        case Above():
            _require(same, node.name, "its size")
            _require_numbers(node, body.threshold, STATE_MAX)
        case Delaying():
            _require(same and bool(np.all(body.steps >= 0)), node.name, "its steps")
            _require_numbers(node, body.steps, _DELAY_MAX)
        case Population():
            _require(same, node.name, "its size")
            _require_population(node, body)
        case _:
            _require(same, node.name, "its size")


def _require_sums(node: FixedNode, body: Dense | Convolution, entering: int) -> None:
    """Raise where a sum of products could leave 32 bit."""
    rows = np.abs(body.weight).reshape(len(body.weight), -1)
    _require(bool(np.all(rows <= _WEIGHT_MAX)), node.name, "its weights")
    _require(body.bias.shape == (len(rows),), node.name, "its bias")
    shifts = 0 <= body.up <= _UP_MAX and 0 <= body.shift <= MULTIPLIER_SHIFT_MAX
    _require(shifts, node.name, "its shifts")
    half = (1 << body.shift) >> 1
    bias = np.clip(np.abs(body.bias), 0, 2**40)
    sums = rows.sum(axis=1) * entering * 2**body.up + bias + half
    _require(int(sums.max(initial=0)) <= STATE_MAX, node.name, "a sum beyond 32 bit")


def _require_window(node: FixedNode, window: PoolWindow) -> None:
    sides_in = (1, *node.shape_in[1:])[-2:]
    sides_out = (1, *node.shape_out[1:])[-2:]
    for axis, (side_in, side_out) in enumerate(zip(sides_in, sides_out, strict=True)):
        positive = (window.kernel[axis], window.stride[axis], window.dilation[axis])
        around = (window.before[axis], window.behind[axis])
        fits = all(0 < one <= _SIDE_MAX for one in positive)
        fits &= all(0 <= one <= _SIDE_MAX for one in around)
        _require(fits, node.name, "its window")
        reach = positive[2] * (positive[0] - 1) + 1
        places = (side_in + sum(around) - reach) // positive[1] + 1
        _require(places == side_out, node.name, "its window")


def _require_population(node: FixedNode, body: Population) -> None:
    for each in fields(body):
        numbers = getattr(body, each.name)
        if isinstance(numbers, np.ndarray):
            keeps = each.name.startswith("keep")
            _require_numbers(node, numbers, KEEP_ONE if keeps else STATE_MAX)
            _require(not keeps or bool(np.all(numbers >= 0)), node.name, each.name)
    for shift in (body.gain_shift, body.couple_shift, body.shift):
        _require(0 <= shift <= SHIFT_MAX, node.name, "a shift")
    _require(0 < body.spikes_max <= _SPIKES_MAX, node.name, "spikes_max")
    several = body.spikes_max > 1
    firm = body.subtracts and bool(np.all(body.threshold > 0))
    apart = not (body.takes and body.subtracts)
    _require(apart, node.name, "two resets")
    _require(not several or firm, node.name, "several spikes a step")


def _require_numbers(node: FixedNode, numbers: Ints, most: int) -> None:
    fits = numbers.ndim == 1 and numbers.size in (1, node.inputs)
    _require(fits and bool(np.all(np.abs(numbers) <= most)), node.name, "a number")
