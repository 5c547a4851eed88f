# SPDX-License-Identifier: Apache-2.0
"""The integer model: a network in whole numbers run step by step, many samples at once.

Written from docs/reference/FIXED_POINT.md, section 2, not from the firmware: the two
are compared bit by bit in the tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.fixed.arithmetic import Saturation
from rig.network.fixed.form import FixedNetwork, FixedNode, Ints, Population
from rig.network.fixed.neurons import FixedNeurons
from rig.network.fixed.stages import Stage, stage
from rig.network.input_shape import other_shape

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
    kept: dict[str, Ints] = {}
    for name in {*network.outputs, *record, *spiking}:
        shape = (batch, steps, *network.node(name).shape_out)
        kept[name] = np.empty(shape, np.int64)
    now: dict[str, Ints] = {}
    for node in network.nodes:
        now[node.name] = np.zeros((batch, *node.shape_out), np.int64)
    for step in range(steps):
        before = now
        now = _given(network, inputs[:, step])
        for node in network.nodes:
            if node.name not in now:
                entered = _entering(node, now, before, saturation)
                now[node.name] = stages[node.name](entered)
        for name, store in kept.items():
            store[:, step] = now[name]
    values = {name: kept[name] for name in (*network.outputs, *record)}
    membranes = {name: one.membrane for name, one in neurons.items()}
    spikes = {name: int(kept[name].sum()) for name in spiking}
    return FixedRun(values, membranes, spikes, saturation.counts)


def _require_inputs(network: FixedNetwork, inputs: Ints) -> None:
    if inputs.ndim != 3 or inputs.shape[2] != network.channels:
        raise other_shape("inputs of", inputs.shape, (network.channels,))
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
