# SPDX-License-Identifier: Apache-2.0
"""A network as Lava's own LIF and Dense, in numbers: cells and their decays, matrices
between them.

The rule differs from that of most files: one spike a step, above the threshold, and a
reset to 0; and a Dense sends a step after its input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sut_backends.loihi.rules import share
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.plain_network import PlainNetwork, PlainNode
from sut_backends.workers.inside.unrolled import unrolled


@dataclass(frozen=True)
class Cells:
    """Cells of one node that are one Lava process: which of the node they are, their
    decays and thresholds, one of each a cell.
    """

    node: str
    which: Any
    du: Any
    dv: Any
    threshold: Any


@dataclass(frozen=True)
class Synapses:
    """A Dense from cells, or from the input (None), to cells; weights (outputs,
    inputs)."""

    source: int | None
    target: int
    weights: Any


@dataclass(frozen=True)
class StockPlan:
    """All cells and synapses of a network, which cells give its output, and by how many
    steps that is late.
    """

    cells: list[Cells]
    synapses: list[Synapses]
    outputs: list[int]
    lag_steps: int


def plan(network: PlainNetwork, *, vectors: bool) -> StockPlan:
    """Plan the cells; `vectors`: a process takes decays and thresholds cell by cell, as
    on a processor, else cells that share them are a process each, as on a chip.

    ValueError for a network that stock cells cannot be.
    """
    network = unrolled(network)
    layers.refuse(network, "Lava")
    nodes = {node.name: node for node in network.nodes}
    last = layers.last_neurons(network)
    if last is None:
        raise ValueError(
            f"{network.outputs[0]} is not fed by neurons alone: a stock rule reads"
            " spikes"
        )
    late = layers.steps_late(network, "stock Dense")
    groups: list[Cells] = []
    factors: dict[str, Any] = {}
    for node in network.nodes:
        if node.type in layers.NEURONS:
            cells, factors[node.name] = _cells(node, network, vectors)
            groups += cells
    synapses = []
    for node in network.nodes:
        if node.type in layers.CONNECTIONS:
            targets = layers.targets(node, network)
            synapses += _between(node, nodes, targets, groups, factors)
    outputs = [index for index, cells in enumerate(groups) if cells.node == last.name]
    return StockPlan(groups, synapses, outputs, late[last.name])


def _between(
    node: PlainNode,
    nodes: dict[str, PlainNode],
    targets: list[str],
    groups: list[Cells],
    factors: dict[str, Any],
) -> list[Synapses]:
    """List the matrices of a connection, one from each source process to each
    target."""
    (source,) = (*node.sources, *node.late_sources)
    before: list[tuple[int | None, Any]] = []
    for index, cells in enumerate(groups):
        if cells.node == source:
            before.append((index, cells.which))
    if nodes[source].type == "Input":
        before = [(None, np.arange(nodes[source].shape_out[0]))]
    weights = layers.changed(node.parameters.weight, np.float64)
    sparse = hasattr(weights, "tocsr")
    made = []
    for target, cells in enumerate(groups):
        if cells.node in targets:
            factor = factors[cells.node][cells.which, None]
            rows = weights[cells.which]
            # An array times a sparse matrix is another product.
            rows = rows.multiply(factor).tocsr() if sparse else rows * factor
            made += [Synapses(index, target, rows[:, which]) for index, which in before]
    return made


def _cells(
    node: PlainNode, network: PlainNetwork, vectors: bool
) -> tuple[list[Cells], Any]:
    """Make the cells of a node, and the factor for the weights into each: the gain of
    an input in a step is part of the weight, as u = u (1 - du) + w and v = v (1 - dv) +
    u.
    """
    values = node.parameters
    scheme = network.conventions.scheme
    if _is_not_zero(values.v_reset):
        raise ValueError(
            f"{node.name} has a v_reset that is not 0, to which a stock LIF goes back"
        )
    if _is_not_zero(values.v_leak):
        raise ValueError(
            f"{node.name} has a v_leak that is not 0: as a bias it would begin before"
            " the input"
        )
    gain = np.asarray(values.r, np.float64)
    factor: Any = 1.0
    share_syn: Any = 1.0
    if node.type == "IF":
        share_mem: Any = 0.0
        factor = network.dt_s * gain
    else:
        share_mem = share(
            values.tau if values.tau_mem is None else values.tau_mem,
            network.dt_s,
            scheme,
        )
        factor = share_mem * gain
    if node.type == "CubaLIF":
        share_syn = share(values.tau_syn, network.dt_s, scheme)
        factor = factor * share_syn * np.asarray(values.w_in, np.float64)
    if network.conventions.gains != "file":
        factor = 1.0
    each = []
    for value in (share_syn, share_mem, values.v_threshold, factor):
        each.append(np.broadcast_to(value, node.shape_out).astype(np.float64))
    kinds = np.stack(each[:3], axis=1)
    number = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    groups = [np.flatnonzero(number == kind) for kind in range(int(number.max()) + 1)]
    if vectors:
        groups = [np.arange(len(number))]
    du, dv, threshold, factors = each
    cells = []
    for which in groups:
        of_kind = Cells(node.name, which, du[which], dv[which], threshold[which])
        cells.append(of_kind)
    return cells, factors


def _is_not_zero(stated: Any) -> bool:
    """Check whether a parameter is there and not 0."""
    return stated is not None and bool(np.any(stated))
