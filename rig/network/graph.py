# SPDX-License-Identifier: Apache-2.0
"""A network: the nodes of a NIR file in the order of their computation in a step.

Subgraphs are taken apart; their nodes are named by both names and a dot. An edge that
closes a cycle brings the value of the step before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.errors import DataError
from rig.network import nir_file
from rig.network.shapes import NEURONS, Shape, entering, leaving

Edge = tuple[str, str]

#: Where this project's files state their time step.
DT_KEY = "dt_s"


@dataclass(frozen=True, slots=True, eq=False)
class NodePlace:
    """A node in its network: the nodes that feed it within a step, those that feed it
    one step later, and the shapes that enter and leave it.
    """

    name: str
    node: Any
    sources: tuple[str, ...]
    late_sources: tuple[str, ...]
    shape_in: Shape
    shape_out: Shape


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A network that can be run: its places in order; `dt_s` as the file states it,
    else None."""

    places: tuple[NodePlace, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt_s: float | None

    @property
    def late_edges(self) -> tuple[Edge, ...]:
        """The edges that close cycles, and bring the step before."""
        edges: list[Edge] = []
        for place in self.places:
            edges += [(source, place.name) for source in place.late_sources]
        return tuple(edges)

    def place(self, name: str) -> NodePlace:
        """Return the place of a node."""
        return next(place for place in self.places if place.name == name)


def read(path: Path) -> Any:
    """Return the NIR graph of a file, with no check of its types; raises DataError
    where it is none.
    """
    if not path.exists():
        raise DataError(f"{path} does not exist")
    graph = nir_file.read(path)
    if not isinstance(graph, nir.NIRGraph):
        raise DataError(f"{path} holds a {type(graph).__name__}, not a graph")
    return graph


def network(graph: Any) -> Network:
    """Return the network of a NIR graph; raises DataError where it has no order or no
    shapes."""
    nodes, edges = taken_apart(graph)
    for edge in edges:
        if missing := [name for name in edge if name not in nodes]:
            raise DataError(
                f"an edge names {missing[0]}, which is no node", evidence=f"{edge}"
            )
    inputs = tuple(
        name for name, node in graph.nodes.items() if isinstance(node, nir.Input)
    )
    outputs = tuple(
        name for name, node in graph.nodes.items() if isinstance(node, nir.Output)
    )
    if not inputs or not outputs:
        raise DataError(
            f"the graph has {len(inputs)} inputs and {len(outputs)} outputs",
            evidence=f"its nodes: {', '.join(map(repr, list(graph.nodes)[:20]))}",
            try_next="an Input and an Output node in the file",
        )
    order, late = _ordered(nodes, edges, inputs)
    shapes = _shapes(nodes, edges, late, order)
    places = []
    for name in order:
        sources = tuple(
            one for one, other in edges if other == name and (one, other) not in late
        )
        behind = tuple(
            one for one, other in edges if other == name and (one, other) in late
        )
        entered, left = shapes[name]
        places.append(
            NodePlace(
                name=name,
                node=nodes[name],
                sources=sources,
                late_sources=behind,
                shape_in=entered,
                shape_out=left,
            )
        )
    return Network(tuple(places), inputs, outputs, stated_dt_s(graph))


def taken_apart(graph: Any, prefix: str = "") -> tuple[dict[str, Any], list[Edge]]:
    """Return nodes and edges without subgraphs; raises DataError for one that has
    several ways in or out.
    """
    nodes: dict[str, Any] = {}
    edges: list[Edge] = []
    entries: dict[str, str] = {}
    exits: dict[str, str] = {}
    for name, node in graph.nodes.items():
        full = f"{prefix}{name}"
        if not isinstance(node, nir.NIRGraph):
            nodes[full] = node
            continue
        inner_nodes, inner_edges = taken_apart(node, f"{full}.")
        nodes |= inner_nodes
        edges += inner_edges
        entries[full] = _only(full, node, nir.Input)
        exits[full] = _only(full, node, nir.Output)
    for source, target in graph.edges:
        one, other = f"{prefix}{source}", f"{prefix}{target}"
        edges.append((exits.get(one, one), entries.get(other, other)))
    return nodes, list(dict.fromkeys(edges))


def _only(full: str, graph: Any, kind: type) -> str:
    names = [name for name, node in graph.nodes.items() if isinstance(node, kind)]
    if len(names) != 1:
        raise DataError(
            f"the subgraph {full} has {len(names)} {kind.__name__} nodes",
            evidence="one is meant",
        )
    return f"{full}.{names[0]}"


def _ordered(
    nodes: dict[str, Any], edges: list[Edge], inputs: tuple[str, ...]
) -> tuple[list[str], set[Edge]]:
    """Return the nodes that an input reaches, sources first, and the edges that close
    cycles.

    Depth first from the inputs, along the edges in the file's order: so the first
    neuron that an input reaches begins a cycle, and the edge back to it is late.
    """
    following: dict[str, list[str]] = {name: [] for name in nodes}
    for source, target in edges:
        following[source].append(target)
    late: set[Edge] = set()
    done: list[str] = []
    finished: set[str] = set()
    for start in inputs:
        if start in finished:
            continue
        path = [start]
        on_path = {start}
        turns = [iter(following[start])]
        while path:
            target = next(turns[-1], "")
            if not target:
                name = path.pop()
                on_path.discard(name)
                turns.pop()
                finished.add(name)
                done.append(name)
            elif target in on_path:
                late.add((path[-1], target))
            elif target not in finished:
                path.append(target)
                on_path.add(target)
                turns.append(iter(following[target]))
    return done[::-1], late


def _shapes(
    nodes: dict[str, Any], edges: list[Edge], late: set[Edge], order: list[str]
) -> dict[str, tuple[Shape, Shape]]:
    """Return the shapes that enter and leave each node; late inputs must have the shape
    of the others.
    """
    shapes: dict[str, tuple[Shape, Shape]] = {}
    for name in order:
        before = [
            one for one, other in edges if other == name and (one, other) not in late
        ]
        given = {shapes[one][1] for one in before if one in shapes}
        entering_shape = entering(nodes[name])
        if len(given) > 1:
            raise DataError(
                f"{name} is fed by nodes of different shapes",
                evidence=", ".join(f"{one} gives {shapes[one][1]}" for one in before),
            )
        entered = given.pop() if given else entering_shape
        if entered is None:
            raise DataError(
                f"{name}, a {type(nodes[name]).__name__}, has no shape",
                evidence="nothing feeds it, and it states none",
            )
        shapes[name] = (entered, leaving(name, nodes[name], entered))
    for source, target in late:
        if shapes[source][1] != shapes[target][0]:
            raise DataError(
                f"{source} feeds {target} of another shape",
                evidence=f"gives {shapes[source][1]}, taken is {shapes[target][0]}",
            )
    return shapes


def stated_dt_s(graph: Any) -> float | None:
    """Return the time step that a file states, in seconds; None where it states
    none."""
    stated = graph.metadata.get(DT_KEY) if isinstance(graph.metadata, dict) else None
    if isinstance(stated, int | float | np.number) and float(stated) > 0:
        return float(stated)
    return None


def neurons(found: Network) -> list[NodePlace]:
    """Return the places of neurons: nodes with a state that decays, integrates or
    spikes."""
    return [place for place in found.places if isinstance(place.node, NEURONS)]


def membrane_of(found: Network, name: str) -> str:
    """Return the population that alone feeds an output, through nodes that change no
    value; "" where there is none.
    """
    place = found.place(name)
    while not isinstance(place.node, NEURONS):
        passes = isinstance(place.node, nir.Input | nir.Output | nir.Flatten)
        if not passes or len(place.sources) != 1 or place.late_sources:
            return ""
        place = found.place(place.sources[0])
    return place.name
