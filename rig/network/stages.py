# SPDX-License-Identifier: Apache-2.0
"""Nodes without neurons, as functions of one step: connections, convolutions, pools,
delays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nir
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.graph import NodePlace
from rig.network.shapes import NEURONS, paddings, pair

Floats = NDArray[np.float64]
#: Step function of a node: values (batch, *shape in) -> (batch, *shape out).
Stage = Callable[[Floats], Floats]


def stage(place: NodePlace, dt_s: float, batch: int) -> Stage:
    """Return the step function of a node that is no neuron; raises DataError for an
    unknown kind.
    """
    node = place.node
    match node:
        case nir.Input() | nir.Output():
            return lambda values: values
        case nir.Linear():
            return _linear(node, None)
        case nir.Affine():
            return _linear(node, np.asarray(node.bias, np.float64))
        case nir.Scale():
            scale = np.asarray(node.scale, np.float64)
            return lambda values: values * scale
        case nir.Threshold():
            threshold = np.asarray(node.threshold, np.float64)
            return lambda values: (values > threshold).astype(np.float64)
        case nir.Flatten():
            return lambda values: values.reshape(len(values), *place.shape_out)
        case nir.Conv1d() | nir.Conv2d():
            return _convolution(node)
        case nir.SumPool2d():
            return _pool(node, 1.0)
        case nir.AvgPool2d():
            sides = pair(node.kernel_size, 2)
            return _pool(node, 1.0 / (sides[0] * sides[1]))
        case nir.Delay():
            return _delay(place, dt_s, batch)
    raise DataError(
        f"{place.name} is a {type(node).__name__}, which the interpreter does not know",
        try_next="the nodes that rig model inspect lists as known",
    )


def has_state(place: NodePlace) -> bool:
    """Check whether the output of a node depends on earlier steps."""
    return isinstance(place.node, (*NEURONS, nir.Delay))


def _linear(node: Any, bias: Floats | None) -> Stage:
    weight = np.asarray(node.weight, np.float64).T.copy()
    if bias is None or not bool(np.any(bias)):
        return lambda values: values @ weight

    def connected(values: Floats) -> Floats:
        outputs: Floats = values @ weight
        outputs += bias
        return outputs

    return connected


def _convolution(node: Any) -> Stage:
    """Return a convolution as a product with the windows under its kernel."""
    weight = np.asarray(node.weight, np.float64)
    axes = weight.ndim - 2
    groups = int(node.groups)
    strides = pair(node.stride, axes)
    dilations = pair(node.dilation, axes)
    around = [(0, 0), (0, 0), *paddings(node, axes)]
    pairs = zip(dilations, weight.shape[2:], strict=True)
    reach = tuple(d * (k - 1) + 1 for d, k in pairs)
    places = tuple(range(2, 2 + axes))
    by_stride = [slice(None, None, stride) for stride in strides]
    by_dilation = [slice(None, None, dilation) for dilation in dilations]
    pick = (slice(None), slice(None), *by_stride, *by_dilation)
    grouped = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    bias = np.asarray(node.bias, np.float64).reshape(-1, *[1] * axes)
    biased = bool(np.any(bias))
    padded = bool(np.any(around))

    def convolved(values: Floats) -> Floats:
        image = np.pad(values, around) if padded else values
        windows = sliding_window_view(image, reach, axis=places)[pick]
        batch = windows.shape[0]
        sides = windows.shape[2 : 2 + axes]
        # (batch, groups, channels of a group, sides, kernel) -> kernel after its
        # channels.
        split = windows.reshape(batch, groups, -1, *windows.shape[2:])
        split = np.moveaxis(split, 2, 2 + axes)
        # (batch, groups, places, kernel) @ (groups, kernel, outputs)
        outputs = split.reshape(batch, groups, -1, grouped.shape[1]) @ grouped
        summed: Floats = np.moveaxis(outputs, -1, 2).reshape(batch, -1, *sides)
        if biased:
            summed += bias
        return summed

    return convolved


def _pool(node: Any, factor: float) -> Stage:
    sides = pair(node.kernel_size, 2)
    strides = pair(node.stride, 2)
    padding = pair(node.padding, 2)
    around = [(0, 0), (0, 0), *((one, one) for one in padding)]

    def pooled(values: Floats) -> Floats:
        windows = sliding_window_view(np.pad(values, around), sides, axis=(2, 3))
        windows = windows[:, :, :: strides[0], :: strides[1]]
        summed: Floats = windows.sum(axis=(-2, -1))
        return summed * factor

    return pooled


def _delay(place: NodePlace, dt_s: float, batch: int) -> Stage:
    """Return a delay of whole steps, each value its own."""
    delay_s = np.broadcast_to(np.asarray(place.node.delay, np.float64), place.shape_in)
    steps = np.rint(delay_s / dt_s).astype(np.int64)
    depth = int(steps.max(initial=0)) + 1
    kept = np.zeros((depth, batch, *place.shape_in))
    behind = np.broadcast_to(steps, (batch, *place.shape_in))
    others = np.indices((batch, *place.shape_in), sparse=True)
    at = 0

    def delayed(values: Floats) -> Floats:
        nonlocal at
        kept[at % depth] = values
        outputs: Floats = kept[((at - behind) % depth, *others)]
        at += 1
        return outputs

    return delayed
