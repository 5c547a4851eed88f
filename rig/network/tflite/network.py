# SPDX-License-Identifier: Apache-2.0
"""Make an integer network of a model's file, or say which part of it is not supported
and what would do.

Operators without weights: ADD, pools, MEAN, PAD, SOFTMAX, RESHAPE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from rig.errors import DataError
from rig.network.tflite import file, layers, onnx_file
from rig.network.tflite.arithmetic import SUM_BITS, exponentials, factor
from rig.network.tflite.file import FileGraph, FileOperator, FileTensor, Refused
from rig.network.tflite.form import (
    Body,
    Factor,
    IntegerNetwork,
    IntegerTensor,
    Mean,
    Operator,
    Pad,
    Pooling,
    Reshape,
    Softmax,
    Sum,
)
from rig.network.tflite.layers import OperatorReader, image_of, limits, window_of
from rig.network.tflite.sizes import work_of

#: Both inputs of a sum are brought to a unit of 2^-20.
_SUM_SHIFT = 20
#: The scale and the zero point of a softmax's output.
_SHARE = 1 / 256
_SHARE_ZERO = -128
_WHOLE_FILE = "a whole file"


def addition(reader: OperatorReader) -> Sum:
    """Return an ADD; raises Refused."""
    reader.reads(0, 1)
    first, second = reader.activation(0), reader.activation(1)
    if not first.shape == second.shape == reader.output.shape:
        raise Refused(
            f"it adds {first.shape} and {second.shape}", "two tensors of one shape"
        )
    unit = 2 * max(first.scale, second.scale)
    low, high = limits(reader)
    result = factor(unit / ((1 << _SUM_SHIFT) * reader.output.scale))
    if result.shift > 0:
        raise Refused("the scale of its output is too fine", "a converted model")
    return Sum(
        first=factor(first.scale / unit),
        second=factor(second.scale / unit),
        result=result,
        low=low,
        high=high,
    )


def average_pool(reader: OperatorReader) -> Pooling:
    """Return an AVERAGE_POOL_2D; raises Refused."""
    return _pool(reader, largest=False)


def max_pool(reader: OperatorReader) -> Pooling:
    """Return a MAX_POOL_2D; raises Refused."""
    return _pool(reader, largest=True)


def _pool(reader: OperatorReader, *, largest: bool) -> Pooling:
    _require_same_unit(reader)
    if image_of(reader.input)[2] != image_of(reader.output)[2]:
        raise Refused("it changes the number of channels", _WHOLE_FILE)
    height, width = reader.option("FilterHeight"), reader.option("FilterWidth")
    window = window_of(reader, height, width)
    low, high = limits(reader)
    return Pooling(window=window, largest=largest, low=low, high=high)


def mean(reader: OperatorReader) -> Mean:
    """Return a MEAN over neighbouring axes; raises Refused."""
    stated = reader.constant(1)
    shape = reader.input.shape
    if stated.data is None or stated.kind != "INT32" or stated.data.size > len(shape):
        raise Refused("its axes are not known before a run", "constant axes")
    axes = {int(axis) for axis in stated.data.reshape(-1).tolist()}
    if not all(-len(shape) <= axis < len(shape) for axis in axes):
        raise Refused(f"its axes are {sorted(axes)} of {len(shape)}", _WHOLE_FILE)
    # An axis of length 1 may stand on either side.
    reduced = sorted({axis % len(shape) for axis in axes})
    reduced = [axis for axis in reduced if shape[axis] > 1]
    if not reduced:
        reduced = [len(shape)]
    between = shape[reduced[0] : reduced[-1] + 1]
    count = math.prod(shape[axis] for axis in reduced if axis < len(shape))
    if math.prod(between) != count:
        raise Refused(f"its axes {reduced} are no neighbours", "neighbouring axes")
    outer = math.prod(shape[: reduced[0]])
    inner = math.prod(shape[reduced[-1] + 1 :])
    if reader.output.size != outer * inner:
        raise Refused(f"it gives {reader.output.shape}", _WHOLE_FILE)
    return Mean(
        outer=outer, count=count, inner=inner, factor=_mean_factor(reader, count)
    )


def _mean_factor(reader: OperatorReader, count: int) -> Factor:
    """Return the factor of a sum of `count` values, the division in it."""
    ratio = factor(reader.input.scale / reader.output.scale)
    shift = min(count.bit_length() - 1, 32, 31 + ratio.shift)
    factor_of_mean = Factor((ratio.multiplier << shift) // count, ratio.shift - shift)
    if ratio.shift > 8 or (255 * count) << max(factor_of_mean.shift, 0) >= 1 << 31:
        raise Refused("its sums may leave 32 bits", "an output as coarse as the input")
    return factor_of_mean


def pad(reader: OperatorReader) -> Pad:
    """Return a PAD; raises Refused."""
    stated = reader.constant(1)
    shape = reader.input.shape
    if stated.data is None or stated.kind != "INT32":
        raise Refused("its borders are not known before a run", "constant borders")
    if stated.data.shape != (len(shape), 2) or len(shape) > 4:
        raise Refused(f"its borders are {stated.data.shape} of {shape}", _WHOLE_FILE)
    before = tuple(int(border) for border in stated.data[:, 0])
    after = tuple(int(border) for border in stated.data[:, 1])
    places = tuple(map(sum, zip(before, shape, after, strict=True)))
    if min(*before, *after, 0) < 0 or places != reader.output.shape:
        raise Refused(
            f"{shape} becomes {reader.output.shape}, not {places}", _WHOLE_FILE
        )
    _require_same_unit(reader)
    return Pad(before, after)


def softmax(reader: OperatorReader) -> Softmax:
    """Return a SOFTMAX; raises Refused."""
    output = reader.output
    if reader.input.shape != output.shape or not output.shape:
        raise Refused(f"{reader.input.shape} becomes {output.shape}", _WHOLE_FILE)
    if output.scale != _SHARE or output.zero_point != _SHARE_ZERO:
        raise Refused(
            f"its output has the scale {output.scale} about {output.zero_point}",
            "1/256 about -128, as the converter writes",
        )
    if output.shape[-1] >= 1 << SUM_BITS:
        raise Refused(f"it is over {output.shape[-1]} values", "fewer than 4096")
    beta = reader.number("Beta")
    step = beta * reader.input.scale
    if not math.isfinite(step) or step * 2**26 <= 1:
        raise Refused(f"its step is {step}", "beta of 1, as the converter writes")
    return Softmax(exponentials(beta, reader.input.scale))


def reshape(reader: OperatorReader) -> Reshape:
    """Return a RESHAPE; raises Refused."""
    if reader.input.size != reader.output.size:
        raise Refused(
            f"{reader.input.shape} becomes {reader.output.shape}", "as many values"
        )
    if reader.input.zero_point != reader.output.zero_point or not _alike(reader):
        raise Refused("it changes the scale", "a converted model")
    return Reshape()


def _require_same_unit(reader: OperatorReader) -> None:
    if reader.input.zero_point != reader.output.zero_point or not _alike(reader):
        raise Refused(
            "its output has another scale than its input",
            "a converted model: this operator rescales nothing",
        )


def _alike(reader: OperatorReader) -> bool:
    scales: list[IntegerTensor] = [reader.input, reader.output]
    return bool(np.isclose(scales[0].scale, scales[1].scale, rtol=0, atol=1e-6))


TFLITE, ONNX = ".tflite", ".onnx"
#: Suffixes of files that are read here.
SUFFIXES = (TFLITE, ONNX)
#: A larger tensor or network would keep a computer busy, and fits no device.
_VALUES_MAX = 1 << 24
_WORK_MAX = 10**10
_CONVERT = (
    "converter.optimizations = [tf.lite.Optimize.DEFAULT], a representative_dataset,"
    " inference_input_type = inference_output_type = tf.int8"
)
_BORDERS = ("QUANTIZE", "DEQUANTIZE")

_MAKERS: Mapping[str, Callable[[layers.OperatorReader], Body]] = {
    "CONV_2D": layers.convolution,
    "DEPTHWISE_CONV_2D": layers.depthwise,
    "FULLY_CONNECTED": layers.dense,
    "ADD": addition,
    "AVERAGE_POOL_2D": average_pool,
    "MAX_POOL_2D": max_pool,
    "MEAN": mean,
    "PAD": pad,
    "SOFTMAX": softmax,
    "RESHAPE": reshape,
}


def read(path: Path) -> IntegerNetwork:
    """Return the network of a file; raises DataError where it is none, or holds what
    the rig does not run.
    """
    try:
        return of_graph(graph_of(path))
    except Refused as refused:
        raise DataError(
            f"{path.name}: {refused.cause}", try_next=refused.try_next
        ) from refused


def graph_of(path: Path) -> FileGraph:
    """Return the graph of a .tflite file, or of an ONNX file in its form; raises as
    `file.read`.
    """
    return onnx_file.read(path) if path.suffix == ONNX else file.read(path)


def of_graph(graph: FileGraph) -> IntegerNetwork:
    """Return the network of a file's graph; raises Refused."""
    _require_known(graph)
    values = _Values(graph)
    entry = values.activation(_only(graph.inputs, "input"))
    known = {entry}
    operators = []
    work = 0
    for number, stated in enumerate(graph.operators):
        try:
            operator = _operator(values, known, stated)
            work += work_of(operator.body, values.tensors[operator.output])
            if work > _WORK_MAX:
                raise Refused(
                    f"the model takes more than {_WORK_MAX:.0e} products and values",
                    "a model for a microcontroller, which takes a thousandth of it",
                )
        except Refused as refused:
            cause = f"operator {number}, {stated.name}: {refused.cause}"
            raise Refused(cause, refused.try_next) from refused
        known.add(operator.output)
        operators.append(operator)
    last = _only(graph.outputs, "output")
    output = values.numbers.get(last, -1)
    if output not in known or all(isinstance(each.body, Reshape) for each in operators):
        raise Refused("no operator computes its output", "a whole model")
    return IntegerNetwork(
        tensors=tuple(values.tensors),
        operators=tuple(operators),
        input=entry,
        output=output,
        sha256=graph.sha256,
        channels_first=graph.channels_first,
    )


