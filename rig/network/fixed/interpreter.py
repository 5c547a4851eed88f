# SPDX-License-Identifier: Apache-2.0
"""The integer model: a network in whole numbers run step by step, many samples at once.

Written from docs/reference/FIXED_POINT.md, section 2, not from the firmware: the two
are compared bit by bit in the tests.

Nodes without neurons in the integer model, as functions of one step.

Neurons of the integer model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.fixed.arithmetic import Saturation, shifted
from rig.network.fixed.form import (
    Above,
    Convolution,
    Delaying,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Pass,
    Pool,
    PoolWindow,
    Population,
    Scaling,
)

_Number = TypeVar("_Number", bound=np.number[Any])


@dataclass(frozen=True, slots=True, eq=False)
class FixedRun:
    """Outcome of a run: for each output, and each recorded node, its values (batch,
    steps, *shape); the membranes after the last step; spikes of each spiking node;
    number of limited values at each node that has any.
    """

    values: dict[str, Ints]
    membranes: dict[str, Ints]
    spikes: dict[str, int]
    saturated: dict[str, int]

    def answers(self, network: FixedNetwork) -> tuple[Ints, Ints]:
        """Return the answers of a device (batch, answers): the sum of each output's
        values over all steps, limited to 32 bit, and its last membrane, else its last
        value.
        """
        sums, last = answers(network, self.values, self.membranes)
        # 65536 steps of 16-bit values cannot leave 32 bit.
        return np.clip(sums, -(2**31), 2**31 - 1), last


def answers(
    network: FixedNetwork,
    values: Mapping[str, NDArray[_Number]],
    membranes: Mapping[str, NDArray[_Number]],
) -> tuple[NDArray[_Number], NDArray[_Number]]:
    """Return (batch, answers) of a run of a network, in whole numbers or not: the sum
    of each output's values over all steps, and its last membrane, else its last value.
    """
    sums = []
    last = []
    for name, source in zip(network.outputs, network.membranes, strict=True):
        batch = len(values[name])
        sums.append(values[name].sum(axis=1).reshape(batch, -1))
        ends = membranes[source] if source else values[name][:, -1]
        last.append(ends.reshape(batch, -1))
    return np.concatenate(sums, axis=1), np.concatenate(last, axis=1)


def run(network: FixedNetwork, inputs: Ints, record: Collection[str] = ()) -> FixedRun:
    """Run a network from rest over its inputs (batch, steps, channels), which are whole
    numbers: those of all inputs side by side. Raises DataError for another shape, or
    numbers that an input does not hold.
    """
    _require_inputs(network, inputs)
    batch, steps, _ = inputs.shape
    saturation = Saturation()
    stages: dict[str, Stage] = {}
    neurons: dict[str, FixedNeurons] = {}
    for node in network.nodes:
        if isinstance(node.body, Population):
            neurons[node.name] = FixedNeurons(node, node.body, batch, saturation)
            stages[node.name] = neurons[node.name].step
        else:
            stages[node.name] = stage(node, batch, saturation)
    spiking = [name for name, one in neurons.items() if one.spiking]
    kept = {
        name: np.empty((batch, steps, *network.node(name).shape_out), np.int64)
        for name in {*network.outputs, *record, *spiking}
    }
    now = {
        node.name: np.zeros((batch, *node.shape_out), np.int64)
        for node in network.nodes
    }
    for step in range(steps):
        before = now
        now = _given(network, inputs[:, step])
        for node in network.nodes:
            if node.name not in now:
                entered = _entering(node, now, before, saturation)
                now[node.name] = stages[node.name](entered)
        for name, store in kept.items():
            store[:, step] = now[name]
    return FixedRun(
        {name: kept[name] for name in (*network.outputs, *record)},
        {name: one.membrane for name, one in neurons.items()},
        {name: int(kept[name].sum()) for name in spiking},
        saturation.counts,
    )


def _require_inputs(network: FixedNetwork, inputs: Ints) -> None:
    if inputs.ndim != 3 or inputs.shape[2] != network.channels:
        raise DataError(
            f"inputs of the shape {inputs.shape}",
            evidence=f"wanted (samples, steps, {network.channels})",
        )
    least = 0 if network.input_b == 1 else -network.input_max - 1
    if inputs.size and (inputs.min() < least or inputs.max() > network.input_max):
        raise DataError(
            f"an input of {inputs.min()} to {inputs.max()}",
            evidence=f"its {network.input_b} bytes hold {least} to {network.input_max}",
        )


def _given(network: FixedNetwork, values: Ints) -> dict[str, Ints]:
    given = {}
    at = 0
    for name in network.inputs:
        node = network.node(name)
        part = values[:, at : at + node.outputs]
        given[name] = part.reshape(len(values), *node.shape_out)
        at += node.outputs
    return given


def _entering(
    node: FixedNode,
    now: dict[str, Ints],
    before: dict[str, Ints],
    saturation: Saturation,
) -> Ints:
    """Return the sum of a node's inputs, each and the sum limited to 16 bit."""
    parts = []
    for edge in node.edges:
        value = (before if edge.late else now)[edge.source]
        if not edge.plain:
            value = saturation.value(node.name, value * edge.multiplier, edge.shift)
        parts.append(value)
    if len(parts) == 1:
        return parts[0]
    total: Ints = np.sum(parts, axis=0)
    return saturation.value(node.name, total, 0)


