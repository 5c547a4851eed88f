# SPDX-License-Identifier: Apache-2.0
"""Read .tflite files, which are flatbuffers, by the package `tflite`: tensors and
operators as the file states them.

The package is Python alone and follows offsets of the file; a damaged file can
raise any exception in it. Counts are limited before anything is walked.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.files import foreign_files
from rig.network.tflite.form import Ints

#: A microcontroller's network has a hundredth of it.
FILE_B = 1 << 26
_TENSORS_MAX = 10_000
_AXES_MAX = 6
_NAME_MAX = 80
_IDENTIFIER = b"TFL3"
_KIND = "a .tflite"
#: Padding that options state side by side (Top, Left, Bottom, Right), which no
#: .tflite file has.
EXPLICIT = 2
#: The place of an operator's newer code among the fields of its table.
_NEWER_CODE = 10
_SPOILT = "take the file from its source once more, or convert the model again"
#: Constants of these types are read: int8, int32.
_TYPES: Mapping[int, Any] = {9: np.dtype(np.int8), 2: np.dtype("<i4")}
#: Fields of an operator's options, by the operator's name: the class of the package,
#: and its methods.
_WINDOW = ("Padding", "StrideH", "StrideW", "FusedActivationFunction")
_POOL = ("Pool2DOptions", (*_WINDOW, "FilterHeight", "FilterWidth"))
_DILATION = ("DilationHFactor", "DilationWFactor")
_OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "CONV_2D": ("Conv2DOptions", (*_WINDOW, *_DILATION)),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions",
        (*_WINDOW, *_DILATION, "DepthMultiplier"),
    ),
    "FULLY_CONNECTED": (
        "FullyConnectedOptions",
        ("FusedActivationFunction", "WeightsFormat"),
    ),
    "ADD": ("AddOptions", ("FusedActivationFunction",)),
    "AVERAGE_POOL_2D": _POOL,
    "MAX_POOL_2D": _POOL,
    "MEAN": ("ReducerOptions", ("KeepDims",)),
    "PAD": ("PadOptions", ()),
    "SOFTMAX": ("SoftmaxOptions", ("Beta",)),
    "RESHAPE": ("ReshapeOptions", ()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTensor:
    """A tensor of a file; `data` are a constant's numbers in its shape, None where an
    operator or the user gives them.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    data: Ints | None
    dynamic: bool


@dataclass(frozen=True, slots=True)
class FileOperator:
    """An operator of a file, with the indices of its tensors (-1: none) and its
    options.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FileGraph:
    """The only graph of a file."""

    tensors: tuple[FileTensor, ...]
    operators: tuple[FileOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    sha256: str
    #: Images of the file are (channels, height, width), those of `tensors` are not.
    channels_first: bool = False


class Refused(Exception):
    """A model that the rig does not run, and what would do instead."""

    def __init__(self, cause: str, try_next: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.try_next = try_next


def read(path: Path) -> FileGraph:
    """Return the graph of a file; raises DataError where it is none, and Refused where
    it has several graphs.
    """
    content = content_of(path, _KIND)
    if content[4:8] != _IDENTIFIER:
        raise _not_of(path, _KIND, "it does not begin as one")
    schema = package("tflite", ".tflite")
    try:
        model = schema.Model.GetRootAs(content, 0)
        digest = sha256(content).hexdigest()
        return _graph(schema, model, digest, _Vectors(len(content)))
    except Refused:
        raise
    except struct.error as error:
        evidence = f"offsets lead beyond its {len(content):,} bytes: was it cut off?"
        raise _not_of(path, _KIND, evidence) from error
    except Exception as error:  # an offset that leads anywhere
        raise _not_of(path, _KIND, f"{type(error).__name__}: {error}") from error


def _not_of(path: Path, kind: str, evidence: str) -> DataError:
    return DataError(f"{path} is not {kind} file", evidence=evidence, try_next=_SPOILT)


def content_of(path: Path, kind: str) -> bytes:
    """Return the bytes of a model's file, which is not too large; `kind` is
    "a .tflite", for its errors.
    """
    try:
        with foreign_files.opened(path) as stream:
            content = stream.read(FILE_B + 1)
    except FileNotFoundError as error:
        raise DataError(
            f"{path} does not exist", try_next="the path of a model's file"
        ) from error
    except OSError as error:
        raise _not_of(path, kind, str(error)) from error
    if len(content) > FILE_B:
        raise _not_of(path, kind, f"it has more than {FILE_B:,} bytes")
    return content


def package(name: str, kind: str) -> Any:
    """Return the package that reads files of a kind; DataError where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DataError(
            f"the package {name}, which reads {kind} files, is not installed",
            evidence=str(error),
            try_next=f"pip install 'neurorig[{name}]'",
        ) from error


