# SPDX-License-Identifier: Apache-2.0
"""Read ONNX files of int8 in the QDQ form, by the package `onnx`: each operator between
DequantizeLinear and QuantizeLinear becomes the operator of TFLite that is its equal.

Images are (channels, height, width) in such a file and (height, width, channels) in the
network that is made of it: weights, and the order of a Flatten, are turned. Values keep
their scales and zero points, so that the arithmetic is TFLite's, which is not that of
ONNX Runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.network.tflite.file import FileGraph, Refused, content_of, package
from rig.network.tflite.form import Ints
from rig.network.tflite.onnx_graph import (
    ACTIVATIONS,
    APART,
    EXPORT,
    QUANTISE,
    REAL,
    OnnxGraph,
)

_KIND = "an ONNX"
_NODES_MAX = 10_000
#: Steps of a softmax that are taken for 1/256.
_SHARE_RTOL = 0.01
#: From this version of the operators on, a Softmax without an axis is over the last.
_SOFTMAX_OPSET = 13


def read(path: Path) -> FileGraph:
    """Return the graph of a file as one of TFLite's operators; raises DataError where
    it is none, and Refused where an operator has no equal.
    """
    content = content_of(path, _KIND)
    onnx = package("onnx", "ONNX")
    try:
        model = onnx.load_model_from_string(content)
        if len(model.graph.node) > _NODES_MAX:
            raise ValueError(f"{len(model.graph.node)} nodes")
        if not model.graph.node:
            raise ValueError("it has no nodes")
        for entry in model.graph.input:
            axes = entry.type.tensor_type.shape.dim
            if axes and not axes[0].dim_value:
                axes[0].dim_value = 1
        inferred = onnx.shape_inference.infer_shapes(model)
        opsets = [each.version for each in model.opset_import if not each.domain]
        graph = OnnxGraph(onnx, inferred.graph, max(opsets, default=1))
        return _walked(graph, sha256(content).hexdigest())
    except Refused:
        raise
    except Exception as error:  # of a damaged file, and of a library of C++
        raise DataError(
            f"{path} is not an ONNX file that can be read",
            evidence=f"{type(error).__name__}: {error}"[:300],
            try_next="onnx.checker.check_model says more; or export it again",
        ) from error


def _walked(reading: OnnxGraph, digest: str) -> FileGraph:
    """Walk the nodes in their order."""
    known = {each.name for each in reading.stated.initializer}
    entries = [each.name for each in reading.stated.input if each.name not in known]
    if len(entries) != 1 or len(reading.stated.output) != 1:
        raise Refused(
            f"it has {len(entries)} inputs and {len(reading.stated.output)} outputs",
            "a model with one of each",
        )
    entry, end = entries[0], reading.stated.output[0].name
    first = reading.quantised(entry, entry)
    for node in reading.stated.node:
        if node.op_type in _OPERATORS:
            try:
                _OPERATORS[node.op_type](reading, node)
            except Refused as refused:
                name = node.name or node.output[0]
                cause = f"{node.op_type} {name[:60]}: {refused.cause}"
                raise Refused(cause, refused.try_next) from refused
        elif node.op_type in ACTIVATIONS:
            if node.input[0] in reading.views:
                raise Refused(f"{node.op_type} after QuantizeLinear", APART)
        elif node.op_type not in _SILENT:
            raise Refused(
                f"the operator {node.op_type} is not supported",
                f"a model of {', '.join(_OPERATORS)}",
            )
    last = reading.views.get(end)
    if last is None:
        raise Refused(f"its output {end[:60]} is not of int8", EXPORT)
    if last in reading.images:
        raise Refused(
            "its output is an image in a row, whose values have another order here",
            "a model without a Flatten at its end",
        )
    tensors = tuple(reading.tensors)
    return FileGraph(
        tensors,
        tuple(reading.operators),
        (first,),
        (last,),
        digest,
        channels_first=True,
    )


def _convolution(reading: OnnxGraph, node: Any) -> None:
    entered = reading.entered(node)
    shape = reading.shape(entered)
    groups = int(reading.attributes(node).get("group", 1))
    weights = reading.constant(node.input[1])[0]
    if weights.ndim != 4 or len(shape) != 4:
        raise Refused(f"its weights are {weights.shape}", "Conv over images")
    options = reading.window(node, weights.shape[2:])
    if groups == 1:
        made = reading.weighted(node, lambda each: each.transpose(0, 2, 3, 1), 0)
        reading.put("CONV_2D", node, (entered, *made), **options)
        return
    if groups != shape[3] or weights.shape[1] != 1 or len(weights) % groups:
        raise Refused(
            f"it has {groups} groups of {shape[3]} channels",
            "group=1, or a group for each channel",
        )
    made = reading.weighted(node, lambda each: each.transpose(1, 2, 3, 0), 3)
    options |= {"DepthMultiplier": len(weights) // groups}
    reading.put("DEPTHWISE_CONV_2D", node, (entered, *made), **options)


def _dense(reading: OnnxGraph, node: Any) -> None:
    stated = reading.attributes(node)
    entered = reading.entered(node, rows=True)
    scaled = stated.get("alpha", 1) != 1 or stated.get("beta", 1) != 1
    if node.op_type == "Gemm" and (stated.get("transA") or scaled):
        raise Refused("it scales or turns its input", "alpha=1, beta=1, transA=0")
    outputs_first = bool(stated.get("transB"))
    image = reading.images.get(entered)

    def turned(weights: Ints) -> Ints:
        if weights.ndim != 2:
            raise Refused(f"its weights are {weights.shape}", "(outputs, inputs)")
        rows = weights if outputs_first else weights.T
        if image is None:
            return np.ascontiguousarray(rows)
        places = rows.reshape(len(rows), *image).transpose(0, 2, 3, 1)
        return places.reshape(len(rows), -1)

    made = reading.weighted(node, turned, 0)
    reading.put("FULLY_CONNECTED", node, (entered, *made))


def _addition(reading: OnnxGraph, node: Any) -> None:
    if any(name not in reading.views for name in node.input):
        raise Refused("it adds a constant", "a bias of Conv or Gemm instead")
    inputs = [reading.entered(node, place) for place in (0, 1)]
    reading.put("ADD", node, inputs)


def _pool(reading: OnnxGraph, node: Any) -> None:
    stated = reading.attributes(node)
    kernel = stated.get("kernel_shape", ())
    options = reading.window(node, kernel)
    options |= {"FilterHeight": kernel[0], "FilterWidth": kernel[1]}
    is_average = node.op_type == "AveragePool"
    if is_average and stated.get("count_include_pad") and any(stated.get("pads", ())):
        raise Refused("it counts the padding", "count_include_pad=0")
    name = "AVERAGE_POOL_2D" if is_average else "MAX_POOL_2D"
    reading.put(name, node, (reading.entered(node),), **options)


def _mean(reading: OnnxGraph, node: Any) -> None:
    axes = reading.add((2,), "INT32", data=np.array([1, 2], np.int32))
    reading.put("MEAN", node, (reading.entered(node), axes), KeepDims=1)


def _softmax(reading: OnnxGraph, node: Any) -> None:
    entered = reading.entered(node)
    axes = len(reading.shape(entered))
    default = -1 if reading.opset >= _SOFTMAX_OPSET else 1
    axis = int(reading.attributes(node).get("axis", default))
    if axis % axes != axes - 1 or axes == 4:
        raise Refused("it is over another axis than the last", "axis=-1")
    output = reading.put("SOFTMAX", node, (entered,), Beta=1.0)
    made = reading.tensors[output]
    # ONNX Runtime writes 1/255; at the output 1/256 is the same order of values.
    is_last = reading.views.get(reading.stated.output[0].name) == output
    if is_last and abs(made.scales[0] * 256 - 1) < _SHARE_RTOL:
        reading.tensors[output] = replace(made, scales=(1 / 256,))


def _reshape(reading: OnnxGraph, node: Any) -> None:
    entered = reading.entered(node, rows=True)
    before = reading.shape(entered)
    output = reading.put("RESHAPE", node, (entered,))
    after = reading.shape(output)
    if entered in reading.images:
        before = (1,)
    if len(before) == 4 and before[3] > 1 and math.prod(before[1:3]) > 1:
        if math.prod(after[1:]) != after[-1]:
            raise Refused(f"an image {before} becomes {after}", "a Flatten to a row")
        reading.images[output] = (before[3], *before[1:3])
    elif entered in reading.images:
        reading.images[output] = reading.images[entered]
    elif len(after) == 4 and after[3] > 1 and math.prod(after[1:3]) > 1:
        raise Refused(f"{before} becomes an image {after}", "a model of images")


_OPERATORS: Mapping[str, Callable[[OnnxGraph, Any], None]] = {
    "Conv": _convolution,
    "Gemm": _dense,
    "MatMul": _dense,
    "Add": _addition,
    "AveragePool": _pool,
    "MaxPool": _pool,
    "GlobalAveragePool": _mean,
    "Softmax": _softmax,
    "Flatten": _reshape,
    "Reshape": _reshape,
}
#: Nodes that stand for no operator of their own.
_SILENT = (QUANTISE, REAL, "Constant")
