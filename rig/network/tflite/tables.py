# SPDX-License-Identifier: Apache-2.0
"""A network as the firmware's tables, firmware/workloads/tflite/nr_tflite.h."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import TypeAlias

from rig.network.tflite.form import (
    HIGH,
    LOW,
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
    Weighted,
)
from rig.network.tflite.kernels import Kernels, patch_of
from rig.network.tflite.sizes import Arena, arena

Row: TypeAlias = tuple[int, ...]

KINDS = (
    "CONVOLUTION",
    "DEPTHWISE",
    "SUM",
    "AVERAGE",
    "LARGEST",
    "MEAN",
    "PAD",
    "SOFTMAX",
    "KEEP",
)
_INPUT = -1


@dataclass(slots=True, kw_only=True)
class OperatorRow:
    """struct nr_tflite_operator; the order of fields is that of the struct."""

    kind: int = 0
    from_at: int = 0
    other_at: int = 0
    to_at: int = 0
    height_in: int = 1
    width_in: int = 1
    channels_in: int = 1
    height_out: int = 1
    width_out: int = 1
    channels_out: int = 1
    kernel_height: int = 1
    kernel_width: int = 1
    stride_height: int = 1
    stride_width: int = 1
    top: int = 0
    left: int = 0
    front: int = 0
    each: int = 1
    zero_from: int = 0
    zero_other: int = 0
    zero_to: int = 0
    low: int = LOW
    high: int = HIGH
    weight_at: int = 0
    number_at: int = 0
    shift_at: int = 0


@dataclass(slots=True)
class IntegerTables:
    """Rows of operators, and the constants that they point into."""

    operators: list[Row] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)
    output_at: int = 0
    output_b: int = 0
    arena_b: int = 0
    patch: int = 0
    input_b: int = 0
    shift_b: int = 1


def tables(
    network: IntegerNetwork, kernels: Kernels = Kernels.PORTABLE
) -> IntegerTables:
    """Return the tables of a network."""
    places = arena(network)
    made = IntegerTables(
        output_at=places.at[network.output],
        output_b=network.tensors[network.output].size,
        arena_b=places.size_b,
        patch=patch_of(network, kernels),
        input_b=network.tensors[network.input].size,
        shift_b=kernels.shift_b,
    )
    for operator in network.operators:
        if not isinstance(operator.body, Reshape):
            made.operators.append(_row(network, places, operator, made))
    return made


def _row(
    network: IntegerNetwork, places: Arena, operator: Operator, made: IntegerTables
) -> Row:
    sources = [network.tensors[number] for number in operator.inputs]
    output = network.tensors[operator.output]
    row = OperatorRow(
        from_at=places.at.get(operator.inputs[0], _INPUT),
        other_at=places.at.get(operator.inputs[-1], _INPUT),
        to_at=places.at[operator.output],
        zero_from=sources[0].zero_point,
        zero_other=sources[-1].zero_point,
        zero_to=output.zero_point,
    )
    body = operator.body
    match body:
        case IntegerConvolution() | Depthwise() | FullyConnected():
            _put_weighted(row, body, sources[0], output)
            _put_factors(row, body, made)
        case Pooling():
            row.kind = KINDS.index("LARGEST" if body.largest else "AVERAGE")
            _put_images(row, sources[0], output)
            _put_window(row, body.window)
            row.low, row.high = body.low, body.high
        case Sum():
            row.kind = KINDS.index("SUM")
            row.channels_in = output.size
            row.low, row.high = body.low, body.high
            _put_numbers(row, made, body.first, body.second, body.result)
        case Mean():
            row.kind = KINDS.index("MEAN")
            row.height_in, row.width_in = body.outer, body.count
            row.channels_in = body.inner
            _put_numbers(row, made, body.factor)
        case Pad():
            row.kind = KINDS.index("PAD")
            _put_images(row, sources[0], output)
            borders = (0, 0, 0, *body.before)[-3:]
            row.top, row.left, row.front = borders
        case Keep():
            row.kind = KINDS.index("KEEP")
            row.height_in, row.channels_in = body.rows, output.size // body.rows
        case Softmax():
            row.kind = KINDS.index("SOFTMAX")
            row.channels_in = output.shape[-1]
            row.height_in = output.size // output.shape[-1]
            row.number_at = len(made.numbers)
            made.numbers += body.exponentials.tolist()
    return astuple(row)


def _put_weighted(
    row: OperatorRow, body: Weighted, source: IntegerTensor, output: IntegerTensor
) -> None:
    row.low, row.high = body.low, body.high
    if isinstance(body, FullyConnected):
        outputs, inputs = body.weights.shape
        row.height_in = row.height_out = output.size // outputs
        row.channels_in, row.channels_out = inputs, outputs
        return
    _put_images(row, source, output)
    _put_window(row, body.window)
    if isinstance(body, Depthwise):
        row.kind, row.each = KINDS.index("DEPTHWISE"), body.each


def _put_images(row: OperatorRow, source: IntegerTensor, output: IntegerTensor) -> None:
    """Put the last three axes of both."""
    row.height_in, row.width_in, row.channels_in = (1, 1, *source.shape)[-3:]
    row.height_out, row.width_out, row.channels_out = (1, 1, *output.shape)[-3:]


def _put_window(row: OperatorRow, window: KernelWindow) -> None:
    row.kernel_height, row.kernel_width = window.height, window.width
    row.stride_height, row.stride_width = window.stride_height, window.stride_width
    row.top, row.left = window.top, window.left


def _put_factors(row: OperatorRow, body: Weighted, made: IntegerTables) -> None:
    row.weight_at = len(made.weights)
    row.number_at = len(made.numbers)
    row.shift_at = len(made.shifts)
    made.weights += body.weights.reshape(-1).tolist()
    made.numbers += [*body.biases.tolist(), *body.multipliers.tolist()]
    made.shifts += body.shifts.tolist()


def _put_numbers(row: OperatorRow, made: IntegerTables, *factors: Factor) -> None:
    row.number_at = len(made.numbers)
    row.shift_at = len(made.shifts)
    made.numbers += [factor.multiplier for factor in factors]
    made.shifts += [factor.shift for factor in factors]
