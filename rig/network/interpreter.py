# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter: a network run step by step in floating point, many samples
at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.conventions import Conventions
from rig.network.graph import Network
from rig.network.late_spikes import with_late_spikes
from rig.network.neurons import Neurons
from rig.network.shapes import NEURONS, SPIKING
from rig.network.stages import Stage, has_state, stage

Floats = NDArray[np.float64]
_Number = TypeVar("_Number", bound=np.generic)
_DEFAULT = Conventions()


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
    batch, steps = next(iter(given.values())).shape[:2]
    stages: dict[str, Stage] = {}
    neurons: dict[str, Neurons] = {}
    for place in network.places:
        if isinstance(place.node, NEURONS):
            neurons[place.name] = Neurons(place, step_s, how, batch)
            stages[place.name] = neurons[place.name].step
        else:
            stages[place.name] = stage(place, step_s, batch)
    spiking = [
        place.name for place in network.places if isinstance(place.node, SPIKING)
    ]
    kept = {
        name: np.empty((batch, steps, *network.place(name).shape_out))
        for name in {*network.outputs, *record, *spiking}
    }
    if network.late_edges:
        _step_by_step(network, given, stages, kept)
    else:
        _node_by_node(network, given, stages, kept)
    return Run(
        {name: kept[name] for name in (*network.outputs, *record)},
        {name: one.membrane for name, one in neurons.items()},
        {name: round(float(kept[name].sum())) for name in spiking},
    )


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


def _step_by_step(
    network: Network,
    given: Mapping[str, Floats],
    stages: Mapping[str, Stage],
    kept: Mapping[str, Floats],
) -> None:
    """Take every node through a step before the next one begins, as cycles need it."""
    batch, steps = next(iter(given.values())).shape[:2]
    now = {place.name: np.zeros((batch, *place.shape_out)) for place in network.places}
    for step in range(steps):
        before = now
        now = {}
        for place in network.places:
            if place.name in given:
                parts = [given[place.name][:, step]]
            else:
                parts = [now[name] for name in place.sources]
                parts += [before[name] for name in place.late_sources]
            now[place.name] = stages[place.name](_sum(parts))
        for name, store in kept.items():
            store[:, step] = now[name]


def _node_by_node(
    network: Network,
    given: Mapping[str, Floats],
    stages: Mapping[str, Stage],
    kept: Mapping[str, Floats],
) -> None:
    """Take a node through all steps before the next one begins: quicker, without cycles
    the same; nodes without a state take all steps at once.
    """
    batch, steps = next(iter(given.values())).shape[:2]
    left: dict[str, Floats] = {}
    for place in network.places:
        entered = given.get(place.name)
        if entered is None:
            entered = _sum([left[name] for name in place.sources])
        own = stages[place.name]
        if has_state(place):
            values = np.empty((batch, steps, *place.shape_out))
            for step in range(steps):
                values[:, step] = own(entered[:, step])
        else:
            whole = own(entered.reshape(batch * steps, *place.shape_in))
            values = whole.reshape(batch, steps, *place.shape_out)
        left[place.name] = values
        if place.name in kept:
            kept[place.name][...] = values


def _sum(parts: Sequence[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)


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
            raise DataError(
                f"the input {name} has the shape {values.shape}",
                evidence=f"wanted (samples, steps, {', '.join(map(str, shape))})",
            )
        lengths.add(values.shape[:2])
        given[name] = values.astype(np.float64)
    if len(lengths) > 1:
        raise DataError(
            "the inputs are of different length", evidence=f"{sorted(lengths)}"
        )
    return given
