# SPDX-License-Identifier: Apache-2.0
"""The size of a network: neurons, synapses, parameters, bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.network.graph import Network, NodePlace, neurons
from rig.network.shapes import NEURONS, PARAMETERS


@dataclass(frozen=True, slots=True)
class Footprint:
    """The size of a network: a synapse is a connection from one value to another, so
    that a weight of a convolution counts at every place of its kernel; `nonzero` are
    those with a weight.
    """

    neurons: int
    synapses: int
    nonzero: int
    parameters: int


def of(network: Network) -> Footprint:
    """Return the size of a network."""
    synapses = 0
    nonzero = 0
    for place in network.places:
        if hasattr(place.node, "weight"):
            weight = np.asarray(place.node.weight)
            times = _repeated(place)
            synapses += weight.size * times
            nonzero += int(np.count_nonzero(weight)) * times
    count = sum(math.prod(place.shape_out) for place in neurons(network))
    return Footprint(
        count,
        synapses,
        nonzero,
        sum(parameters(place.node) for place in network.places),
    )


def parameters(node: Any) -> int:
    """Return how many numbers a node holds."""
    return sum(value.size for value in _arrays(node))


def parameters_b(node: Any) -> int:
    """Return how many bytes the numbers of a node take, as the file stores them."""
    return sum(value.nbytes for value in _arrays(node))


def states_b(network: Network, dt_s: float) -> int:
    """Return the bytes that are kept from step to step: membranes and synaptic
    currents, values in delays, and values that arrive a step late; each as wide as the
    numbers of its node.
    """
    late = {source for source, _ in network.late_edges}
    total = 0
    for place in network.places:
        count = math.prod(place.shape_out)
        values = count if place.name in late else 0
        if isinstance(place.node, NEURONS):
            values += count * (
                2 if isinstance(place.node, nir.CubaLI | nir.CubaLIF) else 1
            )
        elif isinstance(place.node, nir.Delay):
            delay_s = np.broadcast_to(np.asarray(place.node.delay), place.shape_out)
            values += int(np.rint(delay_s / dt_s).sum())
        total += values * _width_b(place.node)
    return total


def _arrays(node: Any) -> list[NDArray[np.generic]]:
    values = [getattr(node, name, None) for name in PARAMETERS]
    return [np.asarray(value) for value in values if value is not None]


def _width_b(node: Any) -> int:
    """Return how many bytes the widest number of a node has; of one without numbers, as
    many as a single-precision number.
    """
    return max((value.itemsize for value in _arrays(node)), default=4)


def _repeated(place: NodePlace) -> int:
    """Return at how many places a weight is used."""
    if isinstance(place.node, nir.Conv1d | nir.Conv2d):
        return math.prod(place.shape_out[1:])
    return 1
