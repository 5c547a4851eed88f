# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter: a network run step by step in floating point, many samples
at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar, cast

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.conventions import Conventions
from rig.network.graph import Network, NodePlace
from rig.network.input_shape import other_shape
from rig.network.late_spikes import with_late_spikes
from rig.network.neurons import Neurons
from rig.network.shapes import NEURONS, SPIKING
from rig.network.stages import Stage, has_state, stage

Floats = NDArray[np.float64]
_Number = TypeVar("_Number", bound=np.generic)
_DEFAULT = Conventions()
#: A node takes so many values at once: they stay in a processor's cache.
_BLOCK_VALUES = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Outcome of a run: for each output, and each recorded node, its values (batch,
    steps, *shape); the membranes of all neurons after the last step (batch, *shape);
    and the number of spikes of each spiking node.
    """

    values: dict[str, Floats]
    membranes: dict[str, Floats]
    spikes: dict[str, int]


def run(
    network: Network,
    inputs: Mapping[str, NDArray[np.generic]] | NDArray[np.generic],
    dt_s: float | None = None,
    how: Conventions = _DEFAULT,
    record: Collection[str] = (),
) -> Run:
    """Run a network from rest over its inputs (batch, steps, *shape); `record` names
    further nodes whose values are wanted.

    `dt_s` is the time step in seconds where the file states none. Raises DataError for
    inputs of another shape, and without a time step.
    """
    step_s = network.dt_s if dt_s is None else dt_s
    if step_s is None:
        raise DataError(
            "the network states no time step",
            try_next="--dt SECONDS, in a bench file dt_s; or dt_s in its metadata",
        )
    network = with_late_spikes(network, how, step_s)
    given = _given(network, inputs)
    steps, batch = next(iter(given.values())).shape[:2]
    populations = [place for place in network.places if isinstance(place.node, NEURONS)]
    neurons = {place.name: Neurons(place, step_s, how, batch) for place in populations}
    spiking = [
        place.name for place in network.places if isinstance(place.node, SPIKING)
    ]
    kept: dict[str, Floats] = {}
    for name in {*network.outputs, *record, *spiking}:
        kept[name] = np.empty((steps, batch, *network.place(name).shape_out))
    nodes = []
    for place in network.places:
        name = place.name
        does = neurons.get(name) or stage(place, step_s, batch)
        nodes.append(_RunningNode(place, given.get(name), does, kept.get(name)))
    before, looped, after = _around_cycles(network, nodes)
    largest = max(math.prod(place.shape_out) for place in network.places)
    together = max(_BLOCK_VALUES // (batch * largest), 1)
    last = {place.name: np.zeros((batch, *place.shape_out)) for place in network.places}
    for first in range(0, steps, together):
        part = slice(first, min(first + together, steps))
        now: dict[str, Floats] = {}
        for node in before:
            now[node.name] = node.block(part, now)
        now |= {node.name: node.room(part, batch) for node in looped}
        for step in range(part.stop - part.start) if looped else ():
            for node in looped:
                node.step(step, now, last)
            last = {node.name: now[node.name][step] for node in looped}
        for node in after:
            now[node.name] = node.block(part, now)
    recorded = (*network.outputs, *record)
    values = {name: np.swapaxes(kept[name], 0, 1) for name in recorded}
    membranes = {name: one.membrane for name, one in neurons.items()}
    spikes = {name: round(float(kept[name].sum())) for name in spiking}
    return Run(values, membranes, spikes)


class _RunningNode:
    """A node that takes some steps before the next node begins, or in a cycle one.
    Values are (steps, batch, *shape), so that those of a step lie together.
    """

    def __init__(
        self,
        place: NodePlace,
        given: Floats | None,
        does: Neurons | Stage,
        kept: Floats | None,
    ) -> None:
        self.name = place.name
        self._place = place
        self._given = given
        self._does = does
        self._kept = kept
        self._state = has_state(place)
        self._passes = isinstance(place.node, nir.Input | nir.Output)

    def block(self, steps: slice, now: Mapping[str, Floats]) -> Floats:
        """Return the values of the node in these steps, from those of others."""
        if self._given is not None:
            entered = self._given[steps]
        else:
            entered = reduce(np.add, [now[name] for name in self._place.sources])
        if self._state:
            left = self.room(steps, entered.shape[1])
            for values, store in zip(entered, left, strict=True):
                self._step(values, store)
            return left
        left = entered
        if not self._passes:
            count, batch = entered.shape[:2]
            whole = entered.reshape(count * batch, *self._place.shape_in)
            left = cast(Stage, self._does)(whole)
            left = left.reshape(count, batch, *self._place.shape_out)
        if self._kept is not None:
            self._kept[steps] = left
        return left

    def step(
        self, step: int, now: Mapping[str, Floats], last: Mapping[str, Floats]
    ) -> None:
        """Write the values of one step of a block to the node's part of `now`; `last`:
        values of a cycle in the step before.
        """
        parts = [now[name][step] for name in self._place.sources]
        parts += [last[name] for name in self._place.late_sources]
        self._step(reduce(np.add, parts), now[self.name][step])

    def room(self, steps: slice, batch: int) -> Floats:
        """Return a place for the node's values in some steps."""
        if self._kept is not None:
            return self._kept[steps]
        return np.empty((steps.stop - steps.start, batch, *self._place.shape_out))

    def _step(self, entered: Floats, left: Floats) -> None:
        if isinstance(self._does, Neurons):
            self._does.step(entered, left)
        elif self._passes:
            left[...] = entered
        else:
            left[...] = self._does(entered)


