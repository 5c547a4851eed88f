# SPDX-License-Identifier: Apache-2.0
"""Nodes without neurons in torch, as functions of one step: connections, convolutions,
pools, delays. Written for the worker: numpy and torch alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from sut_backends.gpu.neurons import KINDS, TorchDevice
from sut_backends.workers.inside.plain_network import Parameters, PlainNode

#: One step of a node: values (batch, *shape in) -> (batch, *shape out).
Stage = Callable[[Any], Any]


def has_state(node: PlainNode) -> bool:
    """Check whether a node's output depends on earlier steps."""
    return node.type in (*KINDS, "Delay")


def stage(board: TorchDevice, node: PlainNode) -> Stage:
    """Build the step of a node without a state; raises ValueError for an unknown
    one."""
    parameters = node.parameters
    match node.type:
        case "Input" | "Output":
            return lambda values: values
        case "Linear" | "Affine":
            weight = board.tensor(parameters.weight).T.contiguous()
            bias = board.tensor(0.0 if parameters.bias is None else parameters.bias)
            return lambda values: values @ weight + bias
        case "Scale":
            scale = board.tensor(parameters.scale)
            return lambda values: values * scale
        case "Threshold":
            threshold = board.tensor(parameters.threshold)
            return lambda values: (values > threshold).to(board.dtype)
        case "Flatten":
            return lambda values: values.reshape(len(values), *node.shape_out)
        case "Conv1d" | "Conv2d":
            return _convolution(board, parameters)
        case "SumPool2d" | "AvgPool2d":
            return _pool(board, parameters, node.type == "AvgPool2d")
    raise ValueError(f"{node.name} is a {node.type}, which this backend does not know")


class Delay:
    """A delay of whole steps, each value its own."""

    def __init__(self, board: TorchDevice, node: PlainNode, dt_s: float) -> None:
        self._board = board
        self._shape = node.shape_in
        delay_s = np.broadcast_to(
            np.asarray(node.parameters.delay, np.float64), self._shape
        )
        steps = np.rint(delay_s / dt_s).astype(np.int64)
        self._depth = int(steps.max(initial=0)) + 1
        self._behind = board.torch.as_tensor(steps, device=board.device)

    def begin(self, batch: int) -> None:
        """Clear the earlier inputs."""
        board = self._board
        shape = (self._depth, batch, *self._shape)
        self._kept = board.torch.zeros(shape, dtype=board.dtype, device=board.device)
        self._at = 0

    def before(self, values: Any) -> Any:
        """Pass inputs on unchanged."""
        return values

    def behind(self, values: Any) -> Any:
        """Pass outputs on unchanged."""
        return values

    def step(self, values: Any) -> Any:
        """Take a step's values, return those of earlier."""
        self._kept[self._at % self._depth] = values
        place = (self._at - self._behind) % self._depth
        self._at += 1
        return self._kept.gather(0, place.expand(1, *values.shape))[0]


def _convolution(board: TorchDevice, parameters: Parameters) -> Stage:
    functional = board.torch.nn.functional
    weight = board.tensor(parameters.weight)
    bias = board.tensor(parameters.bias)
    axes = weight.ndim - 2
    stride = _each(parameters.stride, axes)
    dilation = _each(parameters.dilation, axes)
    groups = int(np.asarray(parameters.groups))
    convolved = functional.conv1d if axes == 1 else functional.conv2d
    around = _around(_paddings(parameters, axes))

    def stepped(values: Any) -> Any:
        padded = functional.pad(values, around)
        return convolved(
            padded, weight, bias, stride=stride, dilation=dilation, groups=groups
        )

    return stepped


def _pool(board: TorchDevice, parameters: Parameters, mean: bool) -> Stage:
    functional = board.torch.nn.functional
    sides = _each(parameters.kernel_size, 2)
    stride = _each(parameters.stride, 2)
    around = _around([(one, one) for one in _each(parameters.padding, 2)])
    over = sides[0] * sides[1] if mean else 1

    def pooled(values: Any) -> Any:
        padded = functional.pad(values, around)
        return functional.avg_pool2d(padded, sides, stride, divisor_override=over)

    return pooled


def _paddings(parameters: Parameters, axes: int) -> list[tuple[int, int]]:
    padding = np.asarray(parameters.padding)
    if padding.dtype.kind not in "SUO":
        return [(one, one) for one in _each(padding, axes)]
    if "valid" in str(padding):
        return [(0, 0)] * axes
    kernels = np.shape(parameters.weight)[2:]
    dilations = _each(parameters.dilation, axes)
    totals = [d * (k - 1) for d, k in zip(dilations, kernels, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _around(paddings: list[tuple[int, int]]) -> list[int]:
    """Flatten paddings in torch's order: the last axis first."""
    return list(chain.from_iterable(reversed(paddings)))


def _each(value: Any, axes: int) -> tuple[int, ...]:
    values = np.broadcast_to(np.asarray(value).reshape(-1), (axes,))
    return tuple(int(one) for one in values)
