# SPDX-License-Identifier: Apache-2.0
"""The plain form of an integer network: an .npz file that a worker reads with numpy
alone, whatever file the network came from.

The entry `network` is JSON text: tensors, and operators in the order of their run. Each
array of an operator is NUMBER/FIELD.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
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
        operators.append(
            {
                "name": operator.name,
                "inputs": operator.inputs,
                "output": operator.output,
                "kind": type(operator.body).__name__,
                "stated": stated,
            }
        )
    content = {
        "tensors": [dataclasses.asdict(tensor) for tensor in network.tensors],
        "operators": operators,
        "input": network.input,
        "output": network.output,
        "sha256": network.sha256,
    }
    with path.open("wb") as file:
        np.savez(file, network=np.asarray(json.dumps(content)), **arrays)


def read_plain(path: Path) -> IntegerNetwork:
    """Return the network of a file that `write_plain` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        content = json.loads(str(arrays["network"]))
        operators = tuple(
            _operator(number, stated, arrays)
            for number, stated in enumerate(content["operators"])
        )
    tensors = tuple(
        IntegerTensor(**{**tensor, "shape": tuple(tensor["shape"])})
        for tensor in content["tensors"]
    )
    return IntegerNetwork(
        tensors, operators, content["input"], content["output"], content["sha256"]
    )


def _operator(number: int, content: Mapping[str, Any], arrays: Any) -> Operator:
    kind = _BODIES[content["kind"]]
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        name = field.name
        if name not in content["stated"]:
            fields[name] = arrays[f"{number}/{name}"]
            continue
        value = content["stated"][name]
        if name in _PARTS:
            value = _PARTS[name](**value)
        fields[name] = tuple(value) if isinstance(value, list) else value
    body = kind(**fields)
    return Operator(content["name"], tuple(content["inputs"]), content["output"], body)
