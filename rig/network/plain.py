# SPDX-License-Identifier: Apache-2.0
"""The plain form of a network: an .npz file that a worker reads with numpy alone,
without NIR.

The entry `network` is JSON text: time step, conventions, inputs, outputs, and the nodes
in the order of a step, subgraphs taken apart. Each parameter of a node is an array
NODE/PARAMETER.
"""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.network.conventions import Conventions, by_name
from rig.network.graph import Network, NodePlace
from rig.network.late_spikes import with_late_spikes

#: Fields of a node that are no parameters of its equation.
_ABOUT = ("input_type", "output_type", "metadata", "input_shape")


def write_plain(
    network: Network, how: Conventions, dt_s: float | None, path: Path
) -> None:
    """Write a network; DataError where neither the caller nor the file states a time
    step."""
    step_s = network.dt_s if dt_s is None else dt_s
    if step_s is None:
        raise DataError(
            "the network states no time step", try_next="dt_s in its metadata"
        )
    network = with_late_spikes(network, how, step_s)
    arrays: dict[str, Any] = {}
    nodes = []
    for place in network.places:
        parameters = _parameters(place)
        arrays |= {f"{place.name}/{key}": value for key, value in parameters.items()}
        nodes.append(
            {
                "name": place.name,
                "type": type(place.node).__name__,
                "shape_in": list(map(int, place.shape_in)),
                "shape_out": list(map(int, place.shape_out)),
                "sources": list(place.sources),
                "late_sources": list(place.late_sources),
                "parameters": list(parameters),
                "metadata": _plain(place.node.metadata),
            }
        )
    inputs = list(network.inputs)
    outputs = list(network.outputs)
    content = {
        "dt_s": float(step_s),
        "conventions": by_name(how),
        "inputs": inputs,
        "outputs": outputs,
        "nodes": nodes,
    }
    with path.open("wb") as file:
        np.savez(file, network=np.asarray(json.dumps(content)), **arrays)


def _parameters(place: NodePlace) -> dict[str, Any]:
    """Return the arrays of a node's equation, those that are there."""
    parameters = {}
    for part in dataclasses.fields(place.node):
        value = getattr(place.node, part.name)
        if part.name not in _ABOUT and value is not None:
            parameters[part.name] = np.asarray(value)
    return parameters


def _plain(value: Any) -> Any:
    """Return metadata as JSON has them; what JSON has not is left out."""
    match value:
        case dict():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case np.ndarray():
            return value.tolist()
        case np.generic():
            return value.item()
        case Enum():
            return value.value
        case str() | int() | float() | bool() | None:
            return value
    return None
