# SPDX-License-Identifier: Apache-2.0
"""A network in PyNN's units, in numbers: ms, mV, nA, nF; populations and projections of
them.

The rule of PyNN's cells differs from that of most files: exact exponentials, one spike
a step, and a reset to v_reset; a projection delays spikes by a step, the least delay
possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sut_backends.workers.inside import layers
from sut_backends.workers.inside.plain_network import PlainNetwork, PlainNode

NEURONS = ("LIF", "CubaLIF")
#: The highest threshold of a population lies so far above its rest.
THRESHOLD_MV = 10.0
#: The largest weight of a population: below, a weight's 16 bits would not be used.
WEIGHT_NA = 1.0


@dataclass(frozen=True, kw_only=True)
class PynnPopulation:
    """A node of neurons as PyNN cells: their kind and number, parameters in ms, mV and
    nF, the membrane that they begin with in mV, and how many mV one unit of the file
    is.
    """

    node: str
    kind: str
    size: int
    parameters: dict[str, Any]
    begin_mv: Any
    mv: float


@dataclass(frozen=True)
class Projection:
    """Weights (outputs, inputs) in nA, in mV where the cells take jumps of the
    membrane."""

    source: str
    target: str
    weights: Any


@dataclass(frozen=True, kw_only=True)
class PynnPlan:
    """All of a network; the time step in ms, and by how many steps the output is
    late."""

    dt_ms: float
    input: str
    channels: int
    populations: list[PynnPopulation]
    projections: list[Projection]
    output: str
    lag_steps: int
    differs: str


def plan(network: PlainNetwork) -> PynnPlan:
    """Plan the populations; ValueError, by the name of the node, for a network that
    PyNN's cells cannot be."""
    network = layers.without_inner_ends(network)
    layers.refuse(network, "SpiNNaker", NEURONS)
    late = layers.steps_late(network, "projection")
    last = layers.last_neurons(network)
    if last is None:
        raise ValueError(f"{network.outputs[0]} is not fed by neurons alone")
    nodes = {node.name: node for node in network.nodes}
    populations = []
    projections = []
    for node in network.nodes:
        if node.type in NEURONS:
            into = _into(node, network)
            population, factor = _population(
                node, network, [weights for _, weights in into]
            )
            populations.append(population)
            projections += [
                Projection(source, node.name, weights * factor[:, None])
                for source, weights in into
            ]
    entry = nodes[network.inputs[0]]
    return PynnPlan(
        dt_ms=network.dt_s * 1e3,
        input=entry.name,
        channels=entry.shape_out[0],
        populations=populations,
        projections=projections,
        output=last.name,
        lag_steps=late[last.name],
        differs=_differs(network),
    )


def _differs(network: PlainNetwork) -> str:
    euler = network.conventions.scheme == "euler"
    exact = ["exact exponentials, not forward Euler"] if euler else []
    return layers.differs(network.conventions, *exact, "16-bit weights")


def _into(node: PlainNode, network: PlainNetwork) -> list[tuple[str, Any]]:
    """Return the connections that feed a node: whose spikes, and the file's weights."""
    nodes = {one.name: one for one in network.nodes}
    connections = [nodes[name] for name in (*node.sources, *node.late_sources)]
    into = []
    for connection in connections:
        source = (*connection.sources, *connection.late_sources)[0]
        into.append((source, np.asarray(connection.parameters.weight, np.float64)))
    return into


def _population(
    node: PlainNode, network: PlainNetwork, weights: list[Any]
) -> tuple[PynnPopulation, Any]:
    """Return a node's cells, and the factor for the weights into each.

    A spike of the file is a pulse of height 1 and width dt. Into CubaLIF it brings the
    charge w_in w dt, which PyNN has as a jump of the current that decays with tau_syn;
    into LIF it moves the membrane by r w dt / tau.
    """
    values = node.parameters
    dt_ms = network.dt_s * 1e3
    unit = network.conventions.gains != "file"
    cuba = node.type == "CubaLIF"
    size = node.shape_out
    tau_ms = _each(values.tau_mem if cuba else values.tau, size) * 1e3
    rest = _each(values.v_leak, size)
    threshold = _each(values.v_threshold, size)
    height = threshold - rest
    if np.any(height <= 0):
        raise ValueError(f"{node.name} has a threshold that is not above its rest")
    mv = THRESHOLD_MV / float(height.max())
    gain = tau_ms / dt_ms if unit else _each(values.r, size)
    synaptic: dict[str, Any] = {}
    if cuba:
        tau_syn_ms = _each(values.tau_syn, size) * 1e3
        gain_in = tau_syn_ms / dt_ms if unit else _each(values.w_in, size)
        synaptic = {"tau_syn_E": tau_syn_ms, "tau_syn_I": tau_syn_ms}
        # With cm = 1 nF a current moves a membrane towards tau_m / cm times it.
        factor = gain_in * dt_ms / tau_syn_ms * gain * mv / tau_ms
    else:
        factor = gain * dt_ms / tau_ms * mv
    factor = np.broadcast_to(factor, size)
    cm_nf = 1.0
    peaks = [float(np.abs(one * factor[:, None]).max()) for one in weights]
    largest = max(peaks, default=0.0)
    if cuba and largest > 0:
        # A larger capacitance asks for larger currents, for which a weight has 16 bits.
        cm_nf = WEIGHT_NA / largest
        factor = factor * cm_nf
    parameters: dict[str, Any] = {
        "tau_m": tau_ms,
        "v_rest": rest * mv,
        "v_reset": _each(values.v_reset, size) * mv,
        "v_thresh": threshold * mv,
        "tau_refrac": 0.0,
        "i_offset": 0.0,
        "cm": cm_nf,
        **synaptic,
    }
    begin = rest * mv if network.conventions.start == "leak" else rest * 0.0
    kind = "IF_curr_exp" if cuba else "IF_curr_delta"
    population = PynnPopulation(
        node=node.name,
        kind=kind,
        size=len(tau_ms),
        parameters=parameters,
        begin_mv=begin,
        mv=mv,
    )
    return population, factor


def _each(stated: Any, size: tuple[int, ...]) -> Any:
    """Return a parameter of each neuron; 0 where there is none."""
    return np.broadcast_to(
        np.asarray(0.0 if stated is None else stated, np.float64), size
    )
