# SPDX-License-Identifier: Apache-2.0
"""The size of a network: neurons, synapses, parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import nir
import numpy as np

from rig.network.graph import Network, Place, neurons

_PARAMETERS = ("weight", "bias", "scale", "r", "v_leak", "v_threshold", "v_reset", "w_in")
_TIMES = ("tau", "tau_syn", "tau_mem", "delay", "threshold")


@dataclass(frozen=True, slots=True)
class Footprint:
    """The size of a network: a synapse is a connection from one value to another, so that a weight
    of a convolution counts at every place of its kernel; `nonzero` are those with a weight.
    """

    neurons: int
    synapses: int
    nonzero: int
    parameters: int

    @property
    def sparsity(self) -> float:
        """Return the share of synapses without a weight; 0 where there is none at all."""
        return 1.0 - self.nonzero / self.synapses if self.synapses else 0.0


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
        count, synapses, nonzero, sum(parameters(place.node) for place in network.places)
    )


def parameters(node: Any) -> int:
    """Return how many numbers a node holds."""
    values = [getattr(node, name, None) for name in (*_PARAMETERS, *_TIMES)]
    return sum(np.asarray(value).size for value in values if value is not None)


def _repeated(place: Place) -> int:
    """Return at how many places a weight is used."""
    if isinstance(place.node, nir.Conv1d | nir.Conv2d):
        return math.prod(place.shape_out[1:])
    return 1
