# SPDX-License-Identifier: Apache-2.0
"""The shape that leaves a node, from the one that enters it.

`nir` itself is wrong for kernels that are not square, for groups, and for a stride
beside the padding "same".
"""

from __future__ import annotations

import math
from typing import Any

import nir
import numpy as np

from rig.errors import DataError

Shape = tuple[int, ...]

#: Nodes with states, and those that take each value by itself: any shape that fits
#: theirs.
NEURONS = (nir.I, nir.IF, nir.LI, nir.LIF, nir.CubaLI, nir.CubaLIF)
SPIKING = (nir.IF, nir.LIF, nir.CubaLIF)
#: The parameters of all kinds of nodes.
PARAMETERS = (
    "weight",
    "bias",
    "scale",
    "threshold",
    "delay",
    "tau",
    "tau_syn",
    "tau_mem",
    "r",
    "v_leak",
    "v_threshold",
    "v_reset",
    "w_in",
)
#: A parameter of each node, from which its own shape is known.
_OWN = {
    nir.Scale: "scale",
    nir.Threshold: "threshold",
    nir.Delay: "delay",
    nir.I: "r",
    nir.IF: "r",
    nir.LI: "tau",
    nir.LIF: "tau",
    nir.CubaLI: "tau_mem",
    nir.CubaLIF: "tau_mem",
}


def own_shape(node: Any) -> Shape:
    """Return the shape of a node's parameters; () is one value for every neuron."""
    return np.shape(getattr(node, _OWN[type(node)]))


def entering(node: Any) -> Shape | None:
    """Return the shape that a node asks for by itself; None where several would do."""
    if isinstance(node, nir.Linear | nir.Affine):
        return (int(np.shape(node.weight)[-1]),)
    if isinstance(node, nir.Conv1d | nir.Conv2d):
        return _conv_input(node)
    if isinstance(node, nir.Input | nir.Output):
        declared = (
            node.input_type["input"] if isinstance(node, nir.Input) else _declared(node)
        )
        return None if declared is None else tuple(int(size) for size in declared)
    if type(node) in _OWN and own_shape(node):
        return own_shape(node)
    return None


def leaving(name: str, node: Any, shape: Shape) -> Shape:
    """Return the shape that leaves a node; raises DataError where the one that enters
    does not fit.
    """
    if isinstance(node, nir.Linear | nir.Affine):
        out, shape_in = np.shape(node.weight)
        if shape != (shape_in,):
            raise _misfit(name, node, shape, (shape_in,))
        return (out,)
    if isinstance(node, nir.Conv1d | nir.Conv2d):
        return _conv_output(name, node, shape)
    if isinstance(node, nir.SumPool2d | nir.AvgPool2d):
        return _pool_output(name, node, shape)
    if isinstance(node, nir.Flatten):
        return _flattened(node, shape)
    if type(node) in _OWN and own_shape(node) not in ((), shape):
        raise _misfit(name, node, shape, own_shape(node))
    shape_in = entering(node)
    if shape_in is not None and shape_in != shape:
        raise _misfit(name, node, shape, shape_in)
    return shape


def _declared(node: Any) -> Any:
    return node.output_type["output"]


def _conv_input(node: Any) -> Shape | None:
    channels = int(np.shape(node.weight)[1]) * int(node.groups)
    if node.input_shape is None:
        return None
    sides = (
        (node.input_shape,)
        if np.ndim(node.input_shape) == 0
        else tuple(node.input_shape)
    )
    return (channels, *(int(side) for side in sides))


def _conv_output(name: str, node: Any, shape: Shape) -> Shape:
    weight = np.shape(node.weight)
    axes = len(weight) - 2
    if len(shape) != axes + 1 or shape[0] != weight[1] * int(node.groups):
        shape_in = (weight[1] * int(node.groups), *["any"] * axes)
        raise _misfit(name, node, shape, shape_in)
    if weight[0] % int(node.groups):
        raise DataError(f"{name}: {weight[0]} output channels in {node.groups} groups")
    stated = _conv_input(node)
    if stated not in (None, shape):
        raise _misfit(name, node, shape, stated)
    strides, dilations = pair(node.stride, axes), pair(node.dilation, axes)
    steps = zip(strides, dilations, paddings(node, axes), strict=True)
    sides = []
    for side, kernel, step in zip(shape[1:], weight[2:], steps, strict=True):
        stride, dilation, around = step
        padding = sum(around)
        sides.append(
            _strided(name, side, kernel, stride, dilation=dilation, padding=padding)
        )
    return (weight[0], *sides)


def paddings(node: Any, axes: int) -> list[tuple[int, int]]:
    """Return the padding on both sides of each axis of a convolution."""
    if not isinstance(node.padding, str):
        return [(one, one) for one in pair(node.padding, axes)]
    if node.padding == "valid":
        return [(0, 0)] * axes
    kernels = np.shape(node.weight)[2:]
    pairs = zip(pair(node.dilation, axes), kernels, strict=True)
    totals = [d * (k - 1) for d, k in pairs]
    return [(total // 2, total - total // 2) for total in totals]


def pair(value: Any, axes: int) -> tuple[int, ...]:
    """Return a number for each axis."""
    values = np.broadcast_to(np.asarray(value).reshape(-1), (axes,))
    return tuple(int(one) for one in values)


def _pool_output(name: str, node: Any, shape: Shape) -> Shape:
    if len(shape) != 3:
        raise _misfit(name, node, shape, ("channels", "height", "width"))
    kernels, strides = pair(node.kernel_size, 2), pair(node.stride, 2)
    borders = pair(node.padding, 2)
    sides = []
    for side, kernel, stride, border in zip(
        shape[1:], kernels, strides, borders, strict=True
    ):
        sides.append(_strided(name, side, kernel, stride, 1, padding=2 * border))
    return (shape[0], *sides)


def _strided(
    name: str, side: int, kernel: int, stride: int, dilation: int, padding: int
) -> int:
    length = (
        (side + padding - dilation * (kernel - 1) - 1) // stride + 1
        if stride > 0
        else 0
    )
    if length < 1:
        raise DataError(
            f"{name}: nothing is left of {side} values",
            evidence=(
                f"kernel {kernel}, stride {stride}, dilation {dilation}, padding"
                f" {padding}"
            ),
        )
    return length


def _flattened(node: Any, shape: Shape) -> Shape:
    """Return the shape after Flatten; its axes are those without a batch."""
    first = int(node.start_dim) % len(shape) if shape else 0
    last = int(node.end_dim) % len(shape) if shape else 0
    joined = math.prod(shape[first : last + 1])
    return (*shape[:first], joined, *shape[last + 1 :])


def _misfit(name: str, node: Any, shape: Shape, expected: Any) -> DataError:
    return DataError(
        f"{name}, a {type(node).__name__}, is given another shape than it takes",
        evidence=f"given {shape}, takes {expected}",
        try_next="the node before it, or the shape of the input",
    )
