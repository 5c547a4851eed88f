# SPDX-License-Identifier: Apache-2.0
"""Row by row: a network over a window of a signal, from which one that takes the newest
row of the window alone and keeps the rest is derived. Its bytes are the same.

An axis of the window is time, and the window moves by one row from one run to the next.
A convolution or a pool along it that neither pads nor leaves rows out gives rows of
which all but the newest are known from the runs before. It needs as many rows of its
input as its kernel is long, which a Keep before it holds. What takes all rows at once,
such as a fully connected layer, is a kernel as long as the window.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rig.errors import DataError
from rig.network.tflite.form import (
    Body,
    Depthwise,
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
)

_WINDOWED = (IntegerConvolution, Depthwise, Pooling)
_TRY_NEXT = (
    "a model whose kernels move along the window's rows one at a time, without padding"
    " (padding='valid', stride 1); or its whole window at every step"
)


def row_by_row(network: IntegerNetwork) -> IntegerNetwork:
    """Return the network that takes the newest row of the window; raises DataError
    where an operator does not allow it.
    """
    shape = network.tensors[network.input].shape
    rows = next((size for size in shape[1:-1] if size > 1), 1)
    if rows == 1:
        raise DataError(
            f"row by row: the input {shape} has no rows that follow each other",
            try_next="an input (1, rows, ..., channels)",
        )
    derived = _Derived(network)
    derived.enter(rows)
    for number, operator in enumerate(network.operators):
        try:
            derived.add(operator)
        except _Inapt as inapt:
            raise DataError(
                f"row by row: operator {number}, {operator.name}: {inapt}",
                try_next=_TRY_NEXT,
            ) from inapt
    if derived.rows[network.output] != 1:
        raise DataError(
            f"row by row: the output {network.tensors[network.output].shape} has"
            f" {derived.rows[network.output]} rows of time",
            try_next="a model that gives one answer for its window",
        )
    tensors = tuple(derived.tensors)
    operators = tuple(derived.operators)
    output = derived.newest[network.output]
    return replace(
        network,
        tensors=tensors,
        operators=operators,
        input=derived.newest[network.input],
        output=output,
    )


def row_size(network: IntegerNetwork) -> int:
    """Return the values of a row, the input of a network that row_by_row returned."""
    return network.tensors[network.input].size


class _Inapt(Exception):
    """A reason why an operator cannot run row by row."""


@dataclass(slots=True)
class _Derived:
    """The derived network under way: of each tensor of the window's network its rows of
    time, 1 where it has no such axis, and the tensor that holds its newest one.
    """

    network: IntegerNetwork
    tensors: list[IntegerTensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    newest: dict[int, int] = field(default_factory=dict)
    kept: dict[tuple[int, int], int] = field(default_factory=dict)

    def enter(self, rows: int) -> None:
        """Add the newest row of the input."""
        self._name(self.network.input, rows)

    def add(self, operator: Operator) -> None:
        """Add an operator on the newest row, or on the rows that it needs."""
        source = operator.inputs[0]
        before = self.rows[source]
        if any(self.rows[other] != before for other in operator.inputs):
            raise _Inapt("its inputs have different numbers of rows")
        needed, after = self._needs(operator, before)
        body = operator.body if before == 1 else _on_rows(operator.body, before, needed)
        inputs = tuple(self._last(tensor, needed) for tensor in operator.inputs)
        output = self._name(operator.output, after)
        self.operators.append(Operator(operator.name, inputs, output, body))

    def _needs(self, operator: Operator, rows: int) -> tuple[int, int]:
        """Return how many of so many rows of time an operator needs for a row, and how
        many it gives.
        """
        source = self.network.tensors[operator.inputs[0]]
        output = self.network.tensors[operator.output]
        if rows == 1:
            return 1, 1
        body = operator.body
        if isinstance(body, _WINDOWED):
            return _slid(body.window, _axis(source, rows), source, output)
        if isinstance(body, Pad):
            at = _axis(source, rows)
            if body.before[at] or body.after[at]:
                raise _Inapt("it pads the rows")
            return 1, rows
        together = _together(body, source)
        if (source.size // rows) % together == 0:
            return 1, rows
        if source.size == together:
            return rows, 1
        raise _Inapt(f"it takes {together} values together, a row has another size")

    def _last(self, tensor: int, rows: int) -> int:
        """Return the tensor that holds the last rows of another, kept where they are
        more than one.
        """
        newest = self.newest[tensor]
        if rows == 1:
            return newest
        if (tensor, rows) not in self.kept:
            number = self._tensor(tensor, rows)
            self.operators.append(Operator("KEEP", (newest,), number, Keep(rows)))
            self.kept[tensor, rows] = number
        return self.kept[tensor, rows]

    def _name(self, tensor: int, rows: int) -> int:
        """Add the newest row of a tensor with so many rows of time."""
        self.rows[tensor] = rows
        self.newest[tensor] = self._tensor(tensor, 1)
        return self.newest[tensor]

    def _tensor(self, tensor: int, rows: int) -> int:
        stated = self.network.tensors[tensor]
        shape = _with_rows(stated, self.rows[tensor], rows)
        self.tensors.append(replace(stated, shape=shape))
        return len(self.tensors) - 1


def _with_rows(stated: IntegerTensor, rows: int, count: int) -> tuple[int, ...]:
    """Return the shape of a tensor with another number of rows of time."""
    if count == rows:
        return stated.shape
    shape = list(stated.shape)
    try:
        shape[_axis(stated, rows)] = count
    except _Inapt:  # its bytes are rows all the same
        return (1, count * stated.size // rows)
    return tuple(shape)


def _axis(tensor: IntegerTensor, rows: int) -> int:
    """Return the axis of time: the first one that is not of one place."""
    for axis, size in enumerate(tensor.shape[:-1]):
        if size == rows:
            return axis
        if size != 1:
            break
    raise _Inapt(f"the rows are no axis of its input {tensor.shape}")


def _slid(
    window: KernelWindow, axis: int, source: IntegerTensor, output: IntegerTensor
) -> tuple[int, int]:
    """Return the rows that a kernel needs, and the rows that it gives."""
    tall = axis == len(source.shape) - 3
    length = window.height if tall else window.width
    stride = window.stride_height if tall else window.stride_width
    rows, given = source.shape[axis], output.shape[axis]
    if (window.top if tall else window.left) or given * stride + length > rows + stride:
        raise _Inapt("it pads the rows")
    if given == 1 and length == rows:
        return rows, 1
    if stride != 1:
        raise _Inapt(f"it moves by {stride} rows at a time")
    if given != rows - length + 1:
        raise _Inapt("it leaves rows out")
    return length, given


def _together(body: Body, source: IntegerTensor) -> int:
    """Return how many values that follow each other an operator takes together."""
    match body:
        case FullyConnected():
            return int(body.weights.shape[1])
        case Mean():
            return body.count * body.inner
        case Softmax():
            return source.shape[-1]
    return 1


def _on_rows(body: Body, rows: int, needed: int) -> Body:
    """Return an operator for so many of a window's rows."""
    if isinstance(body, Mean) and needed == 1:
        return replace(body, outer=body.outer // rows)
    if isinstance(body, Reshape) and needed != 1:
        raise _Inapt("it takes all rows")
    return body
