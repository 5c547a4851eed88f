# SPDX-License-Identifier: Apache-2.0
"""Networks over images as connections between lines of values: a convolution or a pool
becomes a sparse matrix.

SDKs with populations and projections alone run them so. SciPy holds the matrices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.workers.inside.plain_network import (
    Parameters,
    PlainNetwork,
    PlainNode,
)

CONVOLUTIONS = ("Conv1d", "Conv2d")
POOLS = ("SumPool2d", "AvgPool2d")
#: Nodes that become a connection, or vanish.
UNROLLED = (*CONVOLUTIONS, *POOLS, "Flatten")


def unrolled(network: PlainNetwork) -> PlainNetwork:
    """Return a network of the same values, each in one axis: convolutions and pools as
    Affine with a sparse matrix, without Flatten. ValueError where an edge of a Flatten
    brings values of the step before.
    """
    nodes = {node.name: node for node in network.nodes}
    late: set[str] = set()
    for node in network.nodes:
        late.update(node.late_sources)
    for node in network.nodes:
        if node.type == "Flatten" and (node.late_sources or node.name in late):
            raise ValueError(f"{node.name} is a Flatten in a cycle")

    def fed_by(names: tuple[str, ...]) -> tuple[str, ...]:
        laid_out: list[str] = []
        for name in names:
            flat = nodes[name].type == "Flatten"
            laid_out += fed_by(nodes[name].sources) if flat else [name]
        return tuple(laid_out)

    kept = []
    for node in network.nodes:
        if node.type != "Flatten":
            kept.append(replace(_in_one_axis(node), sources=fed_by(node.sources)))
    return replace(network, nodes=tuple(kept))


def _in_one_axis(node: PlainNode) -> PlainNode:
    lengths = (math.prod(node.shape_in),), (math.prod(node.shape_out),)
    flat = replace(node, shape_in=lengths[0], shape_out=lengths[1])
    if node.type in CONVOLUTIONS or node.type in POOLS:
        bias = np.zeros(node.shape_out)
        if node.parameters.bias is not None:
            channels = np.asarray(node.parameters.bias, np.float64)
            bias += channels.reshape(-1, *[1] * (bias.ndim - 1))
        matrix = Parameters(weight=connections(node), bias=bias.reshape(-1))
        return replace(flat, type="Affine", parameters=matrix)
    if len(node.shape_out) == 1:
        return node
    each = {}
    for name, value in node.parameters.given.items():
        if np.ndim(value) > 0:
            each[name] = np.broadcast_to(value, node.shape_out).reshape(-1)
    return replace(flat, parameters=replace(node.parameters, **each))


def connections(node: PlainNode) -> Any:
    """Return a convolution or pool as a sparse matrix (outputs, inputs), a weight for
    each place of its kernel that lies on the image.
    """
    parameters = node.parameters
    channels, *sides = node.shape_in
    height, width = (1, *sides)[-2:]
    high, wide = (1, *node.shape_out[1:])[-2:]
    if node.type in CONVOLUTIONS:
        weight = np.asarray(parameters.weight, np.float64)
        axes = weight.ndim - 2
        single = (1,) * (2 - axes)
        weight = weight.reshape(*weight.shape[:2], *single, *weight.shape[2:])
        groups = int(np.asarray(parameters.groups))
        dilation = _two(parameters.dilation, axes, 1)
        before = _before(parameters, axes)
    else:
        kernel = _two(parameters.kernel_size, 2, 1)
        area = kernel[0] * kernel[1] if node.type == "AvgPool2d" else 1
        weight = np.full((channels, 1, *kernel), 1.0 / area)
        axes, groups, dilation = 2, channels, (1, 1)
        before = _two(parameters.padding, 2, 0)
    stride = _two(parameters.stride, axes, 1)
    outputs, inputs, tall, broad = weight.shape
    out, channel, row, column, line, place = np.ogrid[
        :outputs, :inputs, :tall, :broad, :high, :wide
    ]
    y = line * stride[0] - before[0] + row * dilation[0]
    x = place * stride[1] - before[1] + column * dilation[1]
    first = out // (outputs // groups) * inputs
    source = ((first + channel) * height + y) * width + x
    target = (out * high + line) * wide + place
    shape = np.broadcast_shapes(source.shape, target.shape)
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    there = np.broadcast_to(inside, shape)
    values = np.broadcast_to(weight[..., None, None], shape)[there]
    pairs = (
        np.broadcast_to(target, shape)[there],
        np.broadcast_to(source, shape)[there],
    )
    size = (math.prod(node.shape_out), math.prod(node.shape_in))
    return import_module("scipy.sparse").csr_matrix((values, pairs), shape=size)


def _two(stated: Any, axes: int, alone: int) -> tuple[int, int]:
    """Return a number for each of two axes; of one axis, `alone` for the other."""
    each = np.broadcast_to(np.asarray(stated).reshape(-1), (axes,))
    pair = (alone,) * (2 - axes) + tuple(int(one) for one in each)
    return pair[0], pair[1]


def _before(parameters: Parameters, axes: int) -> tuple[int, int]:
    """Return the padding above and to the left."""
    padding = np.asarray(parameters.padding)
    if padding.dtype.kind not in "SUO":
        return _two(padding, axes, 0)
    if "valid" in str(padding):
        return 0, 0
    kernel = np.shape(parameters.weight)[2:]
    dilation = _two(parameters.dilation, axes, 1)[2 - axes :]
    around = [d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=True)]
    return _two(around, axes, 0)