def _require_known(graph: FileGraph) -> None:
    named = {operator.name for operator in graph.operators}
    unknown = sorted(named - set(_MAKERS))
    if not unknown:
        return
    if set(unknown) <= set(_BORDERS):
        raise Refused(
            f"{' and '.join(unknown)} at its border: its input or output is no int8",
            _CONVERT,
        )
    raise Refused(
        f"the operators {', '.join(unknown)} are not supported",
        f"a model of {', '.join(_MAKERS)}",
    )


def _only(indices: tuple[int, ...], side: str) -> int:
    if len(indices) != 1:
        raise Refused(f"it has {len(indices)} tensors as {side}", "a model with one")
    return indices[0]


class _Values:
    """Tensors between operators, numbered as they are met."""

    def __init__(self, graph: FileGraph) -> None:
        self._graph = graph
        self.tensors: list[IntegerTensor] = []
        self.numbers: dict[int, int] = {}

    def stated(self, index: int) -> FileTensor:
        """Return a tensor of the file; raises Refused where there is none."""
        if not 0 <= index < len(self._graph.tensors):
            raise Refused(
                f"it names tensor {index}, which is not there", "a whole file"
            )
        return self._graph.tensors[index]

    def activation(self, index: int) -> int:
        """Return the number of a tensor of int8 values."""
        if index not in self.numbers:
            self.tensors.append(_activation(self.stated(index)))
            self.numbers[index] = len(self.tensors) - 1
        return self.numbers[index]


