# SPDX-License-Identifier: Apache-2.0
"""Write .tflite files of int8 without TensorFlow: layers with random weights, from a
seed.

python examples/make_tflite.py FOLDER writes the networks of the task `tflite` and their
inputs. Nothing has been trained.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite

from scenarios.tasks.tflite import sounds
from scenarios.tasks.tflite.generate import samples

#: Of the weights of the example, which tell its inputs apart.
SEED = 114
KEYWORDS_SEED = 6
SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)
_KINDS = {"int8": tflite.TensorType.INT8, "<i4": tflite.TensorType.INT32}
_OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "ADD": "AddOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "PAD": "PadOptions",
    "SOFTMAX": "SoftmaxOptions",
    "RESHAPE": "ReshapeOptions",
}


class Layers:
    """A network under way: each method adds an operator that reads tensor `self.last`,
    unless another is named.
    """

    def __init__(
        self, shape: Sequence[int], seed: int, scale: float = 0.05, zero_point: int = -3
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.tensors: list[dict[str, Any]] = []
        self.operators: list[tuple[str, list[int], list[int], dict[str, Any]]] = []
        self.input = self.last = self.tensor(tuple(shape), scale, zero_point)

    def tensor(
        self,
        shape: tuple[int, ...],
        scales: Any = (),
        zero_points: Any = 0,
        data: Any = None,
        axis: int = 0,
    ) -> int:
        """Add a tensor; `data` of a constant decide its type, which else is int8."""
        scales = np.atleast_1d(np.asarray(scales, np.float32))
        points = np.broadcast_to(np.asarray(zero_points, np.int64), scales.shape)
        kind = "int8" if data is None or data.dtype == np.int8 else "<i4"
        about = {"shape": shape, "scales": scales, "points": points, "axis": axis}
        about |= {"kind": _KINDS[kind], "name": f"t{len(self.tensors)}"}
        about["data"] = None if data is None else data.astype(kind).tobytes()
        self.tensors.append(about)
        return len(self.tensors) - 1

    def shape(self, tensor: int | None = None) -> tuple[int, ...]:
        """Return the shape of a tensor, else of the last one."""
        found: tuple[int, ...] = self.tensors[self._or_last(tensor)]["shape"]
        return found

    def unit(self, tensor: int | None = None) -> tuple[float, int]:
        """Return scale and zero point of a tensor, else of the last one."""
        about = self.tensors[self._or_last(tensor)]
        return float(about["scales"][0]), int(about["points"][0])

    def convolution(
        self,
        channels: int,
        kernel: tuple[int, int],
        strides: tuple[int, int] = (1, 1),
        padding: int = SAME,
        activation: int = RELU,
        **how: Any,
    ) -> int:
        """Add a CONV_2D."""
        weights = self._draw((channels, *kernel, self.shape()[3]))
        places = self._places(kernel, strides, padding)
        return self._weighted("CONV_2D", weights, 0, (1, *places, channels), how)(
            Padding=padding,
            StrideH=strides[0],
            StrideW=strides[1],
            FusedActivationFunction=activation,
            DilationHFactor=how.get("dilation", 1),
            DilationWFactor=how.get("dilation", 1),
        )

    def depthwise(
        self,
        kernel: tuple[int, int],
        strides: tuple[int, int] = (1, 1),
        padding: int = SAME,
        activation: int = RELU,
        each: int = 1,
        **how: Any,
    ) -> int:
        """Add a DEPTHWISE_CONV_2D."""
        channels = self.shape()[3] * each
        weights = self._draw((1, *kernel, channels))
        places = self._places(kernel, strides, padding)
        return self._weighted(
            "DEPTHWISE_CONV_2D", weights, 3, (1, *places, channels), how
        )(
            Padding=padding,
            StrideH=strides[0],
            StrideW=strides[1],
            DepthMultiplier=each,
            FusedActivationFunction=activation,
            DilationHFactor=1,
            DilationWFactor=1,
        )

    def dense(self, outputs: int, activation: int = NONE, **how: Any) -> int:
        """Add a FULLY_CONNECTED of rows as long as the last axis."""
        *rows, inputs = self.shape()
        weights = self._draw((outputs, inputs))
        shape = (int(np.prod(rows)), outputs)
        return self._weighted("FULLY_CONNECTED", weights, 0, shape, how)(
            FusedActivationFunction=activation
        )

    def addition(
        self, other: int, scale: float, zero_point: int, activation: int = NONE
    ) -> int:
        """Add an ADD of another tensor."""
        output = self.tensor(self.shape(), scale, zero_point)
        inputs = [self.last, other]
        return self.add("ADD", inputs, output, FusedActivationFunction=activation)

    def pool(
        self,
        name: str,
        kernel: tuple[int, int],
        strides: tuple[int, int],
        padding: int = VALID,
        activation: int = NONE,
    ) -> int:
        """Add an AVERAGE_POOL_2D or a MAX_POOL_2D."""
        places = self._places(kernel, strides, padding)
        output = self.tensor((1, *places, self.shape()[3]), *self.unit())
        return self.add(
            name,
            [self.last],
            output,
            Padding=padding,
            StrideH=strides[0],
            StrideW=strides[1],
            FilterHeight=kernel[0],
            FilterWidth=kernel[1],
            FusedActivationFunction=activation,
        )

    def mean(self, axes: Sequence[int], scale: float, zero_point: int) -> int:
        """Add a MEAN."""
        shape = self.shape()
        reduced = {axis % len(shape) for axis in axes}
        left = tuple(size for axis, size in enumerate(shape) if axis not in reduced)
        constant = self.tensor((len(axes),), data=np.array(axes, np.int32))
        output = self.tensor(left, scale, zero_point)
        return self.add("MEAN", [self.last, constant], output, KeepDims=False)

    def pad(self, borders: Sequence[tuple[int, int]]) -> int:
        """Add a PAD."""
        numbers = np.array(borders, np.int32)
        constant = self.tensor(numbers.shape, data=numbers)
        sides = zip(self.shape(), borders, strict=True)
        shape = tuple(size + sum(border) for size, border in sides)
        output = self.tensor(shape, *self.unit())
        return self.add("PAD", [self.last, constant], output)

    def reshape(self, *shape: int) -> int:
        """Add a RESHAPE."""
        constant = self.tensor((len(shape),), data=np.array(shape, np.int32))
        output = self.tensor(shape, *self.unit())
        return self.add("RESHAPE", [self.last, constant], output)

    def softmax(self, beta: float = 1.0) -> int:
        """Add a SOFTMAX."""
        output = self.tensor(self.shape(), 1 / 256, -128)
        return self.add("SOFTMAX", [self.last], output, Beta=beta)

    def add(self, name: str, inputs: list[int], output: int, **options: Any) -> int:
        """Add an operator; its output is the last tensor from now on."""
        self.operators.append((name, inputs, [output], options))
        self.last = output
        return output

    def _or_last(self, tensor: int | None) -> int:
        return self.last if tensor is None else tensor

    def _draw(self, shape: tuple[int, ...]) -> Any:
        drawn = self.random.normal(0, 45, shape)
        return np.clip(np.rint(drawn), -127, 127).astype(np.int8)

    def _places(
        self, kernel: tuple[int, int], strides: tuple[int, int], padding: int
    ) -> tuple[int, int]:
        sides = [
            size if padding == SAME else size - long + 1
            for size, long in zip(self.shape()[1:3], kernel, strict=True)
        ]
        return -(-sides[0] // strides[0]), -(-sides[1] // strides[1])

    def _weighted(
        self,
        name: str,
        weights: Any,
        axis: int,
        shape: tuple[int, ...],
        how: dict[str, Any],
    ) -> Callable[..., int]:
        """Return what adds a layer whose sums fill about its output's range.

        `how`: `scales` of the weights (drawn), `gain` of the output (1), `zero_point`
        of it (drawn), `bias` (True).
        """
        channels = weights.shape[axis]
        drawn = 0.004 * np.exp(self.random.normal(0, 0.7, channels))
        scales = np.broadcast_to(np.float32(how.get("scales", drawn)), channels)
        if how.get("one_scale"):
            scales = scales[:1]
        constant = self.tensor(weights.shape, scales, 0, weights, axis)
        inputs = [self.last, constant]
        scale_in = self.unit()[0]
        if how.get("bias", True):
            biases = self.random.integers(-9000, 9000, channels).astype(np.int32)
            unit = scale_in * scales
            inputs.append(self.tensor((channels,), unit, 0, biases))
        spread = 45 * 74 * np.sqrt(weights.size / channels)
        scale = scale_in * float(np.median(scales)) * spread / 45 / how.get("gain", 1.0)
        zero_point = how.get("zero_point", int(self.random.integers(-128, 128)))
        output = self.tensor(shape, scale, zero_point)
        return lambda **options: self.add(name, inputs, output, **options)

    def content(self) -> bytes:
        """Return the file: the last tensor is its output."""
        return written(self.tensors, self.operators, [self.input], [self.last])


def written(
    tensors: Sequence[dict[str, Any]],
    operators: Sequence[tuple[str, list[int], list[int], dict[str, Any]]],
    inputs: list[int],
    outputs: list[int],
) -> bytes:
    """Return a .tflite file of tensors and operators."""
    builder = flatbuffers.Builder(1024)
    names = sorted({name for name, *_ in operators})
    stored = [b"", *(about["data"] for about in tensors if about["data"] is not None)]
    buffers = [_buffer(builder, data) for data in stored]
    made = []
    place = 1
    for about in tensors:
        at = 0
        if about["data"] is not None:
            at, place = place, place + 1
        made.append(_tensor(builder, about, at))
    steps = [_operator(builder, each, names) for each in operators]
    ends = [_numbers(builder, np.array(side, np.int32)) for side in (inputs, outputs)]
    lists = [_offsets(builder, made), _offsets(builder, steps)]
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, lists[0])
    tflite.SubGraphAddInputs(builder, ends[0])
    tflite.SubGraphAddOutputs(builder, ends[1])
    tflite.SubGraphAddOperators(builder, lists[1])
    graph = _offsets(builder, [tflite.SubGraphEnd(builder)])
    codes = _offsets(builder, [_code(builder, name) for name in names])
    all_buffers = _offsets(builder, buffers)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graph)
    tflite.ModelAddBuffers(builder, all_buffers)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _numbers(builder: Any, numbers: Any) -> int:
    return int(builder.CreateNumpyVector(np.ascontiguousarray(numbers)))


def _offsets(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _buffer(builder: Any, data: bytes) -> int:
    at = 0
    if data:
        # A constant begins at a multiple of 16.
        builder.StartVector(1, len(data), 16)
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data
        at = builder.EndVector()
    tflite.BufferStart(builder)
    if data:
        tflite.BufferAddData(builder, at)
    return int(tflite.BufferEnd(builder))


def _tensor(builder: Any, about: dict[str, Any], buffer: int) -> int:
    shape = _numbers(builder, np.array(about["shape"], np.int32))
    name = builder.CreateString(about["name"])
    quantisation = 0
    if about["scales"].size:
        scales = _numbers(builder, about["scales"])
        points = _numbers(builder, about["points"])
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, points)
        tflite.QuantizationParametersAddQuantizedDimension(builder, about["axis"])
        quantisation = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, about["kind"])
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    if quantisation:
        tflite.TensorAddQuantization(builder, quantisation)
    return int(tflite.TensorEnd(builder))


def _operator(builder: Any, each: Any, names: list[str]) -> int:
    name, inputs, outputs, options = each
    sides = [_numbers(builder, np.array(side, np.int32)) for side in (inputs, outputs)]
    kind = _OPTIONS.get(name, "")
    table = 0
    if kind:
        getattr(tflite, f"{kind}Start")(builder)
        for field, value in options.items():
            getattr(tflite, f"{kind}Add{field}")(builder, value)
        table = getattr(tflite, f"{kind}End")(builder)
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, names.index(name))
    tflite.OperatorAddInputs(builder, sides[0])
    tflite.OperatorAddOutputs(builder, sides[1])
    if kind:
        number = getattr(tflite.BuiltinOptions, kind)
        tflite.OperatorAddBuiltinOptionsType(builder, number)
        tflite.OperatorAddBuiltinOptions(builder, table)
    return int(tflite.OperatorEnd(builder))


def _code(builder: Any, name: str) -> int:
    number = getattr(tflite.BuiltinOperator, name)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    tflite.OperatorCodeAddVersion(builder, 1)
    return int(tflite.OperatorCodeEnd(builder))


def example() -> Layers:
    """Return the network of the task: an image of 12 x 12 in four classes."""
    net = Layers((1, 12, 12, 1), SEED, scale=0.02, zero_point=-128)
    net.convolution(8, (3, 3), strides=(2, 2), zero_point=-128)
    net.depthwise((3, 3), zero_point=-128)
    before = net.convolution(8, (1, 1), zero_point=-128)
    net.depthwise((3, 3), zero_point=-128)
    net.convolution(8, (1, 1), activation=NONE, zero_point=4)
    net.addition(before, net.unit()[0] * 1.3, -128, RELU)
    net.pool("MAX_POOL_2D", (6, 6), (6, 6))
    net.reshape(1, 8)
    net.dense(4, gain=6.0, zero_point=0)
    net.softmax()
    return net


def keywords() -> Layers:
    """Return a network over the features of a second of sound, in twelve classes."""
    net = Layers((1, 49, 10, 1), KEYWORDS_SEED, scale=0.58, zero_point=83)
    net.convolution(8, (10, 4), strides=(2, 2), zero_point=-128)
    net.depthwise((3, 3), zero_point=-128)
    net.convolution(8, (1, 1), zero_point=-128)
    net.pool("AVERAGE_POOL_2D", (5, 5), (5, 5))
    net.reshape(1, 40)
    net.dense(12, gain=6.0, zero_point=0)
    net.softmax()
    return net


def main(folder: Path) -> None:
    """Write the networks and their inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    net = example()
    (folder / "example.tflite").write_bytes(net.content())
    np.save(folder / "inputs.npy", samples(net.shape(net.input)[1:]))
    (folder / "keywords.tflite").write_bytes(keywords().content())
    np.save(folder / "sounds.npy", sounds.samples())
    print(f"{folder}: example.tflite, inputs.npy, keywords.tflite, sounds.npy")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tflite"))
