# SPDX-License-Identifier: Apache-2.0
"""Largest expected values of each node: from its weights, or twice the largest one
seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import nir
import numpy as np

from rig.network.conventions import Conventions
from rig.network.fixed.rates import rates
from rig.network.graph import Network, NodePlace
from rig.network.shapes import NEURONS, SPIKING, pair

#: Factor above the largest value seen.
_ROOM = 2.0
#: Passes over a cycle: after a neuron that fires, one more pass has no effect.
_ROUNDS = 3


def bounds(
    network: Network, dt_s: float, how: Conventions, seen: Mapping[str, float]
) -> dict[str, float]:
    """Return the largest absolute value that each node is expected to give; 1 for an
    input without any seen value.
    """
    of_nodes: dict[str, float] = {}
    for _ in range(_ROUNDS if network.late_edges else 1):
        for place in network.places:
            if place.name in network.inputs:
                of_nodes[place.name] = seen.get(place.name, 1.0)
                continue
            largest = leaving(place, entering(place, of_nodes), dt_s, how)
            if place.name in seen and not isinstance(place.node, SPIKING):
                largest = min(largest, _ROOM * seen[place.name])
            of_nodes[place.name] = largest
    return of_nodes


def entering(place: NodePlace, of_nodes: Mapping[str, float]) -> float:
    """Return the largest value that enters a node, all its sources at their largest."""
    return sum(
        of_nodes.get(name, 0.0) for name in (*place.sources, *place.late_sources)
    )


def leaving(place: NodePlace, largest: float, dt_s: float, how: Conventions) -> float:
    """Return the largest value that leaves a node, given the largest that enters it."""
    node = place.node
    if isinstance(node, NEURONS):
        parameters = rates(place, dt_s, how)
        return (
            float(parameters.spikes_max)
            if parameters.spiking
            else parameters.membrane_max(largest)
        )
    if hasattr(node, "weight"):
        weight = np.asarray(node.weight, np.float64)
        rows = np.abs(weight).reshape(len(weight), -1).sum(axis=1)
        bias = np.abs(np.asarray(getattr(node, "bias", 0.0), np.float64))
        return float(np.max(rows * largest + bias))
    if isinstance(node, nir.SumPool2d):
        return largest * math.prod(pair(node.kernel_size, 2))
    if isinstance(node, nir.Scale):
        return largest * float(np.max(np.abs(node.scale)))
    return 1.0 if isinstance(node, nir.Threshold) else largest
