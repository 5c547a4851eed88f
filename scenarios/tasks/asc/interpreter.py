# SPDX-License-Identifier: Apache-2.0
"""The network of a NIR file in floating point, node by node: what its numbers say before anything
rounds or saturates.

A chain of Linear and CubaLIF nodes, one step of dt_s after the other. A CubaLIF node is read as
Rockpool reads it (docs/ASC.md section 4), with the spike rule that its metadata name: current and
membrane lose dt / tau of themselves a step, r and w_in are 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from scenarios.tasks.asc.nirfile import SPIKE_RULE

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """One CubaLIF node and the Linear node before it: what a step keeps of current and membrane,
    weights (neurons, inputs).
    """

    weight: Floats
    keep_current: Floats
    keep_membrane: Floats
    threshold: Floats
    spikes_max: float

    def run(self, spikes: Floats) -> tuple[Floats, Floats]:
        """Run from rest over spikes (steps, inputs) -> spikes (steps, neurons), last membrane
        (neurons,).
        """
        drive = spikes @ self.weight.T
        current = np.zeros_like(self.threshold)
        membrane = np.zeros_like(self.threshold)
        out = np.empty_like(drive)
        for step, driven in enumerate(drive):
            current = (current + driven) * self.keep_current
            membrane = membrane * self.keep_membrane + current
            fired = np.minimum(np.maximum(membrane, 0.0) // self.threshold, self.spikes_max)
            membrane = membrane - fired * self.threshold
            out[step] = fired
        return out, membrane


def read_network(path: Path) -> tuple[Neurons, ...]:
    """Read the chain of a NIR file from its input to its output; DataError for any other graph."""
    graph = nir.read(str(path))
    following = dict(graph.edges)
    if len(following) != len(graph.edges):
        raise DataError(f"{path}: a node feeds several others", evidence=f"{graph.edges}")
    dt_s = graph.metadata["dt_s"]
    node = following.get("input")
    weight = None
    network = []
    while node is not None and node != "output":
        kind = graph.nodes[node]
        if isinstance(kind, nir.Linear) and weight is None:
            weight = np.asarray(kind.weight, np.float64)
        elif isinstance(kind, nir.CubaLIF) and weight is not None:
            network.append(_neurons(kind, weight, dt_s))
            weight = None
        else:
            raise DataError(
                f"{path}: {node} is a {type(kind).__name__} where none is understood",
                evidence="Linear, CubaLIF, ...",
            )
        node = following.get(node)
    if node is None or weight is not None or not network:
        raise DataError(
            f"{path}: no chain of Linear and CubaLIF nodes from input to output",
            evidence=f"{graph.edges}",
        )
    return tuple(network)


def run_network(network: tuple[Neurons, ...], spikes: NDArray[Any]) -> tuple[Floats, Floats]:
    """Run a network over spikes (steps, inputs) -> how often each output fired, and its last
    membrane, both (outputs,).
    """
    values = spikes.astype(np.float64)
    membrane = np.zeros(0)
    for neurons in network:
        values, membrane = neurons.run(values)
    return values.sum(axis=0), membrane


def _neurons(node: Any, weight: Floats, dt_s: float) -> Neurons:
    if node.metadata.get("spike_rule") != SPIKE_RULE:
        raise DataError(
            "a CubaLIF node with another spike rule",
            evidence=f"{node.metadata.get('spike_rule')!r}",
        )
    keep_current, keep_membrane = (
        1 - dt_s / np.asarray(tau_s, np.float64) for tau_s in (node.tau_syn, node.tau_mem)
    )
    threshold = np.asarray(node.v_threshold, np.float64)
    return Neurons(
        weight, keep_current, keep_membrane, threshold, float(node.metadata["spikes_max"])
    )