#: Step function of a node: values (batch, *shape in) -> (batch, *shape out).
Stage = Callable[[Ints], Ints]


def stage(node: FixedNode, batch: int, saturation: Saturation) -> Stage:
    """Return the step function of a node without neurons."""
    body = node.body
    match body:
        case Pass():
            return lambda values: values.reshape(len(values), *node.shape_out)
        case Dense():
            return lambda values: saturation.value(
                node.name,
                (_product(values, body.weight.T) << body.up) + body.bias,
                body.shift,
            )
        case Convolution():
            return lambda values: _convolved(node, body, values, saturation)
        case Pool():
            return lambda values: saturation.value(
                node.name,
                np.sum(_pieces(node, body.window, values), axis=0),
                body.shift,
            )
        case Scaling():
            factors = _each(node, body.multiplier)
            return lambda values: saturation.value(
                node.name, values * factors, body.shift
            )
        case Above():
            threshold = _each(node, body.threshold)
            return lambda values: (values > threshold).astype(np.int64)
        case Delaying():
            return _delay(node, body, batch)
    raise TypeError(f"{node.name} has neurons")


def _each(node: FixedNode, numbers: Ints) -> Ints:
    return numbers if numbers.size == 1 else numbers.reshape(node.shape_in)


def _product(values: Ints, weight: Ints) -> Ints:
    """Return a product of matrices; below 2^53 floating point is exact, and much
    quicker."""
    product: Ints = (values.astype(np.float64) @ weight.astype(np.float64)).astype(
        np.int64
    )
    return product


def _pieces(node: FixedNode, window: PoolWindow, values: Ints) -> list[Ints]:
    """Return what each place of the kernel sees, row by row: (batch, channels, height,
    width) of the output.
    """
    channels = node.shape_in[0]
    image = values.reshape(len(values), channels, *(1, *node.shape_in[1:])[-2:])
    (above, left), (below, right) = window.before, window.behind
    padded = np.pad(image, ((0, 0), (0, 0), (above, below), (left, right)))
    height, width = (1, *node.shape_out[1:])[-2:]
    pieces = []
    for row in range(window.kernel[0]):
        top = row * window.dilation[0]
        for column in range(window.kernel[1]):
            first = column * window.dilation[1]
            rows = slice(
                top, top + (height - 1) * window.stride[0] + 1, window.stride[0]
            )
            columns = slice(
                first, first + (width - 1) * window.stride[1] + 1, window.stride[1]
            )
            pieces.append(padded[:, :, rows, columns])
    return pieces


