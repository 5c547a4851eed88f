# SPDX-License-Identifier: Apache-2.0
"""Needs of a network on a device, operator by operator, before a build: products,
bytes of constants, and places of tensors in one array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rig.network.sound.mfcc import POINTS
from rig.network.tflite.form import (
    Body,
    Depthwise,
    FullyConnected,
    IntegerConvolution,
    IntegerNetwork,
    IntegerTensor,
    Keep,
    Mean,
    Operator,
    Pooling,
    Reshape,
    Softmax,
    Sum,
)
from rig.network.tflite.kernels import Kernels, patch_of
from rig.network.tflite.payloads import PayloadForm

#: Bytes of an operator's row in flash: 26 numbers of 32 bits (tables.py).
ROW_B = 104
#: Bytes of a bias, of a multiplier and of an exponential.
_NUMBER_B = 4
#: Flash for what makes inputs of payloads: thresholds of real numbers; code and tables
#: of features.
_FLASH_B = {
    PayloadForm.VALUES: 0,
    PayloadForm.REALS: 255 * _NUMBER_B,
    PayloadForm.MFCC: 4_300,
}
#: Memory of the spectrum of features.
_SPECTRUM_B = 8 * (POINTS // 2 + 1)
#: Tensors begin at a multiple of it.
_ALIGNED_B = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSize:
    """Needs of an operator: multiplications with weights, bytes of constants in flash,
    bytes of RAM for its inputs and output, which may share it with others.
    """

    name: str
    shape_in: tuple[int, ...]
    shape_out: tuple[int, ...]
    macs: int
    constant_b: int
    tensor_b: int


@dataclass(frozen=True, slots=True)
class Arena:
    """Places of tensors: `at` by their number, none for the input, which stays in its
    slot; and its size.
    """

    at: dict[int, int]
    size_b: int


@dataclass(frozen=True, slots=True)
class IntegerSizes:
    """A network on a device: bytes of flash and of RAM. `patch_b` is the memory beside
    the arena for a patch of an image, or what other kernels keep there; `code_b` the
    flash for their code and for what makes the input; `made_b` the memory for an input
    that the device makes, and of its features.
    """

    operators: tuple[OperatorSize, ...]
    arena: Arena
    patch_b: int
    input_b: int
    output_b: int
    code_b: int = 0
    made_b: int = 0

    @property
    def macs(self) -> int:
        """Return the multiplications with weights of an inference."""
        return sum(each.macs for each in self.operators)

    @property
    def constant_b(self) -> int:
        """Return the bytes of all constants."""
        return sum(each.constant_b for each in self.operators)

    @property
    def memory_b(self) -> int:
        """Return the bytes of RAM beside the slots of inputs."""
        return self.arena.size_b + self.patch_b + self.made_b

    def largest(self, count: int = 3) -> list[OperatorSize]:
        """Return the operators that take most, flash and RAM together."""
        return sorted(
            self.operators, key=lambda each: -(each.constant_b + each.tensor_b)
        )[:count]


def sizes(network: IntegerNetwork, kernels: Kernels = Kernels.PORTABLE) -> IntegerSizes:
    """Return the needs of a network."""
    operators = [_operator(network, each, kernels) for each in network.operators]
    return IntegerSizes(
        operators=tuple(operators),
        arena=arena(network),
        patch_b=2 * patch_of(network, kernels),
        input_b=network.tensors[network.input].size,
        output_b=network.tensors[network.output].size,
        code_b=kernels.code_b,
    )


def with_payload(
    needed: IntegerSizes, network: IntegerNetwork, payload: PayloadForm
) -> IntegerSizes:
    """Return the needs of a network whose device makes its input of payloads."""
    if not payload.is_raw:
        return needed
    made_b = needed.input_b
    if payload is PayloadForm.MFCC:
        made_b += _SPECTRUM_B
    code_b = needed.code_b + _FLASH_B[payload]
    return replace(
        needed,
        input_b=payload.size_b(network.tensors[network.input]),
        made_b=made_b,
        code_b=code_b,
    )


def macs_of(body: Body, output: IntegerTensor) -> int:
    """Return the multiplications with weights of an operator."""
    match body:
        case IntegerConvolution() | FullyConnected():
            return output.size * int(body.weights.size // body.weights.shape[0])
        case Depthwise():
            return output.size * body.window.height * body.window.width
    return 0


def work_of(body: Body, output: IntegerTensor) -> int:
    """Return the multiplications with weights, the values that a pool reads, and the
    values that are written.
    """
    total = output.size + macs_of(body, output)
    if isinstance(body, Pooling):
        total += output.size * body.window.height * body.window.width
    return total


def constants_of(body: Body, kernels: Kernels = Kernels.PORTABLE) -> int:
    """Return the bytes of an operator's constants in flash, its row with them."""
    match body:
        case IntegerConvolution() | FullyConnected() | Depthwise():
            channel_b = 2 * _NUMBER_B + kernels.shift_b
            return ROW_B + int(body.weights.size) + channel_b * int(body.biases.size)
        case Softmax():
            return ROW_B + _NUMBER_B * int(body.exponentials.size)
        case Sum():
            return ROW_B + 3 * (_NUMBER_B + kernels.shift_b)
        case Mean():
            return ROW_B + _NUMBER_B + kernels.shift_b
        case Reshape():
            return 0
    return ROW_B


