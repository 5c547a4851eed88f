# SPDX-License-Identifier: Apache-2.0
"""An integer network: tensors of int8 between operators, each with the multipliers and
shifts that its arithmetic needs and no scale.

A real number is `multiplier` / 2^31 x 2^`shift`; results are limited to `low` and
`high`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

Ints: TypeAlias = NDArray[Any]

LOW, HIGH = -128, 127


@dataclass(frozen=True, slots=True)
class IntegerTensor:
    """Values of int8 between operators; a value stands for (value - zero_point) x
    scale.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int

    @property
    def size(self) -> int:
        """Return the number of values, which is that of its bytes."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Factor:
    """A positive real number in whole numbers."""

    multiplier: int
    shift: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelWindow:
    """A kernel that moves over an image; `top` and `left` are rows and columns of
    padding before it.
    """

    height: int
    width: int
    stride_height: int = 1
    stride_width: int = 1
    top: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerConvolution:
    """CONV_2D: weights (channels out, height, width, channels in)."""

    window: KernelWindow
    weights: Ints
    biases: Ints
    multipliers: Ints
    shifts: Ints
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Depthwise:
    """DEPTHWISE_CONV_2D: weights (height, width, channels out); output channel c reads
    input channel c // `each`.
    """

    window: KernelWindow
    each: int
    weights: Ints
    biases: Ints
    multipliers: Ints
    shifts: Ints
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FullyConnected:
    """FULLY_CONNECTED: weights (outputs, inputs), for each row of the input."""

    weights: Ints
    biases: Ints
    multipliers: Ints
    shifts: Ints
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """ADD of two tensors of one shape, each brought to a unit of 2^-20."""

    first: Factor
    second: Factor
    result: Factor
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling:
    """AVERAGE_POOL_2D or MAX_POOL_2D over what of a window lies in the image."""

    window: KernelWindow
    largest: bool
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """MEAN over the middle one of three axes, (outer, count, inner)."""

    outer: int
    count: int
    inner: int
    factor: Factor


@dataclass(frozen=True, slots=True)
class Pad:
    """PAD with the zero point: places before and after on each axis."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Softmax:
    """SOFTMAX over the last axis: `exponentials` of minus 0 to 255 steps of the input,
    in units of 2^-31.
    """

    exponentials: Ints


@dataclass(frozen=True, slots=True)
class Reshape:
    """RESHAPE: the same bytes in another shape."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The last `rows` rows of a tensor that comes row by row (rows.py): the only
    operator with a state.
    """

    rows: int


Weighted: TypeAlias = IntegerConvolution | Depthwise | FullyConnected
Body: TypeAlias = Weighted | Sum | Pooling | Mean | Pad | Softmax | Reshape | Keep


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator by its name in the file, the tensors that it reads, and the one that
    it writes.
    """

    name: str
    inputs: tuple[int, ...]
    output: int
    body: Body


@dataclass(frozen=True, slots=True)
class IntegerNetwork:
    """Operators in the order of their run; `sha256` is that of the file."""

    tensors: tuple[IntegerTensor, ...]
    operators: tuple[Operator, ...]
    input: int
    output: int
    sha256: str
    #: Images of the file are (channels, height, width), those of `tensors` (height,
    #: width, channels).
    channels_first: bool = False

    @property
    def identity(self) -> str:
        """Return the network's name in a device's report."""
        return f"tflite-{self.sha256[:8]}"


def weights_of(body: Body) -> Ints | None:
    """Return the weights of an operator; None where it has none."""
    if isinstance(body, IntegerConvolution | Depthwise | FullyConnected):
        return body.weights
    return None
