# SPDX-License-Identifier: Apache-2.0
"""Faults and doubts of a .tflite or ONNX file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rig.network.checks import ModelFinding
from rig.network.tflite import network
from rig.network.tflite.file import Refused
from rig.network.tflite.form import (
    Depthwise,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    Operator,
)
from rig.units import plural


def findings(path: Path) -> list[ModelFinding]:
    """List faults and doubts; raises DataError where a file is none."""
    try:
        read = network.of_graph(network.graph_of(path))
    except Refused as refused:
        return [ModelFinding(True, path.name, refused.cause, refused.try_next)]
    return [*_doubtful(read)]


def _doubtful(read: IntegerNetwork) -> Iterator[ModelFinding]:
    output = read.tensors[read.output]
    if read.channels_first and sum(size > 1 for size in output.shape[1:]) > 1:
        what = "an image, whose values are (height, width, channels) here"
        yield ModelFinding(False, f"output {output.name}", what)
    for number, operator in enumerate(read.operators):
        for what in _of_operator(read, operator):
            yield ModelFinding(False, f"operator {number}, {operator.name}", what)


def _of_operator(read: IntegerNetwork, operator: Operator) -> Iterator[str]:
    body = operator.body
    if not isinstance(body, IntegerConvolution | Depthwise | FullyConnected):
        return
    zero_point = read.tensors[operator.output].zero_point
    if dead := int(np.count_nonzero(body.multipliers == 0)):
        verb, pronoun = ("has", "it gives") if dead == 1 else ("have", "they give")
        yield (
            f"{dead} of {plural(body.multipliers.size, 'channel')} {verb} a factor"
            f" below 2^-32, so that {pronoun}"
            f" {np.clip(zero_point, body.low, body.high)} for any input"
        )
    if body.low == body.high:
        yield f"its activation lets one value through, {body.low}"