def _convolved(
    node: FixedNode, body: Convolution, values: Ints, saturation: Saturation
) -> Ints:
    pieces = _pieces(node, body.window, values)
    batch, _, height, width = pieces[0].shape
    outputs = len(body.weight) // body.groups
    inputs = body.weight.shape[1]
    total = np.zeros((batch, len(body.weight), height, width), np.int64)
    kernels = body.weight.reshape(*body.weight.shape[:2], -1)
    for group in range(body.groups):
        mine = slice(group * outputs, (group + 1) * outputs)
        channels = slice(group * inputs, (group + 1) * inputs)
        for number, piece in enumerate(pieces):
            seen = np.moveaxis(piece[:, channels], 1, -1)
            total[:, mine] += np.moveaxis(
                _product(seen, kernels[mine, :, number].T), -1, 1
            )
    total = (total << body.up) + body.bias[:, None, None]
    return saturation.value(node.name, total, body.shift).reshape(
        batch, *node.shape_out
    )


def _delay(node: FixedNode, body: Delaying, batch: int) -> Stage:
    """Return a delay that keeps all its inputs; values before the first step are 0."""
    steps = np.broadcast_to(_each(node, body.steps), node.shape_in)
    kept: list[Ints] = []

    def delayed(values: Ints) -> Ints:
        kept.append(values)
        delayed_values = np.zeros_like(values)
        for behind in np.unique(steps):
            if behind < len(kept):
                delayed_values = np.where(
                    steps == behind, kept[-1 - int(behind)], delayed_values
                )
        del kept[: -int(steps.max(initial=0)) - 1]
        return delayed_values

    return delayed


_KEEP_BITS = 31


class FixedNeurons:
    """The neurons of a node, many samples side by side: `membrane` (batch, *shape), 32
    bit."""

    def __init__(
        self, node: FixedNode, body: Population, batch: int, saturation: Saturation
    ) -> None:
        self._name = node.name
        self._body = body
        self._saturation = saturation
        self._shape = node.shape_in
        self.spiking = body.spiking
        shape = (batch, *node.shape_in)
        self.membrane: Ints = np.broadcast_to(self._each(body.start), shape).copy()
        self._current: Ints = np.zeros(shape, np.int64)

    def step(self, values: Ints) -> Ints:
        """Go on by one time step; return spikes, or membranes in 16 bit."""
        body = self._body
        drive = shifted(values * self._each(body.gain), body.gain_shift)
        if body.synaptic:
            current = self._synapse(drive)
            drive = shifted(current * self._each(body.couple), body.couple_shift)
        left = shifted(self.membrane * self._each(body.keep), _KEEP_BITS)
        self.membrane = self._state(left + drive + self._each(body.leak))
        if body.spiking:
            return self._fired()
        return self._saturation.value(self._name, self.membrane, body.shift)

    def _synapse(self, drive: Ints) -> Ints:
        """Return the current that drives the membrane in this step."""
        body = self._body
        last = self._current
        keep = self._each(body.keep_current)
        if body.together:
            self._current = shifted(self._state(last + drive) * keep, _KEEP_BITS)
        else:
            self._current = self._state(shifted(last * keep, _KEEP_BITS) + drive)
        return last if body.last_current else self._current

    def _fired(self) -> Ints:
        body = self._body
        threshold = self._each(body.threshold)
        if body.spikes_max > 1:
            # Of the excess over the threshold, or 0: 2^31 / 1 is the most there
            # can be.
            counted = np.maximum(self.membrane - (1 if body.above else 0), 0)
            spikes: Ints = np.minimum(counted // threshold, body.spikes_max)
        else:
            fires = (
                self.membrane > threshold if body.above else self.membrane >= threshold
            )
            spikes = fires.astype(np.int64)
        if body.takes:
            self.membrane = self._state(self.membrane - spikes * self._each(body.reset))
        elif body.subtracts:
            self.membrane = self._state(self.membrane - spikes * threshold)
        else:
            self.membrane = np.where(spikes > 0, self._each(body.reset), self.membrane)
        return spikes

    def _each(self, numbers: Ints) -> Ints:
        """Return a parameter as it meets an array of all neurons."""
        return numbers if numbers.size == 1 else numbers.reshape(self._shape)

    def _state(self, numbers: Ints) -> Ints:
        return self._saturation.state(self._name, numbers)
