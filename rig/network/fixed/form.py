# SPDX-License-Identifier: Apache-2.0
"""A network in whole numbers: every number that its arithmetic needs
(docs/reference/FIXED_POINT.md).

A number times the scale of its node is the number of the NIR file, nearly. The firmware
has no floating point; the scales serve readers of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.network.shapes import Shape

Ints = NDArray[np.int64]

VALUE_MAX = 2**15 - 1
STATE_MAX = 2**31 - 1
#: A factor of 1 of a state that does not decay.
KEEP_ONE = 2**31
#: The largest factor that a state or a value is multiplied by.
FACTOR_MAX = 2**30
#: Multipliers of edges and of Scale nodes.
MULTIPLIER_MAX = 2**15 - 1


@dataclass(frozen=True, slots=True)
class NodeInput:
    """Input of a node from another: its value times `multiplier`, shifted right;
    `late`: the value of the step before.
    """

    source: str
    late: bool
    multiplier: int = 1
    shift: int = 0

    @property
    def plain(self) -> bool:
        """Whether the value comes as it is."""
        return self.multiplier == 1 and self.shift == 0


@dataclass(frozen=True, slots=True)
class PoolWindow:
    """How a kernel moves over an image; an image of one axis has a height of 1."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    #: Rows above and columns to the left, as zeros.
    before: tuple[int, int]
    #: The same below and to the right.
    behind: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """A node whose output is its input: Input, Output, Flatten."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Linear, Affine: `weight` (outputs, inputs) of 8 bit, `bias` (outputs,) of 32;
    sums go `up` bits to the left before the bias, which is finer by so much, then
    `shift` to the right.
    """

    weight: Ints
    bias: Ints
    up: int
    shift: int


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """Conv1d, Conv2d: `weight` (outputs, inputs of a group, height, width) of 8 bit;
    the rest as of Dense.
    """

    weight: Ints
    bias: Ints
    up: int
    shift: int
    groups: int
    window: PoolWindow


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """SumPool2d; AvgPool2d, whose division is in its scale."""

    shift: int
    window: PoolWindow


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Scale: a multiplier for each value, or one for all."""

    multiplier: Ints
    shift: int


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """Threshold: 1 for a value above its threshold, or the one for all."""

    threshold: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Delaying:
    """Delay: so many steps for each value, or all."""

    steps: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """I, IF, LI, LIF, CubaLI, CubaLIF. A parameter holds a number for each neuron, or
    one for all.

    `gain` takes the input to the current of a neuron that has one (`synaptic`), else to
    the membrane; `couple` takes the current to the membrane. `keep_current` and `keep`
    are the shares of each that a step leaves, in parts of 2^31. `together`: the input
    decays with the current.
    """

    synaptic: bool
    spiking: bool
    together: bool
    last_current: bool
    subtracts: bool
    above: bool
    spikes_max: int
    gain: Ints
    gain_shift: int
    keep_current: Ints
    couple: Ints
    couple_shift: int
    keep: Ints
    leak: Ints
    start: Ints
    threshold: Ints
    reset: Ints
    #: Of a membrane that is the output of neurons that do not spike.
    shift: int
    #: A spike takes `reset` off the membrane, instead of the threshold or a reset to a
    #: value.
    takes: bool = False


Body = Pass | Dense | Convolution | Pool | Scaling | Above | Delaying | Population


@dataclass(frozen=True, slots=True, eq=False)
class FixedNode:
    """A node: its sources, its operation, and the values of one unit of its output and
    of its state; `weight_scale` of a weight.
    """

    name: str
    kind: str
    edges: tuple[NodeInput, ...]
    shape_in: Shape
    shape_out: Shape
    scale_in: float
    scale: float
    state_scale: float
    weight_scale: float
    body: Body

    @property
    def inputs(self) -> int:
        """Number of values that enter."""
        return math.prod(self.shape_in)

    @property
    def outputs(self) -> int:
        """Number of values that leave."""
        return math.prod(self.shape_out)


@dataclass(frozen=True, slots=True, eq=False)
class FixedNetwork:
    """A network in whole numbers: its nodes in the order of a step.

    `input_b`: bytes of an input value, 1 without a sign or 2 with one. `membranes`
    names for each output the population whose membranes it ends with; "" where it is
    fed by none.
    """

    nodes: tuple[FixedNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    membranes: tuple[str, ...]
    input_b: int
    dt_s: float
    weight_bits: int
    conventions: dict[str, Any]

    def node(self, name: str) -> FixedNode:
        """Return a node by its name."""
        return next(node for node in self.nodes if node.name == name)

    @property
    def channels(self) -> int:
        """Number of values that enter in a step, all inputs together."""
        return sum(self.node(name).outputs for name in self.inputs)

    @property
    def answers(self) -> int:
        """Number of values that leave, all outputs together."""
        return sum(self.node(name).outputs for name in self.outputs)

    @property
    def input_max(self) -> int:
        """The largest value that an input may have."""
        return 255 if self.input_b == 1 else VALUE_MAX


def identity(text: str) -> str:
    """Return a short name of a network from the text that holds all its numbers."""
    return f"network-{sha256(text.encode()).hexdigest()[:8]}"
