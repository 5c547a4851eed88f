# SPDX-License-Identifier: Apache-2.0
"""The plain form of an integer network: an .npz file that a worker reads with numpy
alone.

The entry `network` is JSON text: tensors, and operators in the order of their run. Each
array of an operator is NUMBER/FIELD.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.network.tflite.form import (
    Depthwise,
    Factor,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    IntegerTensor,
    Keep,
    KernelWindow,
    Mean,
    Operator,
    Pad,
    Pooling,
    Reshape,
    Softmax,
    Sum,
)

_ENTRY = "network"
_BODIES = {
    kind.__name__: kind
    for kind in (
        IntegerConvolution,
        Depthwise,
        FullyConnected,
        Sum,
        Pooling,
        Mean,
        Pad,
        Softmax,
        Reshape,
        Keep,
    )
}
#: Fields of a body that have fields of their own.
_PARTS: Mapping[str, Any] = {
    "window": KernelWindow,
    "first": Factor,
    "second": Factor,
    "result": Factor,
    "factor": Factor,
}


@dataclass(frozen=True)
class _OperatorEntry:
    """An operator as the file's text has it: of its body the kind, and all but the
    arrays.
    """

    name: str
    inputs: Sequence[int]
    output: int
    kind: str
    stated: Mapping[str, Any]

    def operator(self, number: int, arrays: Any) -> Operator:
        """Return the operator, its constants those of the file's arrays."""
        kind = _BODIES[self.kind]
        fields: dict[str, Any] = {}
        for field in dataclasses.fields(kind):
            name = field.name
            if name in self.stated:
                value = self.stated[name]
                value = _PARTS[name](**value) if name in _PARTS else value
                fields[name] = tuple(value) if isinstance(value, list) else value
            else:
                fields[name] = arrays[f"{number}/{name}"]
        return Operator(self.name, tuple(self.inputs), self.output, kind(**fields))


@dataclass(frozen=True)
class _NetworkEntry:
    """A network as the file's text has it."""

    tensors: Sequence[Mapping[str, Any]]
    operators: Sequence[Mapping[str, Any]]
    input: int
    output: int
    sha256: str


def write_plain(network: IntegerNetwork, path: Path) -> None:
    """Write a network."""
    arrays: dict[str, Any] = {}
    operators = []
    for number, operator in enumerate(network.operators):
        stated: dict[str, Any] = {}
        for field in dataclasses.fields(operator.body):
            value = getattr(operator.body, field.name)
            if isinstance(value, np.ndarray):
                arrays[f"{number}/{field.name}"] = value
            elif dataclasses.is_dataclass(value) and not isinstance(value, type):
                stated[field.name] = dataclasses.asdict(value)
            else:
                stated[field.name] = value
        entry = _OperatorEntry(
            name=operator.name,
            inputs=operator.inputs,
            output=operator.output,
            kind=type(operator.body).__name__,
            stated=stated,
        )
        operators.append(dataclasses.asdict(entry))
    content = _NetworkEntry(
        tensors=[dataclasses.asdict(tensor) for tensor in network.tensors],
        operators=operators,
        input=network.input,
        output=network.output,
        sha256=network.sha256,
    )
    text = json.dumps(dataclasses.asdict(content))
    with path.open("wb") as file:
        np.savez(file, network=np.asarray(text), **arrays)


def read_plain(path: Path) -> IntegerNetwork:
    """Return the network of a file that `write_plain` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        entry = _NetworkEntry(**json.loads(str(arrays[_ENTRY])))
        operators = tuple(
            _OperatorEntry(**stated).operator(number, arrays)
            for number, stated in enumerate(entry.operators)
        )
    tensors = []
    for stated in entry.tensors:
        tensor = IntegerTensor(**stated)
        tensors.append(dataclasses.replace(tensor, shape=tuple(tensor.shape)))
    return IntegerNetwork(
        tuple(tensors), operators, entry.input, entry.output, entry.sha256
    )
