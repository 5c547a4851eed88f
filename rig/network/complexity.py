# SPDX-License-Identifier: Apache-2.0
"""The complexity of a network, counted from its run: footprint, sparsities, synaptic
operations and execution rate, as NeuroBench's algorithm track defines them
(docs/reference/MODELS.md has its odd ends).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network import footprint, interpreter
from rig.network.complexity_text import Complexity
from rig.network.conventions import Conventions
from rig.network.graph import Network, NodePlace
from rig.network.shapes import NEURONS
from rig.network.stages import Stage, has_state, stage

Floats = NDArray[np.float64]
#: Nodes whose weights are synapses. A Scale and a pool multiply and add, too, and do
#: not count.
CONNECTIONS = (nir.Linear, nir.Affine, nir.Conv1d, nir.Conv2d)
#: Nodes whose values are activations.
ACTIVATIONS = (*NEURONS, nir.Threshold)
#: Values of a run that are kept at a time; further samples are run after them.
_VALUES_MAX = 4_000_000


@dataclass(slots=True)
class _Counts:
    """Sums over the samples so far."""

    activations: int = 0
    silent: int = 0
    macs: int = 0
    acs: int = 0


def count(
    network: Network,
    inputs: NDArray[np.generic],
    dt_s: float | None = None,
    how: Conventions | None = None,
) -> Complexity:
    """Run a network of one input over its samples (batch, steps, *shape) and count;
    raises DataError where there are none, and the errors of the interpreter.
    """
    step_s = network.dt_s if dt_s is None else dt_s
    if inputs.ndim < 2 or not inputs.size:
        raise DataError(
            f"inputs of the shape {inputs.shape}: there is nothing to count"
        )
    samples, steps = inputs.shape[:2]
    how = how or Conventions()
    layers = [place for place in network.places if isinstance(place.node, CONNECTIONS)]
    counts = _Counts()
    for part in interpreter.parts(network, inputs, _VALUES_MAX):
        _count_part(network, layers, part, dt_s=step_s, how=how, counts=counts)
    assert step_s is not None  # the interpreter refuses a network without
    dense = sum(_fan_out(place, every=True, values=_ones(place)) for place in layers)
    return Complexity(
        samples=samples,
        steps=steps,
        parameters_b=sum(
            footprint.parameters_b(place.node) for place in network.places
        ),
        states_b=footprint.states_b(network, step_s),
        connection_sparsity=_zeros([place.node.weight for place in layers]),
        activation_sparsity=counts.silent / counts.activations
        if counts.activations
        else 0.0,
        dense=dense * steps,
        effective_macs=counts.macs / samples,
        effective_acs=counts.acs / samples,
        execution_rate_hz=1.0 / step_s,
    )


def _count_part(
    network: Network,
    layers: list[NodePlace],
    inputs: NDArray[np.generic],
    dt_s: float | None,
    how: Conventions,
    counts: _Counts,
) -> None:
    """Run some samples and add their counts."""
    active = [
        place.name for place in network.places if isinstance(place.node, ACTIVATIONS)
    ]
    recorded = set(active)
    for place in layers:
        recorded |= {*place.sources, *place.late_sources}
    run = interpreter.run(network, inputs, dt_s, how, record=recorded)
    for name in active:
        counts.activations += run.values[name].size
        counts.silent += run.values[name].size - int(np.count_nonzero(run.values[name]))
    for place in layers:
        entered = _entered(place, run.values, network)
        # As the harness does for one sample in a batch: one value that is neither -1, 0
        # nor 1 makes all operations of this layer in this step multiplications.
        unit = np.isin(entered, (-1.0, 0.0, 1.0))
        whole = unit.reshape(*entered.shape[:2], -1).all(axis=-1)
        flat = (entered != 0).astype(np.float64).reshape(-1, *place.shape_in)
        done = _operations(place, flat).reshape(whole.shape)
        counts.acs += int(done[whole].sum())
        counts.macs += int(done[~whole].sum())


def _entered(place: NodePlace, values: dict[str, Floats], network: Network) -> Floats:
    """Return the inputs of a node in each step: its sources' values, those of late ones
    from the step before.

    A value that a node gives only for the next step counts in that step, where it would
    be computed.
    """
    now = [values[name] for name in place.sources]
    before = [values[name] for name in place.late_sources]
    if place.name in _only_late(network):
        now, before = [], now + before
    entered: Floats = np.sum([*now, *map(_step_later, before)], axis=0)
    return entered


def _step_later(values: Floats) -> Floats:
    late = np.zeros_like(values)
    late[:, 1:] = values[:, :-1]
    return late


def _only_late(network: Network) -> set[str]:
    """Return the nodes without a state whose values are not used before the next
    step."""
    names: set[str] = set()
    late = network.late_edges
    for place in reversed(network.places):
        takers = [one.name for one in network.places if place.name in one.sources]
        behind = any(source == place.name for source, _ in late)
        if not has_state(place) and (takers or behind) and set(takers) <= names:
            names.add(place.name)
    return names


def _operations(place: NodePlace, values: Floats) -> NDArray[np.int64]:
    """Return the operations that each row of ones and zeros causes at the weights not
    zero."""
    done = _binary(place, every=False)(values)
    sums = done.reshape(len(values), -1).sum(axis=1)
    counts: NDArray[np.int64] = np.rint(sums).astype(np.int64)
    return counts


def _fan_out(place: NodePlace, *, every: bool, values: Floats) -> int:
    return round(float(_binary(place, every=every)(values).sum()))


def _ones(place: NodePlace) -> Floats:
    return np.ones((1, *place.shape_in))


def _binary(place: NodePlace, *, every: bool) -> Stage:
    """Return a layer with 1 for each weight that is not zero, or for `every` one, and
    no bias."""
    node: Any = copy.copy(place.node)
    weight = np.asarray(node.weight)
    node.weight = np.ones(weight.shape) if every else (weight != 0).astype(np.float64)
    if hasattr(node, "bias"):
        node.bias = np.zeros_like(np.asarray(node.bias, np.float64))
    return stage(replace(place, node=node), 1.0, 1)


def _zeros(weights: list[Any]) -> float:
    """Return the share of zeros among all weights, each counted once."""
    total = sum(np.asarray(weight).size for weight in weights)
    zeros = total - sum(int(np.count_nonzero(weight)) for weight in weights)
    return zeros / total if total else 0.0