def kept_of(network: IntegerNetwork) -> list[int]:
    """Return the tensors that a network keeps from one run to the next."""
    return [each.output for each in network.operators if isinstance(each.body, Keep)]


def state_of(network: IntegerNetwork) -> int:
    """Return the bytes that a network keeps from one run to the next."""
    return sum(network.tensors[kept].size for kept in kept_of(network))


def root_of(network: IntegerNetwork, tensor: int) -> int:
    """Return the tensor whose bytes another one shares: a RESHAPE makes no copy."""
    made = {each.output: each for each in network.operators}
    while tensor in made and isinstance(made[tensor].body, Reshape):
        tensor = made[tensor].inputs[0]
    return tensor


def arena(network: IntegerNetwork) -> Arena:
    """Return the places of a network's tensors, the largest first, each as far down as
    no other one that is needed at the same time lies; rows that are kept are always
    needed.
    """
    roots = {number: root_of(network, number) for number in range(len(network.tensors))}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, operator in enumerate(network.operators):
        first.setdefault(roots[operator.output], step)
        for tensor in (*operator.inputs, operator.output):
            last[roots[tensor]] = step
    last[roots[network.output]] = len(network.operators)
    for kept in kept_of(network):
        first[kept], last[kept] = 0, len(network.operators)
    placed = [tensor for tensor in first if tensor != network.input]
    placed.sort(key=lambda each: (-network.tensors[each].size, first[each]))
    at: dict[int, int] = {}
    ends: dict[int, int] = {}
    for tensor in placed:
        overlapping = [
            other
            for other in at
            if first[other] <= last[tensor] and first[tensor] <= last[other]
        ]
        beside = sorted((at[other], ends[other]) for other in overlapping)
        at[tensor] = _free(beside, network.tensors[tensor].size)
        end = at[tensor] + network.tensors[tensor].size
        ends[tensor] = -(-end // _ALIGNED_B) * _ALIGNED_B
    places = {each: at[root] for each, root in roots.items() if root in at}
    return Arena(places, max(ends.values(), default=0))


def _free(taken: list[tuple[int, int]], size_b: int) -> int:
    """Return the first place with so many bytes free."""
    place = 0
    for start, end in taken:
        if place + size_b <= start:
            break
        place = max(place, end)
    return place


def _operator(
    network: IntegerNetwork, operator: Operator, kernels: Kernels
) -> OperatorSize:
    read = [network.tensors[number] for number in operator.inputs]
    output = network.tensors[operator.output]
    tensor_b = output.size + sum(each.size for each in read)
    if isinstance(operator.body, Reshape):
        tensor_b = 0
    return OperatorSize(
        name=operator.name,
        shape_in=read[0].shape,
        shape_out=output.shape,
        macs=macs_of(operator.body, output),
        constant_b=constants_of(operator.body, kernels),
        tensor_b=tensor_b,
    )