class _Vectors:
    """Vectors of a file with so many entries at most, all of them together: tables of a
    hostile file may share one vector, which is then read for each of them.
    """

    def __init__(self, entries_max: int) -> None:
        self._left = entries_max

    def numbers(self, vector: Any) -> tuple[Any, ...]:
        """Return the numbers of a vector, which the package gives as 0 where there is
        none.
        """
        if not isinstance(vector, np.ndarray):
            return ()
        self._take(vector.size)
        return tuple(np.atleast_1d(vector).tolist())

    def text(self, stated: bytes | None) -> str:
        """Return the beginning of a text."""
        content = stated or b""
        self._take(len(content))
        return content[:_NAME_MAX].decode("utf-8", "replace")

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError("its vectors have more entries than the file has bytes")


def _graph(package: Any, model: Any, digest: str, vectors: _Vectors) -> FileGraph:
    if model.SubgraphsLength() != 1:
        raise Refused(
            f"it has {model.SubgraphsLength()} subgraphs",
            "a model without control flow: If, While and Call have graphs of their own",
        )
    graph = model.Subgraphs(0)
    codes = _listed(model.OperatorCodesLength, model.OperatorCodes)
    names = [_operator_name(package, code, vectors) for code in codes]
    buffers = _listed(model.BuffersLength, model.Buffers)
    its_tensors = _listed(graph.TensorsLength, graph.Tensors)
    its_operators = _listed(graph.OperatorsLength, graph.Operators)
    tensors = tuple(_tensor(package, each, buffers, vectors) for each in its_tensors)
    operators = tuple(
        _operator(package, each, names, vectors) for each in its_operators
    )
    inputs = vectors.numbers(graph.InputsAsNumpy())
    outputs = vectors.numbers(graph.OutputsAsNumpy())
    return FileGraph(tensors, operators, inputs, outputs, digest)


def _listed(length: Callable[[], int], each: Callable[[int], Any]) -> list[Any]:
    count = length()
    if count > _TENSORS_MAX:
        raise ValueError(f"a list of {count} entries")
    return [each(index) for index in range(count)]


def _name(names: type, value: int) -> str:
    known = {number: name for name, number in vars(names).items() if name.isupper()}
    return known.get(value, f"number {value}")


def _operator_name(package: Any, code: Any, vectors: _Vectors) -> str:
    # The package shows the newer one of two fields above 127 only.
    table = code._tab
    place = table.Offset(_NEWER_CODE)
    flags = importlib.import_module("flatbuffers.number_types").Int32Flags
    newer = table.Get(flags, place + table.Pos) if place else 0
    number = max(code.DeprecatedBuiltinCode(), newer)
    name = _name(package.BuiltinOperator, number)
    if name == "CUSTOM":
        return f"CUSTOM {vectors.text(code.CustomCode())}"
    return name


def _tensor(
    package: Any, tensor: Any, buffers: list[Any], vectors: _Vectors
) -> FileTensor:
    shape = vectors.numbers(tensor.ShapeAsNumpy())
    kind = _name(package.TensorType, tensor.Type())
    if len(shape) > _AXES_MAX or any(size < 0 for size in shape):
        raise ValueError(f"a tensor of the shape {shape[:8]}")
    signature = vectors.numbers(tensor.ShapeSignatureAsNumpy())
    quantization = tensor.Quantization()
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    if quantization is not None:
        scales = vectors.numbers(quantization.ScaleAsNumpy())
        zero_points = vectors.numbers(quantization.ZeroPointAsNumpy())
    return FileTensor(
        name=vectors.text(tensor.Name()),
        shape=shape,
        kind=kind,
        scales=scales,
        zero_points=zero_points,
        axis=0 if quantization is None else quantization.QuantizedDimension(),
        data=_data(buffers[tensor.Buffer()], tensor.Type(), shape),
        dynamic=any(size < 0 for size in signature[1:]),
    )


def _data(buffer: Any, kind: int, shape: tuple[int, ...]) -> Ints | None:
    stored = buffer.DataAsNumpy()
    if not isinstance(stored, np.ndarray) or not stored.size or kind not in _TYPES:
        return None
    numbers: Ints = stored.view(_TYPES[kind]).reshape(shape)
    return numbers


def _operator(
    package: Any, operator: Any, names: list[str], vectors: _Vectors
) -> FileOperator:
    name = names[operator.OpcodeIndex()]
    options: dict[str, float] = {}
    table = operator.BuiltinOptions()
    kind, fields = _OPTIONS.get(name, ("", ()))
    number = getattr(package.BuiltinOptions, kind, 0)
    # Options of another kind are none to tflite-micro.
    if table is not None and number and operator.BuiltinOptionsType() == number:
        stated = getattr(package, kind)()
        stated.Init(table.Bytes, table.Pos)
        options = {field: getattr(stated, field)() for field in fields}
    return FileOperator(
        name,
        vectors.numbers(operator.InputsAsNumpy()),
        vectors.numbers(operator.OutputsAsNumpy()),
        options,
    )
