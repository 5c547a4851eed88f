# SPDX-License-Identifier: Apache-2.0
"""Operators with weights: CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from rig.network.tflite.arithmetic import factor
from rig.network.tflite.file import EXPLICIT, FileOperator, FileTensor, Refused
from rig.network.tflite.form import (
    HIGH,
    LOW,
    Depthwise,
    FullyConnected,
    IntegerConvolution,
    IntegerTensor,
    Ints,
    KernelWindow,
)

#: Largest sum of products and a bias.
_SUM_MAX = 2**31 - 1
#: No microcontroller runs larger kernels and strides.
_SIDE_MAX = 1 << 12
#: Values of a padded image, or below all places of a kernel: half a gigabyte when they
#: are computed with.
_BELOW_MAX = 1 << 26
_SAME, _VALID = 0, 1
_ACTIVATIONS = {1: (0.0, math.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}
_OTHER_ACTIVATIONS = {4: "TANH", 5: "SIGN_BIT"}


class Values(Protocol):
    """Tensors of a file, and those that lie between operators."""

    tensors: list[IntegerTensor]

    def stated(self, index: int) -> FileTensor:
        """Return a tensor of the file."""

    def activation(self, index: int) -> int:
        """Return the number of a tensor of int8 values."""


class OperatorReader:
    """Reads the tensors and options of an operator of the file."""

    #: Indices of the tensors that it reads and that no constant gives.
    activations: tuple[int, ...]

    def __init__(self, stated: FileOperator, values: Values) -> None:
        self._values = values
        self._stated = stated
        if not stated.inputs or len(stated.outputs) != 1:
            raise Refused(
                f"it has {len(stated.inputs)} inputs, {len(stated.outputs)} outputs",
                "a whole file",
            )
        self.activations = stated.inputs[:1]
        self.output_index = stated.outputs[0]
        self.input = self.activation(0)
        self.output = values.tensors[values.activation(self.output_index)]

    def activation(self, number: int) -> IntegerTensor:
        """Return the tensor of an input that the network computes."""
        return self._values.tensors[self._values.activation(self._index(number))]

    def constant(self, number: int) -> FileTensor:
        """Return an input that the file holds."""
        stated = self._values.stated(self._index(number))
        if stated.data is None:
            raise Refused(
                f"its input {number} is no constant of int8 or int32",
                "a converted model",
            )
        return stated

    def reads(self, *numbers: int) -> None:
        """Say which inputs the network computes."""
        self.activations = tuple(self._index(number) for number in numbers)

    def has(self, number: int) -> bool:
        """Check whether there is such an input."""
        inputs = self._stated.inputs
        return number < len(inputs) and inputs[number] >= 0

    def option(self, name: str) -> int:
        """Return an option; 0, or False, where the file states none."""
        return int(self._stated.options.get(name, 0))

    def number(self, name: str) -> float:
        """Return an option that is no whole number."""
        return float(self._stated.options.get(name, 0.0))

    def _index(self, number: int) -> int:
        inputs = self._stated.inputs
        if number >= len(inputs):
            raise Refused(f"it has {len(inputs)} inputs", "a whole file")
        return inputs[number]


def convolution(reader: OperatorReader) -> IntegerConvolution:
    """Return a CONV_2D; raises Refused."""
    weights = _weights(reader, 4, 0)
    channels_out, height, width, channels_in = weights.shape
    if image_of(reader.input)[2] != channels_in:
        raise Refused(
            f"it has weights for {channels_in} channels of {image_of(reader.input)[2]}",
            "a convolution without groups",
        )
    window = window_of(reader, height, width)
    _require_shape(reader.output, channels_out)
    low, high = limits(reader)
    return IntegerConvolution(
        window=window, low=low, high=high, **_factors(reader, weights, 0)
    )


def depthwise(reader: OperatorReader) -> Depthwise:
    """Return a DEPTHWISE_CONV_2D; raises Refused."""
    weights = _weights(reader, 4, 3)
    one, height, width, channels_out = weights.shape
    channels_in = image_of(reader.input)[2]
    each = reader.option("DepthMultiplier")
    if one != 1 or each < 1 or channels_in * each != channels_out:
        raise Refused(
            f"it has weights {weights.shape} for {channels_in} channels", "a whole file"
        )
    window = window_of(reader, height, width, each_channel=True)
    _require_shape(reader.output, channels_out)
    low, high = limits(reader)
    made = _factors(reader, weights[0], 2)
    return Depthwise(window=window, each=each, low=low, high=high, **made)


def dense(reader: OperatorReader) -> FullyConnected:
    """Return a FULLY_CONNECTED; raises Refused."""
    if reader.option("WeightsFormat"):
        raise Refused("its weights are shuffled", "weights in the default format")
    weights = _weights(reader, 2, 0)
    outputs, inputs = weights.shape
    rows = reader.input.size // inputs
    if rows * inputs != reader.input.size or reader.output.size != rows * outputs:
        raise Refused(
            f"its weights {weights.shape} do not fit {reader.input.shape} to"
            f" {reader.output.shape}",
            "a whole file",
        )
    low, high = limits(reader)
    return FullyConnected(low=low, high=high, **_factors(reader, weights, 0))


def image_of(tensor: IntegerTensor) -> tuple[int, int, int]:
    """Return height, width and channels of one image; raises Refused for another
    shape.
    """
    if len(tensor.shape) != 4 or tensor.shape[0] != 1:
        raise Refused(
            f"its image has the shape {tensor.shape}",
            "(1, height, width, channels): one sample at a time",
        )
    _, height, width, channels = tensor.shape
    return height, width, channels


def window_of(
    reader: OperatorReader, height: int, width: int, *, each_channel: bool = False
) -> KernelWindow:
    """Return the window of an operator, whose output has the size that it gives;
    `each_channel`: it makes each channel of its output of one of its input.
    """
    rates = [reader.option(f"Dilation{side}Factor") for side in "HW"]
    if any(rate > 1 for rate in rates):
        raise Refused(
            f"its kernel is dilated by {rates[0]} x {rates[1]}",
            "a kernel as large, with zeros between its weights",
        )
    stride_height, stride_width = reader.option("StrideH"), reader.option("StrideW")
    sides = (height, width, stride_height, stride_width)
    if not all(0 < side <= _SIDE_MAX for side in sides):
        raise Refused(f"its kernel and strides are {sides}", "a whole file")
    padding = reader.option("Padding")
    inputs = image_of(reader.input)
    outputs = image_of(reader.output)
    before = []
    padded = []
    for axis, kernel, stride in ((0, height, stride_height), (1, width, stride_width)):
        count = -(-inputs[axis] // stride)
        first = 0
        if padding == EXPLICIT:
            first = reader.option(("Top", "Left")[axis])
            around = first + reader.option(("Bottom", "Right")[axis])
            count = (inputs[axis] + around - kernel) // stride + 1
        elif padding == _VALID:
            count = -(-(inputs[axis] - kernel + 1) // stride)
        known = padding in (_SAME, _VALID, EXPLICIT)
        if not known or count != outputs[axis]:
            raise Refused(
                f"{inputs[axis]} places become {outputs[axis]}, by its window"
                f" {max(count, 0)}",
                "a whole file",
            )
        covered = (count - 1) * stride + kernel
        if padding == _SAME:
            first = max(covered - inputs[axis], 0) // 2
        last = covered - kernel - first
        if not 0 <= first < kernel or last >= inputs[axis]:
            raise Refused(
                f"its kernel of {kernel} places lies in the padding alone at an edge",
                "padding of fewer places than the kernel has",
            )
        before.append(first)
        padded.append(covered)
    channels = max(inputs[2], outputs[2] if each_channel else 0)
    below = outputs[0] * outputs[1] * height * width
    if max(padded[0] * padded[1], below) * channels > _BELOW_MAX:
        raise Refused(
            f"a kernel of {height} x {width} over {reader.input.shape} takes more than"
            f" {_BELOW_MAX:,} values in memory",
            "a smaller model",
        )
    return KernelWindow(
        height=height,
        width=width,
        stride_height=stride_height,
        stride_width=stride_width,
        top=before[0],
        left=before[1],
    )


def limits(reader: OperatorReader) -> tuple[int, int]:
    """Return the least and the largest value of an output after its activation."""
    chosen = reader.option("FusedActivationFunction")
    if not chosen:
        return LOW, HIGH
    if chosen not in _ACTIVATIONS:
        name = _OTHER_ACTIVATIONS.get(chosen, f"number {chosen}")
        raise Refused(
            f"the activation {name} is not supported", "relu, relu6 or none at all"
        )
    least, most = _ACTIVATIONS[chosen]
    low = max(LOW, _quantised(least, reader.output))
    high = HIGH if math.isinf(most) else min(HIGH, _quantised(most, reader.output))
    if low > high:
        raise Refused("its activation lets no value through", "a converted model")
    return low, high


def _quantised(real: float, tensor: IntegerTensor) -> int:
    """Return a real number as a value of a tensor, halves away from zero, by single
    precision.
    """
    with np.errstate(over="ignore"):
        steps = float(np.float32(real) / np.float32(tensor.scale))
    if not abs(steps) < _SUM_MAX:
        raise Refused(
            f"its output has the scale {tensor.scale}, too fine for its activation",
            "a converted model",
        )
    return tensor.zero_point + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def _require_shape(output: IntegerTensor, channels: int) -> None:
    if image_of(output)[2] != channels:
        raise Refused(
            f"it gives {channels} channels, not {output.shape}", "a whole file"
        )


def _weights(reader: OperatorReader, axes: int, axis: int) -> Ints:
    """Return the weights of an operator; raises Refused where they are not symmetric
    int8 with a scale for all or one for each reader of `axis`.
    """
    stated = reader.constant(1)
    weights = stated.data
    if (
        weights is None
        or stated.kind != "INT8"
        or weights.ndim != axes
        or not weights.size
    ):
        raise Refused(
            f"its weights are of {stated.kind} {stated.shape}", "weights of int8"
        )
    if any(stated.zero_points):
        raise Refused("its weights have a zero point", "symmetric weights")
    channels = weights.shape[axis]
    count = len(stated.scales)
    if len(stated.zero_points) != count:
        raise Refused(
            f"its weights have {count} scales and {len(stated.zero_points)} zero"
            " points",
            "a zero point of 0 for each scale",
        )
    if count not in (1, channels) or (count > 1 and stated.axis != axis):
        raise Refused(
            f"its weights have {count} scales for {channels} channels",
            "a scale for each channel, or one",
        )
    if not all(math.isfinite(scale) and scale > 0 for scale in stated.scales):
        raise Refused("a scale of its weights is not above 0", "a whole file")
    return weights


def _biases(reader: OperatorReader, channels: int) -> Ints:
    if not reader.has(2):
        return np.zeros(channels, np.int64)
    stated = reader.constant(2)
    if stated.data is None or stated.kind != "INT32" or stated.data.size != channels:
        raise Refused(
            f"its biases are of {stated.kind} {stated.shape}", "a bias of int32 each"
        )
    return stated.data.reshape(-1).astype(np.int64)


def _factors(reader: OperatorReader, weights: Ints, axis: int) -> dict[str, Any]:
    """Return weights, biases, multipliers and shifts by the names of a body."""
    channels = weights.shape[axis]
    biases = _biases(reader, channels)
    stated = reader.constant(1).scales
    scales = stated if len(stated) > 1 else stated * channels
    # tflite-micro 0.dev20261023 answers so for a fully connected layer with one scale
    # too, whose source forms the product of two scales in single precision.
    reals = [reader.input.scale * scale / reader.output.scale for scale in scales]
    made = [factor(real) for real in reals]
    multipliers = np.array([each.multiplier for each in made], np.int64)
    shifts = np.array([each.shift for each in made], np.int64)
    others = tuple(number for number in range(weights.ndim) if number != axis)
    zero_point = reader.input.zero_point
    largest = max(HIGH - zero_point, zero_point - LOW)
    of_weights = np.abs(weights.astype(np.int64)).sum(axis=others)
    sums = of_weights * largest + np.abs(biases)
    shifted = np.left_shift(sums, np.clip(shifts, 0, 31))
    if shifts.max() > 31 or shifted.max() > _SUM_MAX:
        raise Refused("a sum of its products may leave 32 bits", "a converted model")
    return {
        "weights": weights,
        "biases": biases,
        "multipliers": multipliers,
        "shifts": shifts,
    }