def _around_cycles(
    network: Network, nodes: Sequence[_RunningNode]
) -> tuple[list[_RunningNode], list[_RunningNode], list[_RunningNode]]:
    """Part nodes into those before all cycles, those that must go step by step, and
    those after them.
    """
    late = {source for source, _ in network.late_edges}
    reached: set[str] = set()
    for place in network.places:
        if place.late_sources or reached.intersection(place.sources):
            reached.add(place.name)
    leading: set[str] = set()
    for place in reversed(network.places):
        if place.name in late or place.name in leading:
            leading |= {place.name, *place.sources}
    looped = reached & leading
    before = [node for node in nodes if node.name not in reached]
    inside = [node for node in nodes if node.name in looped]
    after = [node for node in nodes if node.name in reached - looped]
    return before, inside, after


def parts(
    network: Network, inputs: NDArray[_Number], values_max: int
) -> Iterator[NDArray[_Number]]:
    """Yield the samples of inputs (samples, steps, ...) in parts; a run of one keeps
    about `values_max` values of all nodes, or is of one sample.
    """
    of_step = sum(math.prod(place.shape_out) for place in network.places)
    together = max(values_max // max(of_step * inputs.shape[1], 1), 1)
    for first in range(0, len(inputs), together):
        yield inputs[first : first + together]


def _given(
    network: Network, inputs: Mapping[str, NDArray[np.generic]] | NDArray[np.generic]
) -> dict[str, Floats]:
    if not isinstance(inputs, Mapping):
        if len(network.inputs) > 1:
            raise DataError(
                f"the network has {len(network.inputs)} inputs, one array was given",
                evidence=", ".join(network.inputs),
            )
        inputs = {network.inputs[0]: inputs}
    if sorted(inputs) != sorted(network.inputs):
        raise DataError(
            "other inputs than the network has",
            evidence=f"given {', '.join(inputs)}; it has {', '.join(network.inputs)}",
        )
    given: dict[str, Floats] = {}
    lengths = set()
    for name, values in inputs.items():
        shape = network.place(name).shape_out
        if values.ndim != len(shape) + 2 or values.shape[2:] != shape:
            raise other_shape(f"the input {name} has", values.shape, shape)
        lengths.add(values.shape[:2])
        given[name] = np.ascontiguousarray(np.swapaxes(values, 0, 1), np.float64)
    if len(lengths) > 1:
        raise DataError(
            "the inputs are of different length", evidence=f"{sorted(lengths)}"
        )
    return given