def _activation(stated: FileTensor) -> IntegerTensor:
    name = stated.name or "a tensor"
    if stated.kind != "INT8":
        raise Refused(f"{name} is of {stated.kind}, not of INT8", _CONVERT)
    if stated.dynamic or not all(stated.shape):
        raise Refused(
            f"{name} has the shape {stated.shape}, which is not known before a run",
            "a model with fixed shapes: tf.function with an input_signature",
        )
    if stated.data is not None:
        raise Refused(
            f"{name} is a constant where values of the network are expected",
            "a model that adds constants as biases of a layer",
        )
    if math.prod(stated.shape) > _VALUES_MAX:
        raise Refused(f"{name} has the shape {stated.shape}", "a smaller model")
    if len(stated.scales) != 1 or len(stated.zero_points) != 1:
        raise Refused(f"{name} has {len(stated.scales)} scales, not one", _CONVERT)
    scale, zero_point = stated.scales[0], stated.zero_points[0]
    if not (math.isfinite(scale) and scale > 0) or not -128 <= zero_point <= 127:
        raise Refused(f"{name} has the scale {scale} about {zero_point}", _CONVERT)
    return IntegerTensor(stated.name, stated.shape, scale, zero_point)


def _operator(values: _Values, known: set[int], stated: FileOperator) -> Operator:
    reader = layers.OperatorReader(stated, values)
    body = _MAKERS[stated.name](reader)
    inputs = tuple(values.activation(index) for index in reader.activations)
    if not set(inputs) <= known:
        raise Refused(
            "it reads values that no operator before it gives", "a file in its order"
        )
    output = values.activation(reader.output_index)
    if output in known:
        raise Refused("it writes values that are there already", "a file in its order")
    return Operator(stated.name, inputs, output, body)
