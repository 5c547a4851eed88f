# SPDX-License-Identifier: Apache-2.0
"""Networks of connections and neurons, cycles among them: what SDKs with populations
and projections run. All else is refused by the name of its node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sut_backends.workers.inside.plain_network import (
    PlainConventions,
    PlainNetwork,
    PlainNode,
)

CONNECTIONS = ("Linear", "Affine")
NEURONS = ("IF", "LIF", "CubaLIF")
ENDS = ("Input", "Output")


def refuse(
    network: PlainNetwork, where: str, neurons: tuple[str, ...] = NEURONS
) -> None:
    """Raise ValueError for a network that cannot be built of connections and such
    neurons."""
    known = (*ENDS, *CONNECTIONS, *neurons)
    for node in network.nodes:
        if node.type not in known:
            raise ValueError(
                f"{node.name} is a {node.type}: {where} runs {', '.join(known)} and no"
                " other nodes"
            )
        if len(node.shape_out) != 1:
            raise ValueError(
                f"{node.name} has values of the shape {list(node.shape_out)}: one axis"
                " is meant, after a Flatten of the file's own"
            )
        if node.type in ENDS:
            continue
        for value in node.parameters.given.values():
            if not np.all(np.isfinite(numbers(value))):
                raise ValueError(f"{node.name} holds NaN or infinity")
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        raise ValueError(
            f"{len(network.inputs)} inputs and {len(network.outputs)} outputs, one of"
            " each is meant"
        )


def numbers(weights: Any) -> Any:
    """Return the numbers of a matrix, of a sparse one those that it holds."""
    return weights.data if hasattr(weights, "tocsr") else np.asarray(weights)


def changed(weights: Any, change: Callable[[Any], Any]) -> Any:
    """Return a matrix, sparse or not, with changed numbers."""
    if not hasattr(weights, "tocsr"):
        return change(np.asarray(weights))
    scaled = weights.copy()
    scaled.data = change(weights.data)
    return scaled


def without_inner_ends(network: PlainNetwork) -> PlainNetwork:
    """Remove the Input and Output nodes of subgraphs; their targets are connected to
    their sources. ValueError where a late edge begins or ends at one."""
    outer = (*network.inputs, *network.outputs)
    inner = {node.name: node for node in network.nodes if node.type in ENDS}
    inner = {name: node for name, node in inner.items() if name not in outer}

    def fed_by(names: tuple[str, ...]) -> tuple[str, ...]:
        layers: list[str] = []
        for name in names:
            layers += fed_by(inner[name].sources) if name in inner else (name,)
        return tuple(layers)

    for node in network.nodes:
        late = [
            name for name in node.late_sources if name in inner or node.name in inner
        ]
        if late:
            raise ValueError(
                f"{late[0]} feeds {node.name} a step later, an end of a subgraph"
            )
    kept = [
        replace(node, sources=fed_by(node.sources))
        for node in network.nodes
        if node.name not in inner
    ]
    return replace(network, nodes=tuple(kept))


def bias(node: PlainNode) -> Any:
    """Return the bias of a connection; zeros where it has none."""
    stated = node.parameters.bias
    return (
        np.zeros(node.shape_out) if stated is None else np.asarray(stated, np.float64)
    )


def last_neurons(network: PlainNetwork) -> PlainNode | None:
    """Return the neurons whose values are the output, if one node of neurons alone
    feeds it."""
    nodes = {node.name: node for node in network.nodes}
    output = nodes[network.outputs[0]]
    feeding = (*output.sources, *output.late_sources)
    if len(feeding) == 1 and nodes[feeding[0]].type in NEURONS:
        return nodes[feeding[0]]
    return None


def channels(network: PlainNetwork) -> int:
    """Count the channels of the input."""
    return next(
        node.shape_out[0] for node in network.nodes if node.name == network.inputs[0]
    )


def steps_late(network: PlainNetwork, what: str) -> dict[str, int]:
    """Compute the lag of each node's output in steps if each connection takes a step;
    `what` is such a connection's name.

    ValueError where that changes the network: ways of different length that meet, and a
    cycle that is not one connection from a node back to itself. ValueError too for a
    bias, for a connection that does not take the spikes of one node, and neurons
    without a connection before them.
    """
    nodes = {node.name: node for node in network.nodes}
    late: dict[str, int] = {}
    for node in network.nodes:
        feeding = (*node.sources, *node.late_sources)
        if node.type in CONNECTIONS:
            _refuse_connection(node, feeding, nodes, what)
        elif node.type in NEURONS:
            loose = [name for name in feeding if nodes[name].type not in CONNECTIONS]
            if loose:
                raise ValueError(
                    f"{node.name} is fed by {loose[0]} without a connection between"
                )
        ways = {late[name] + (node.type in CONNECTIONS) for name in node.sources}
        if len(ways) > 1:
            raise ValueError(
                f"{node.name} is fed over ways of {sorted(ways)} {what}: spikes of one"
                " step would meet those of another"
            )
        late[node.name] = ways.pop() if ways else 0
    for node in network.nodes:
        for name in node.late_sources:
            if node.type not in NEURONS or nodes[name].sources != (node.name,):
                raise ValueError(
                    f"{name} feeds back to {node.name}: a {what} closes a cycle from a"
                    " node to itself, and no longer one, as each takes a step"
                )
    return late


def _refuse_connection(
    node: PlainNode, feeding: tuple[str, ...], nodes: dict[str, PlainNode], what: str
) -> None:
    if np.any(bias(node)):
        raise ValueError(f"{node.name} has a bias, which a {what} has not")
    if len(feeding) != 1 or nodes[feeding[0]].type in CONNECTIONS:
        raise ValueError(
            f"{node.name} is fed by {', '.join(feeding)}: a {what} takes the spikes of"
            " one node"
        )


def targets(node: PlainNode, network: PlainNetwork) -> list[str]:
    """List the nodes that a node feeds."""
    return [
        other.name
        for other in network.nodes
        if node.name in (*other.sources, *other.late_sources)
    ]


def differs(conventions: PlainConventions, *more: str) -> str:
    """List the differences from a file's conventions of cells that fire once a step,
    above the threshold, and reset to a value; `more`: further differences. Empty: none.
    """
    parts = list(more)
    if conventions.spikes_max > 1:
        parts.append(f"one spike a step, not up to {conventions.spikes_max}")
    if conventions.reset.startswith("subtract"):
        parts.append("a reset to a value, not by the threshold")
    if conventions.reset == "none":
        parts.append("a reset to a value, where the conventions have none")
    if not conventions.above:
        parts.append("a spike above the threshold, not at it")
    if conventions.gains != "file":
        parts.append("an input added behind the decay, not before")
    if conventions.current == "last":
        parts.append("the new current, not that of the step before")
    return "; ".join(parts)
