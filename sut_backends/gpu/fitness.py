# SPDX-License-Identifier: Apache-2.0
"""Whether a network can be run on torch, and whether in whole numbers. Written for the
worker: numpy alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sut_backends.gpu.neurons import KINDS
from sut_backends.workers.inside.plain_network import (
    Metadata,
    PlainNetwork,
    PlainNode,
)

#: float32 holds every whole number up to here.
_EXACT_MAX = 1 << 24


def sound(network: PlainNetwork) -> None:
    """Raise ValueError where a network cannot be run here."""
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        raise ValueError(
            f"{len(network.inputs)} inputs and {len(network.outputs)} outputs: this"
            " backend runs networks of one each"
        )
    if not network.dt_s > 0:
        raise ValueError(f"a time step of {network.dt_s} s")
    for node in network.nodes:
        for name, value in node.parameters.given.items():
            numbers = np.asarray(value)
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                raise ValueError(f"{node.name}: {name} holds NaN or infinity")
            if name.startswith("tau") and (numbers <= 0).any():
                raise ValueError(f"{node.name}: {name} is not positive")


def states_integers(network: PlainNetwork) -> bool:
    """Check whether every neuron of a network states the integer rule, with matrices
    alone between them."""
    how = network.conventions
    rule = how.reset == "subtract" and how.gains == "unit" and not how.above
    spiking = [node for node in network.nodes if node.type in KINDS]
    if not rule or not spiking:
        return False
    known = ("Input", "Output", "Linear", "Flatten", *KINDS)
    if any(node.type not in known for node in network.nodes):
        return False
    if any(node.type != "CubaLIF" for node in spiking):
        return False
    return all(_states_all(node.metadata) for node in spiking)


def _states_all(metadata: Metadata) -> bool:
    return all(value is not None for value in vars(metadata).values())


def unscaled(network: PlainNetwork) -> PlainNetwork:
    """Convert weights and thresholds of a network to whole numbers, divided by its
    scales; raises ValueError if they are not whole."""
    nodes = []
    for node in network.nodes:
        parameter = {"Linear": "weight", "CubaLIF": "v_threshold"}.get(node.type)
        if parameter is not None:
            numbers = _whole(node, getattr(node.parameters, parameter))
            node = replace(
                node, parameters=replace(node.parameters, **{parameter: numbers})
            )
        nodes.append(node)
    return replace(network, nodes=tuple(nodes))


def input_max(network: PlainNetwork) -> int:
    """Compute how many spikes of an input keep every sum within the whole numbers of
    float32; raises ValueError where spikes of the network itself do not."""
    spikes_max = max(
        node.metadata.spikes_max or 1 for node in network.nodes if node.type in KINDS
    )
    most = _EXACT_MAX
    for node in network.nodes:
        if node.type == "Linear":
            weight = np.abs(node.parameters.weight)
            largest = max(float(weight.sum(axis=1).max(initial=0)), 1.0)
            if largest * spikes_max > _EXACT_MAX:
                raise ValueError(
                    f"{node.name}: its sums leave the whole numbers of float32"
                )
            most = min(most, int(_EXACT_MAX // largest))
    return most


def _whole(node: PlainNode, values: Any) -> Any:
    scale = node.metadata.scale
    numbers = np.asarray(values, np.float64) / float(1.0 if scale is None else scale)
    if not bool((numbers == np.rint(numbers)).all()):
        raise ValueError(
            f'{node.name} is not of whole numbers: arithmetic = "float" runs it'
        )
    return numbers
