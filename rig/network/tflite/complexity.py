# SPDX-License-Identifier: Apache-2.0
"""The complexity of an integer network, counted from its run: footprint, sparsities and
synaptic operations, as NeuroBench's algorithm track defines them
(docs/reference/MODELS.md defines a zero).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.network.complexity_text import Complexity
from rig.network.tflite import interpreter
from rig.network.tflite.form import (
    Depthwise,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    Ints,
    Operator,
    Sum,
    Weighted,
)

_WEIGHTED = (IntegerConvolution, Depthwise, FullyConnected)
#: Bytes of a bias, as a file stores it.
_BIAS_B = 4


@dataclass(slots=True)
class _Counts:
    """Sums over the samples so far."""

    activations: int = 0
    silent: int = 0
    operations: int = 0


def count(network: IntegerNetwork, inputs: Ints) -> Complexity:
    """Run a network over samples (samples, *shape) of int8 and count; raises DataError
    where there are none.
    """
    if not len(inputs):
        raise DataError("no inputs: there is nothing to count")
    layers = [each for each in network.operators if isinstance(each.body, _WEIGHTED)]
    counts = _Counts()
    some = interpreter.together(network)
    for first in range(0, len(inputs), some):
        values = interpreter.all_values(network, inputs[first : first + some])
        _count_activations(network, values, counts)
        for layer in layers:
            tensor = layer.inputs[0]
            entered = values[tensor] != network.tensors[tensor].zero_point
            counts.operations += _operations(network, layer, entered, every=False)
    dense = 0
    for layer in layers:
        shape = network.tensors[layer.inputs[0]].shape
        dense += _operations(network, layer, np.ones((1, *shape), bool), every=True)
    weights = [_weights(layer) for layer in layers]
    biases = sum(_body(layer).biases.size for layer in layers)
    total = sum(each.size for each in weights)
    zeros = total - sum(int(np.count_nonzero(each)) for each in weights)
    return Complexity(
        samples=len(inputs),
        steps=1,
        parameters_b=total + _BIAS_B * biases,
        states_b=0,
        connection_sparsity=zeros / total if total else 0.0,
        activation_sparsity=(
            counts.silent / counts.activations if counts.activations else 0.0
        ),
        dense=dense,
        effective_macs=counts.operations / len(inputs),
        effective_acs=0.0,
        execution_rate_hz=None,
    )


def _count_activations(
    network: IntegerNetwork, values: dict[int, Ints], counts: _Counts
) -> None:
    """Add the values of rectified operators, and the zeros among them."""
    for operator in network.operators:
        body = operator.body
        zero_point = network.tensors[operator.output].zero_point
        if isinstance(body, (*_WEIGHTED, Sum)) and body.low == zero_point:
            made = values[operator.output]
            counts.activations += made.size
            counts.silent += int(np.count_nonzero(made == zero_point))


def _operations(
    network: IntegerNetwork, layer: Operator, entered: Ints, *, every: bool
) -> int:
    """Return the operations of a layer's weights that are not zero, or of `every` one,
    with inputs that are not zero: `entered` (samples, *shape).
    """
    body = _body(layer)
    source = network.tensors[layer.inputs[0]]
    weights = np.ones_like(body.weights) if every else body.weights != 0
    if isinstance(body, FullyConnected):
        rows = entered.reshape(-1, body.weights.shape[1])
        fan_out = weights.sum(axis=0, dtype=np.int64)
        return int((rows.sum(axis=0) * fan_out).sum())
    images = entered.reshape(-1, *source.shape[1:]).astype(np.int64)
    if isinstance(body, Depthwise):
        images = np.repeat(images, body.each, axis=3)
        fan_out = weights.astype(np.int64)
    else:
        fan_out = weights.sum(axis=0, dtype=np.int64)
    places = network.tensors[layer.output].shape[1:3]
    below = interpreter.patches(images, body.window, places)
    return int((below.sum(axis=(0, 1, 2)) * fan_out).sum())


def _body(layer: Operator) -> Weighted:
    assert isinstance(layer.body, _WEIGHTED)
    return layer.body


def _weights(layer: Operator) -> Any:
    return _body(layer).weights
