# SPDX-License-Identifier: Apache-2.0
"""Run an integer network over samples: every byte as tflite-micro's reference kernels
give it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rig.errors import DataError
from rig.network.tflite import arithmetic
from rig.network.tflite.form import (
    Depthwise,
    Factor,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    Ints,
    Keep,
    KernelWindow,
    Mean,
    Operator,
    Pad,
    Pooling,
    Reshape,
    Softmax,
    Sum,
    Weighted,
)
from rig.network.tflite.sizes import work_of

#: Samples that are run together at most, and as this work allows: patches of images
#: take eight bytes for each value of it.
_TOGETHER = 16
_WORK = 1.2e8
#: Rows that are run together.
_ROWS = 256


def run(network: IntegerNetwork, inputs: Ints) -> Ints:
    """Return the outputs (samples, *shape of the output without its batch) of samples
    (samples, *shape of the input without its batch), all int8.
    """
    shape = network.tensors[network.input].shape
    if (
        inputs.dtype != np.int8
        or inputs[:1].size != network.tensors[network.input].size
    ):
        raise DataError(
            f"inputs of {inputs.dtype} {inputs.shape[1:]}",
            evidence=f"the model takes int8 {shape}",
        )
    outputs = []
    count = together(network)
    for start in range(0, len(inputs), count):
        some = inputs[start : start + count].astype(np.int64)
        outputs.append(_run(network, some.reshape(len(some), *shape)))
    result: Ints = np.concatenate(outputs).astype(np.int8)
    return result


def work(network: IntegerNetwork) -> int:
    """Return the products of a sample, the values that its pools read, and those that
    its operators write.
    """
    tensors = network.tensors
    return sum(work_of(each.body, tensors[each.output]) for each in network.operators)


def together(network: IntegerNetwork) -> int:
    """Return how many samples are run together."""
    return max(1, min(_TOGETHER, int(_WORK // max(work(network), 1))))


class RowByRow:
    """A network of rig/network/tflite/rows.py from its beginning on, before which every
    row of its input was `start`; it keeps its state.
    """

    def __init__(self, network: IntegerNetwork, start: int = 0) -> None:
        self._network = network
        self._shape = network.tensors[network.input].shape
        self._kept: dict[int, Ints] = {}
        self._run(np.full((1, *self._shape), start, np.int64))

    def answers(self, rows: Ints) -> Ints:
        """Return the outputs after each of some rows (rows, values of a row)."""
        made = []
        for first in range(0, len(rows), _ROWS):
            part = rows[first : first + _ROWS].astype(np.int64)
            made.append(self._run(part))
        result: Ints = np.concatenate(made).astype(np.int8)
        return result

    def _run(self, rows: Ints) -> Ints:
        return _run(self._network, rows.reshape(-1, *self._shape), self._kept)


def all_values(network: IntegerNetwork, inputs: Ints) -> dict[int, Ints]:
    """Return the values of every tensor that operators write, and the input, by their
    numbers, for samples that are kept in memory together.
    """
    some = inputs.astype(np.int64)
    shape = network.tensors[network.input].shape
    values: dict[int, Ints] = {}
    _run(network, some.reshape(len(some), *shape), all_values=values)
    return values


def _run(
    network: IntegerNetwork,
    inputs: Ints,
    kept: dict[int, Ints] | None = None,
    all_values: dict[int, Ints] | None = None,
) -> Ints:
    values: dict[int, Ints] = {network.input: inputs}
    last: dict[int, int] = {}
    for number, operator in enumerate(network.operators):
        last.update(dict.fromkeys(operator.inputs, number))
    for number, operator in enumerate(network.operators):
        read = [values[tensor] for tensor in operator.inputs]
        if isinstance(operator.body, Keep):
            assert kept is not None
            made = _kept(operator, read[0], kept)
        else:
            made = _BODIES[type(operator.body)](network, operator, read)
        shape = network.tensors[operator.output].shape
        values[operator.output] = made.reshape(len(inputs), *shape)
        if all_values is not None:
            all_values |= values
        for tensor in operator.inputs:
            if last[tensor] == number and tensor != network.output:
                values.pop(tensor, None)
    return values[network.output]


def _kept(operator: Operator, rows: Ints, kept: dict[int, Ints]) -> Ints:
    """Return the last rows of a tensor at each of its `rows`; the first row of all
    stands for those before it.
    """
    assert isinstance(operator.body, Keep)
    count = operator.body.rows
    flat = rows.reshape(len(rows), -1)
    before = kept.get(operator.output)
    if before is None:
        before = np.repeat(flat[:1], count - 1, axis=0)
    known = np.concatenate([before, flat])
    kept[operator.output] = known[len(known) - count + 1 :]
    windows = np.lib.stride_tricks.sliding_window_view(known, count, axis=0)
    result: Ints = np.moveaxis(windows, -1, 1)
    return result


def _scaled(body: Weighted, sums: Ints, zero_point: int) -> Ints:
    result = arithmetic.scaled(sums + body.biases, body.multipliers, body.shifts)
    limited: Ints = np.clip(result + zero_point, body.low, body.high)
    return limited


def patches(images: Ints, window: KernelWindow, outputs: tuple[int, ...]) -> Ints:
    """Return the places of images (samples, height, width, channels) below a kernel:
    (samples, height out, width out, height, width, channels), 0 outside.
    """
    samples, height, width, channels = images.shape
    tall = (outputs[0] - 1) * window.stride_height + window.height
    wide = (outputs[1] - 1) * window.stride_width + window.width
    padded = np.zeros((samples, tall, wide, channels), images.dtype)
    rows = min(height, tall - window.top)
    columns = min(width, wide - window.left)
    inside = images[:, :rows, :columns]
    bottom, right = window.top + rows, window.left + columns
    padded[:, window.top : bottom, window.left : right] = inside
    view = np.lib.stride_tricks.sliding_window_view(
        padded, (window.height, window.width), axis=(1, 2)
    )
    strided = view[:, :: window.stride_height, :: window.stride_width]
    result: Ints = np.moveaxis(strided, 3, 5)
    return result


def _convolution(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, IntegerConvolution)
    source = network.tensors[operator.inputs[0]]
    output = network.tensors[operator.output]
    images = read[0].reshape(-1, *source.shape[1:]) - source.zero_point
    below = patches(images.astype(np.float64), body.window, output.shape[1:3])
    rows = below.reshape(*below.shape[:3], -1)
    weights = body.weights.reshape(len(body.weights), -1).astype(np.float64)
    # Sums below 2^31 are exact in double precision.
    sums = (rows @ weights.T).astype(np.int64)
    return _scaled(body, sums, output.zero_point)


def _depthwise(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Depthwise)
    source = network.tensors[operator.inputs[0]]
    output = network.tensors[operator.output]
    images = read[0].reshape(-1, *source.shape[1:]) - source.zero_point
    repeated = np.repeat(images.astype(np.float64), body.each, axis=3)
    below = patches(repeated, body.window, output.shape[1:3])
    weights = body.weights.astype(np.float64)
    sums = np.einsum("nyxijc,ijc->nyxc", below, weights).astype(np.int64)
    return _scaled(body, sums, output.zero_point)


def _dense(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, FullyConnected)
    source = network.tensors[operator.inputs[0]]
    outputs, inputs = body.weights.shape
    rows = read[0].reshape(len(read[0]), -1, inputs) - source.zero_point
    products = rows.astype(np.float64) @ body.weights.T.astype(np.float64)
    sums = products.astype(np.int64)
    zero_point = network.tensors[operator.output].zero_point
    return _scaled(body, sums.reshape(-1, outputs), zero_point)


def _sum(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Sum)
    parts = []
    sides = zip(operator.inputs, read, (body.first, body.second), strict=True)
    for tensor, values, factor in sides:
        wide = (values - network.tensors[tensor].zero_point) << 20
        parts.append(_times(wide, factor))
    result = _times(parts[0] + parts[1], body.result)
    zero_point = network.tensors[operator.output].zero_point
    limited: Ints = np.clip(result + zero_point, body.low, body.high)
    return limited


def _times(values: Ints, factor: Factor) -> Ints:
    return arithmetic.scaled(values, factor.multiplier, factor.shift)


def _pool(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Pooling)
    source = network.tensors[operator.inputs[0]]
    places = network.tensors[operator.output].shape[1:3]
    images = read[0].reshape(-1, *source.shape[1:])
    inside = patches(np.ones_like(images[:1]), body.window, places) > 0
    below = patches(images, body.window, places)
    if body.largest:
        result = np.where(inside, below, -128).max(axis=(3, 4))
    else:
        counts = inside.sum(axis=(3, 4))
        sums = below.sum(axis=(3, 4))
        result = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)
    limited: Ints = np.clip(result, body.low, body.high)
    return limited


def _mean(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Mean)
    values = read[0].reshape(len(read[0]), body.outer, body.count, body.inner)
    source = network.tensors[operator.inputs[0]]
    sums = (values - source.zero_point).sum(axis=2)
    zero_point = network.tensors[operator.output].zero_point
    limited: Ints = np.clip(_times(sums, body.factor) + zero_point, -128, 127)
    return limited


def _pad(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Pad)
    borders = [(0, 0), *zip(body.before, body.after, strict=True)]
    zero_point = network.tensors[operator.output].zero_point
    result: Ints = np.pad(read[0], borders, constant_values=zero_point)
    return result


def _softmax(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    body = operator.body
    assert isinstance(body, Softmax)
    return arithmetic.softmax(read[0], body.exponentials)


def _reshape(network: IntegerNetwork, operator: Operator, read: list[Any]) -> Ints:
    result: Ints = read[0]
    return result


_BODIES = {
    IntegerConvolution: _convolution,
    Depthwise: _depthwise,
    FullyConnected: _dense,
    Sum: _sum,
    Pooling: _pool,
    Mean: _mean,
    Pad: _pad,
    Softmax: _softmax,
    Reshape: _reshape,
}
