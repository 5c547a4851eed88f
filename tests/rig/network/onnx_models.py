# SPDX-License-Identifier: Apache-2.0
"""ONNX models in the QDQ form, made of the networks in .tflite files: the same numbers,
with images as (channels, height, width).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from rig.network.tflite import file
from rig.network.tflite.file import FileTensor

_ACTIVATIONS = {1: ("Relu", {}), 3: ("Clip", {"min": 0.0, "max": 6.0})}


class Qdq:
    """A model under way; each tensor of the file has a name of reals, which a pair of
    QuantizeLinear and DequantizeLinear gives. `unsigned`: values are of uint8.
    """

    def __init__(self, path: Path, *, unsigned: bool = False) -> None:
        self.unsigned = unsigned
        self.graph = file.read(path)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.real: dict[int, str] = {}
        entry = self.graph.inputs[0]
        self.entry = helper.make_tensor_value_info(
            "input", TensorProto.FLOAT, self.shape(entry)
        )
        self.quantised("input", entry)
        for number, operator in enumerate(self.graph.operators):
            self.operator(f"op{number}", operator)
        last = self.graph.outputs[0]
        self.end = helper.make_tensor_value_info(
            self.real[last], TensorProto.FLOAT, self.shape(last)
        )

    def content(self, **changes: Any) -> bytes:
        """Return the file."""
        graph = helper.make_graph(
            self.nodes, "g", [self.entry], [self.end], self.constants
        )
        opset = [helper.make_opsetid("", 13)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        return bytes(model.SerializeToString())

    def shape(self, tensor: int) -> list[int]:
        """Return a shape with channels in front."""
        shape = list(self.graph.tensors[tensor].shape)
        return [shape[0], shape[3], *shape[1:3]] if len(shape) == 4 else shape

    def constant(self, name: str, numbers: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name

    def node(self, kind: str, inputs: list[str], name: str, **stated: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **stated))
        return name

    def unit(self, stated: FileTensor, name: str) -> list[str]:
        scale = np.float32(stated.scales[0])
        point: Any = np.int8(stated.zero_points[0])
        if self.unsigned:
            point = np.uint8(stated.zero_points[0] + 128)
        names = (f"{name}_scale", f"{name}_zero")
        return [self.constant(names[0], scale), self.constant(names[1], point)]

    def quantised(self, real: str, tensor: int) -> None:
        unit = self.unit(self.graph.tensors[tensor], real)
        self.node("QuantizeLinear", [real, *unit], f"{real}_q")
        self.real[tensor] = self.node(
            "DequantizeLinear", [f"{real}_q", *unit], f"{real}_r"
        )

    def numbers(self, name: str, stated: FileTensor, turned: Any, axis: int) -> str:
        """Add weights with a scale for each channel."""
        channels = turned.shape[axis]
        scales = np.broadcast_to(np.float32(stated.scales), channels).copy()
        kind = np.int8 if turned.dtype == np.int8 else np.int32
        inputs = [
            self.constant(f"{name}_i", turned),
            self.constant(f"{name}_s", scales),
            self.constant(f"{name}_z", np.zeros(channels, kind)),
        ]
        return self.node("DequantizeLinear", inputs, f"{name}_d", axis=axis)

    def weighted(self, name: str, operator: Any, turned: Any) -> list[str]:
        tensors = self.graph.tensors
        source, stated = (tensors[index] for index in operator.inputs[:2])
        found = [self.numbers(f"{name}_w", stated, turned, 0)]
        if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
            biases = tensors[operator.inputs[2]]
            scales = np.float32(source.scales[0] * np.asarray(stated.scales))
            scales = np.broadcast_to(scales, biases.data.size).copy()
            about = FileTensor(
                name="",
                shape=biases.shape,
                kind="INT32",
                scales=tuple(scales.tolist()),
                zero_points=(),
                axis=0,
                data=None,
                dynamic=False,
            )
            numbers = np.asarray(biases.data, np.int32)
            found.append(self.numbers(f"{name}_b", about, numbers, 0))
        return found

    def pads(self, operator: Any, kernel: tuple[int, int]) -> dict[str, Any]:
        """Return the attributes of a window, its padding on every side."""
        options = operator.options
        strides = (options["StrideH"], options["StrideW"])
        source = self.shape(operator.inputs[0])[2:]
        output = self.shape(operator.outputs[0])[2:]
        before, after = [], []
        for axis in (0, 1):
            tall = (output[axis] - 1) * strides[axis] + kernel[axis]
            missing = 0 if options["Padding"] else max(tall - source[axis], 0)
            before.append(missing // 2)
            after.append(missing - missing // 2)
        return {"strides": strides, "pads": [*before, *after]}

    def operator(self, name: str, operator: Any) -> None:
        read = [self.real[index] for index in operator.inputs if index in self.real]
        tensors = self.graph.tensors
        kind = operator.name
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            weights = tensors[operator.inputs[1]].data
            is_deep = kind.startswith("DEPTH")
            turned = weights.transpose((3, 0, 1, 2) if is_deep else (0, 3, 1, 2))
            stated = self.pads(operator, weights.shape[1:3])
            stated["group"] = self.shape(operator.inputs[0])[1] if is_deep else 1
            made = [*read, *self.weighted(name, operator, turned.copy())]
            real = self.node("Conv", made, name, **stated)
        elif kind == "FULLY_CONNECTED":
            rows = self.rows(operator.inputs[0], tensors[operator.inputs[1]].data)
            made = [*read, *self.weighted(name, operator, rows)]
            real = self.node("Gemm", made, name, transB=1)
        elif kind == "ADD":
            real = self.node("Add", read, name)
        elif kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            options = operator.options
            kernel = (options["FilterHeight"], options["FilterWidth"])
            stated = self.pads(operator, kernel) | {"kernel_shape": kernel}
            pool = "AveragePool" if kind.startswith("AVERAGE") else "MaxPool"
            real = self.node(pool, read, name, **stated)
        elif kind == "MEAN":
            pooled = self.node("GlobalAveragePool", read, f"{name}_p")
            self.quantised(pooled, operator.outputs[0])
            real = self.node("Flatten", [self.real[operator.outputs[0]]], name)
        elif kind == "SOFTMAX":
            real = self.node("Softmax", read, name, axis=-1)
        elif kind == "RESHAPE":
            shape = np.array(self.shape(operator.outputs[0]), np.int64)
            shape = self.constant(f"{name}_shape", shape)
            real = self.node("Reshape", [*read, shape], name)
        else:
            raise ValueError(kind)
        chosen = int(operator.options.get("FusedActivationFunction", 0))
        if chosen:
            activation, ends = _ACTIVATIONS[chosen]
            limits = [
                self.constant(f"{name}_{end}", np.float32(value))
                for end, value in ends.items()
            ]
            real = self.node(activation, [real, *limits], f"{name}_a")
        self.quantised(real, operator.outputs[0])

    def rows(self, tensor: int, weights: Any) -> Any:
        """Return the weights of a layer that reads an image in a row, in its order."""
        for operator in self.graph.operators:
            if operator.outputs[0] == tensor and operator.name == "RESHAPE":
                shape = self.graph.tensors[operator.inputs[0]].shape
                if len(shape) == 4:
                    places = weights.reshape(len(weights), *shape[1:])
                    return places.transpose(0, 3, 1, 2).reshape(len(weights), -1).copy()
        return weights
