# SPDX-License-Identifier: Apache-2.0
"""Nodes without neurons in the integer model, as functions of one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rig.network.fixed.arithmetic import Saturation
from rig.network.fixed.form import (
    Above,
    Convolution,
    Delaying,
    Dense,
    FixedNode,
    Ints,
    Pass,
    Pool,
    PoolWindow,
    Scaling,
)

#: Step function of a node: values (batch, *shape in) -> (batch, *shape out).
Stage = Callable[[Ints], Ints]


def stage(node: FixedNode, batch: int, saturation: Saturation) -> Stage:
    """Return the step function of a node without neurons."""
    body = node.body
    match body:
        case Pass():
            return lambda values: values.reshape(len(values), *node.shape_out)
        case Dense():
            return lambda values: _multiplied(node, body, values, saturation)
        case Convolution():
            return lambda values: _convolved(node, body, values, saturation)
        case Pool():
            return lambda values: _pooled(node, body, values, saturation)
        case Scaling():
            factors = _each(node, body.multiplier)
            return lambda values: saturation.value(
                node.name, values * factors, body.shift
            )
        case Above():
            threshold = _each(node, body.threshold)
            return lambda values: (values > threshold).astype(np.int64)
        case Delaying():
            return _delay(node, body, batch)
    raise TypeError(f"{node.name} has neurons")


def _multiplied(
    node: FixedNode, body: Dense, values: Ints, saturation: Saturation
) -> Ints:
    total = (_product(values, body.weight.T) << body.up) + body.bias
    return saturation.value(node.name, total, body.shift)


def _pooled(node: FixedNode, body: Pool, values: Ints, saturation: Saturation) -> Ints:
    total = np.sum(_pieces(node, body.window, values), axis=0)
    return saturation.value(node.name, total, body.shift)


def _each(node: FixedNode, numbers: Ints) -> Ints:
    return numbers if numbers.size == 1 else numbers.reshape(node.shape_in)


def _product(values: Ints, weight: Ints) -> Ints:
    """Return a product of matrices; below 2^53 floating point is exact, and much
    quicker."""
    product: Ints = (values.astype(np.float64) @ weight.astype(np.float64)).astype(
        np.int64
    )
    return product


def _pieces(node: FixedNode, window: PoolWindow, values: Ints) -> list[Ints]:
    """Return what each place of the kernel sees, row by row: (batch, channels, height,
    width) of the output.
    """
    channels = node.shape_in[0]
    sides = (1, *node.shape_in[1:])[-2:]
    image = values.reshape(len(values), channels, *sides)
    (above, left), (below, right) = window.before, window.behind
    borders = ((0, 0), (0, 0), (above, below), (left, right))
    padded = np.pad(image, borders)
    height, width = (1, *node.shape_out[1:])[-2:]
    pieces = []
    for row in range(window.kernel[0]):
        top = row * window.dilation[0]
        for column in range(window.kernel[1]):
            first = column * window.dilation[1]
            rows = slice(
                top, top + (height - 1) * window.stride[0] + 1, window.stride[0]
            )
            columns = slice(
                first, first + (width - 1) * window.stride[1] + 1, window.stride[1]
            )
            pieces.append(padded[:, :, rows, columns])
    return pieces


def _convolved(
    node: FixedNode, body: Convolution, values: Ints, saturation: Saturation
) -> Ints:
    pieces = _pieces(node, body.window, values)
    batch, _, height, width = pieces[0].shape
    outputs = len(body.weight) // body.groups
    inputs = body.weight.shape[1]
    total = np.zeros((batch, len(body.weight), height, width), np.int64)
    kernels = body.weight.reshape(*body.weight.shape[:2], -1)
    for group in range(body.groups):
        mine = slice(group * outputs, (group + 1) * outputs)
        channels = slice(group * inputs, (group + 1) * inputs)
        for number, piece in enumerate(pieces):
            seen = np.moveaxis(piece[:, channels], 1, -1)
            products = _product(seen, kernels[mine, :, number].T)
            total[:, mine] += np.moveaxis(products, -1, 1)
    total = (total << body.up) + body.bias[:, None, None]
    return saturation.value(node.name, total, body.shift).reshape(
        batch, *node.shape_out
    )


def _delay(node: FixedNode, body: Delaying, batch: int) -> Stage:
    """Return a delay that keeps all its inputs; values before the first step are 0."""
    steps = np.broadcast_to(_each(node, body.steps), node.shape_in)
    kept: list[Ints] = []

    def delayed(values: Ints) -> Ints:
        kept.append(values)
        delayed_values = np.zeros_like(values)
        for behind in np.unique(steps):
            if behind < len(kept):
                delayed_values = np.where(
                    steps == behind, kept[-1 - int(behind)], delayed_values
                )
        del kept[: -int(steps.max(initial=0)) - 1]
        return delayed_values

    return delayed
