# SPDX-License-Identifier: Apache-2.0
"""The plain form of a network, read with numpy alone: nodes in the order of a step, their
parameters as arrays, and the conventions by which it is stepped (rig/network/plain.py writes it).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

NETWORK = "network"


@dataclass(frozen=True)
class PlainNode:
    """A node: its type as NIR calls it, shapes without a batch, the nodes that feed it in this step
    and those whose values of the step before it gets, and its parameters as arrays.
    """

    name: str
    type: str
    shape_in: tuple[int, ...]
    shape_out: tuple[int, ...]
    sources: tuple[str, ...]
    late_sources: tuple[str, ...]
    parameters: dict[str, Any]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class PlainNetwork:
    """A network: time step in seconds, conventions by name (docs/MODELS.md), inputs, outputs,
    nodes.
    """

    dt_s: float
    conventions: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[PlainNode, ...]


def read(path: str) -> PlainNetwork:
    """Return the network of an .npz file."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        content = json.loads(str(arrays[NETWORK]))
        nodes = tuple(
            PlainNode(
                name=node["name"],
                type=node["type"],
                shape_in=tuple(node["shape_in"]),
                shape_out=tuple(node["shape_out"]),
                sources=tuple(node["sources"]),
                late_sources=tuple(node["late_sources"]),
                parameters={key: arrays[f"{node['name']}/{key}"] for key in node["parameters"]},
                metadata=node["metadata"],
            )
            for node in content["nodes"]
        )
    return PlainNetwork(
        dt_s=content["dt_s"],
        conventions=content["conventions"],
        inputs=tuple(content["inputs"]),
        outputs=tuple(content["outputs"]),
        nodes=nodes,
    )
