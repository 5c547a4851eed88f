# SPDX-License-Identifier: Apache-2.0
"""Make an integer network of a model's file, or say which part of it is not supported
and what would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from rig.errors import DataError
from rig.network.tflite import file, layers, onnx_file, others
from rig.network.tflite.file import FileGraph, FileOperator, FileTensor, Refused
from rig.network.tflite.form import (
    Body,
    IntegerNetwork,
    IntegerTensor,
    Operator,
    Reshape,
)
from rig.network.tflite.sizes import work_of

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
    "ADD": others.addition,
    "AVERAGE_POOL_2D": others.average_pool,
    "MAX_POOL_2D": others.max_pool,
    "MEAN": others.mean,
    "PAD": others.pad,
    "SOFTMAX": others.softmax,
    "RESHAPE": others.reshape,
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
    return onnx_file.read(path) if suffix_of(path) == ONNX else file.read(path)


def suffix_of(path: Path) -> str:
    """Return the suffix of a file's name, one of SUFFIXES in any case; empty for other
    names.
    """
    suffix = path.suffix.lower()
    return suffix if suffix in SUFFIXES else ""


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
