# SPDX-License-Identifier: Apache-2.0
"""Tensors and nodes of an ONNX graph in the QDQ form, as those of a .tflite file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rig.network.tflite.file import (
    EXPLICIT,
    FILE_B,
    FileOperator,
    FileTensor,
    Refused,
)
from rig.network.tflite.form import Ints

QUANTISE, REAL = "QuantizeLinear", "DequantizeLinear"
ACTIVATIONS = ("Relu", "Clip")
EXPORT = (
    "onnxruntime.quantization.quantize_static(quant_format=QuantFormat.QDQ,"
    " activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)"
)
APART = "Relu or Clip right after Conv, Gemm, Add or a pool, before QuantizeLinear"
_OF_VALUES, _OF_WEIGHTS = "activation_type", "weight_type"
#: Operators of TFLite that an activation can be part of.
_RECTIFIED = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD"),
    *("AVERAGE_POOL_2D", "MAX_POOL_2D"),
)
_RELU, _RELU6 = 1, 3
_SAME = 0
#: A bias stands for its value x the scales of input and weights.
_BIAS_RTOL = 1e-4
#: A value of uint8 with this added is the int8 that means the same: its zero point, and
#: the ends of its range, move as far.
_FROM_UNSIGNED = -128


@dataclass
class OnnxGraph:
    """A graph under way: `opset` is the version of its operators, `views` are the
    tensors of reals by the int8 tensor that they are, `images` the shapes of images
    whose values a Flatten put in a row.
    """

    onnx: Any
    stated: Any
    opset: int
    tensors: list[FileTensor] = field(default_factory=list)
    operators: list[FileOperator] = field(default_factory=list)
    views: dict[str, int] = field(default_factory=dict)
    images: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.stated
        self.constants = {each.name: self._array(each) for each in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = self._array(node.attribute[0].t)
        self._turned_b = 0
        self.shapes: dict[str, tuple[int, ...]] = {}
        for each in (*graph.value_info, *graph.input, *graph.output):
            axes = each.type.tensor_type.shape.dim
            self.shapes[each.name] = tuple(axis.dim_value for axis in axes)
        self.makers: dict[str, Any] = {}
        self.takers: dict[str, list[Any]] = {}
        for node in graph.node:
            self.makers |= dict.fromkeys(node.output, node)
            for name in node.input:
                self.takers.setdefault(name, []).append(node)

    def _array(self, tensor: Any) -> Any:
        """Return the numbers of a constant; raises Refused where another file has them,
        of which no SHA-256 of the model speaks.
        """
        if self.onnx.external_data_helper.uses_external_data(tensor):
            raise Refused(
                f"its constant {tensor.name[:60]} lies in a file of its own",
                "onnx.save_model(onnx.load(MODEL), FILE, save_as_external_data=False)",
            )
        return self.onnx.numpy_helper.to_array(tensor)

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Return the shape of a tensor, images with their channels last."""
        return self.tensors[tensor].shape

    def add(self, shape: Sequence[int], kind: str, **stated: Any) -> int:
        """Add a tensor; return its number."""
        about: dict[str, Any] = {"name": "", "scales": (), "zero_points": ()}
        about |= {"axis": 0, "data": None}
        about |= stated
        self.tensors.append(
            FileTensor(shape=tuple(shape), kind=kind, dynamic=False, **about)
        )
        return len(self.tensors) - 1

    def quantised(self, real: str, name: str) -> int:
        """Return the tensor of int8 that a tensor of reals becomes, which all that read
        it know by its DequantizeLinear.
        """
        after = self.takers.get(real, [])
        if len(after) != 1 or after[0].op_type != QUANTISE:
            raise Refused(f"{name[:60]} is not quantised to int8", EXPORT)
        scales, points = self.scale_of(after[0], _OF_VALUES)
        if len(scales) != 1:
            raise Refused(f"{name[:60]} has {len(scales)} scales, not one", EXPORT)
        shape = self.shapes.get(real, ())
        if not shape or min(shape) < 1:
            raise Refused(
                f"{name[:60]} has a shape that is not known before a run",
                "a model with fixed shapes",
            )
        shape = (shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape
        stated = {"name": name[:80], "scales": scales, "zero_points": points}
        made = self.add(shape, "INT8", **stated)
        for taker in self.takers.get(after[0].output[0], []):
            if taker.op_type != REAL:
                raise Refused(f"{taker.op_type} reads int8 as it is", EXPORT)
            scale = self.scale_of(taker, _OF_VALUES)
            if scale != (scales, points):
                raise Refused(f"{name[:60]} is read by another scale", EXPORT)
            self.views[taker.output[0]] = made
        return made

    def scale_of(
        self, node: Any, setting: str
    ) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return the scales and zero points of a QuantizeLinear or DequantizeLinear."""
        numbers = [self.constants.get(name) for name in node.input[1:3]]
        if len(numbers) < 2 or numbers[0] is None or numbers[1] is None:
            raise Refused(
                f"{node.op_type} without constant scale and zero point", EXPORT
            )
        known = (np.int8, np.int32) if setting == _OF_WEIGHTS else (np.int8, np.uint8)
        if numbers[1].dtype not in known:
            raise Refused(
                f"values of {numbers[1].dtype}, not of int8",
                f"{setting}=QuantType.QInt8",
            )
        scales = tuple(np.float32(numbers[0]).reshape(-1).tolist())
        points = numbers[1].astype(np.int64)
        if numbers[1].dtype == np.uint8:
            points = points + _FROM_UNSIGNED
        return scales, tuple(points.reshape(-1).tolist())

    def constant(
        self, real: str
    ) -> tuple[Any, tuple[float, ...], tuple[int, ...], int]:
        """Return a quantised constant: numbers, scales, zero points, and their axis."""
        node = self.makers.get(real)
        if node is None or node.op_type != REAL or node.input[0] not in self.constants:
            raise Refused("its weights or biases are no constants of int8", EXPORT)
        scales, points = self.scale_of(node, _OF_WEIGHTS)
        axis = int(self.attributes(node).get("axis", 1))
        return self.constants[node.input[0]], scales, points, axis

    def attributes(self, node: Any) -> dict[str, Any]:
        """Return the attributes of a node by name."""
        value_of = self.onnx.helper.get_attribute_value
        return {each.name: value_of(each) for each in node.attribute}

    def entered(self, node: Any, place: int = 0, *, rows: bool = False) -> int:
        """Return the tensor of int8 that a node reads; `rows`: it may be an image in a
        row.
        """
        view = self.views.get(node.input[place])
        if view is None:
            raise Refused("its input is not of int8", EXPORT)
        if view in self.images and not rows:
            raise Refused(
                "it reads an image whose values a Flatten put in a row",
                "a Flatten that Gemm or MatMul alone read",
            )
        return view

    def put(self, name: str, node: Any, inputs: Sequence[int], **options: float) -> int:
        """Add an operator; an activation after it becomes part of it."""
        real = node.output[0]
        after = self.takers.get(real, [])
        if len(after) == 1 and after[0].op_type in ACTIVATIONS:
            options |= {"FusedActivationFunction": self.activation(after[0])}
            real = after[0].output[0]
            if name not in _RECTIFIED:
                raise Refused(f"{after[0].op_type} behind it", APART)
        output = self.quantised(real, node.name or node.output[0])
        self.operators.append(FileOperator(name, tuple(inputs), (output,), options))
        return output

    def activation(self, node: Any) -> int:
        """Return the number of an activation as TFLite has it."""
        if node.op_type == "Relu":
            return _RELU
        stated = self.attributes(node)
        ends = [stated.get("min"), stated.get("max")]
        for place, name in enumerate(node.input[1:3]):
            if name:
                ends[place] = float(np.asarray(self.constants.get(name, np.nan)))
        if ends[0] == 0 and ends[1] in (6, 6.0):
            return _RELU6
        if ends[0] == 0 and ends[1] in (None, math.inf):
            return _RELU
        raise Refused(f"Clip to {ends} behind it", "Relu, or Clip from 0 to 6")

    def window(self, node: Any, kernel: Sequence[int]) -> dict[str, float]:
        """Return the options of a window; raises Refused where it has no equal."""
        stated = self.attributes(node)
        if len(kernel) != 2:
            raise Refused(f"it is over {len(kernel)} axes", "images of two axes")
        if stated.get("ceil_mode"):
            raise Refused("it rounds the size of its output up", "ceil_mode=0")
        auto = bytes(stated.get("auto_pad", b"NOTSET")).decode()
        pads = [int(each) for each in stated.get("pads", (0, 0, 0, 0))]
        strides = stated.get("strides", (1, 1))
        dilations = stated.get("dilations", (1, 1))
        options = {
            "StrideH": strides[0],
            "StrideW": strides[1],
            "DilationHFactor": dilations[0],
            "DilationWFactor": dilations[1],
        }
        if auto == "SAME_UPPER":
            return options | {"Padding": _SAME}
        if auto not in ("NOTSET", "VALID") or min(pads) < 0:
            raise Refused(f"its padding is {auto} {pads}", "pads of 0 or more")
        names = ("Top", "Left", "Bottom", "Right")
        return options | dict(zip(names, pads, strict=True)) | {"Padding": EXPLICIT}

    def weighted(
        self, node: Any, turned: Callable[[Ints], Ints], axis: int
    ) -> list[int]:
        """Return the tensors of weights and biases of a node; `turned` gives weights
        the order of TFLite's, whose channels are on `axis`.
        """
        numbers, scales, points, weight = self.constant(node.input[1])
        if len(scales) > 1 and weight % numbers.ndim != self.channel_axis(node):
            raise Refused("its weights have scales on another axis", "per_channel=True")
        found = turned(np.asarray(numbers))
        self._turned_b += found.nbytes
        if self._turned_b > FILE_B:
            raise Refused(
                f"its weights, turned for each operator, take more than {FILE_B:,} B",
                "a smaller model",
            )
        stated = {"scales": scales, "zero_points": points, "axis": axis}
        kind = "INT8" if numbers.dtype == np.int8 else str(numbers.dtype).upper()
        made = [self.add(found.shape, kind, data=found, **stated)]
        if len(node.input) > 2 and node.input[2]:
            biases, due, zeros, _ = self.constant(node.input[2])
            source = self.tensors[self.views[node.input[0]]].scales[0]
            expected = np.float64(source) * np.asarray(scales)
            if any(zeros) or not np.allclose(due, expected, rtol=_BIAS_RTOL, atol=0):
                raise Refused("its bias has another scale than input x weights", EXPORT)
            kind = str(biases.dtype).upper()
            made.append(self.add(biases.shape, kind, data=biases))
        return made

    def channel_axis(self, node: Any) -> int:
        """Return the axis of the outputs among the weights of a node."""
        if node.op_type == "Conv":
            return 0
        is_turned = node.op_type == "Gemm" and self.attributes(node).get("transB")
        return 0 if is_turned else 1
