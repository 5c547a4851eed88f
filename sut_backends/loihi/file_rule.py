# SPDX-License-Identifier: Apache-2.0
"""A network in Lava by its file's own rule: our process models, each step as the file
means it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sut_backends.loihi import rules
from sut_backends.loihi.running import Built
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.plain_network import PlainNetwork


def build(network: PlainNetwork, ring_steps: int) -> Built:
    """Build the processes of a network, connected, their ends rings of so many
    steps."""
    ours: Any = import_module("sut_backends.loihi.lava_rule.processes")
    source = import_module("lava.proc.io.source").RingBuffer
    sink = import_module("lava.proc.io.sink").RingBuffer
    states: list[tuple[Any, Any]] = []
    ports: dict[str, tuple[Any, Any]] = {}
    membranes: list[tuple[Any, Any]] = []
    exits: list[tuple[Any, Any]] = []
    last = layers.last_neurons(network)
    entry: Any = None
    for node in network.nodes:
        shape = node.shape_out
        match node.type:
            case "Input":
                entry = source(data=np.zeros((*shape, ring_steps)))
                ports[node.name] = (None, entry.s_out)
            case "Output":
                read = sink(shape=shape, buffer=ring_steps)
                ports[node.name] = (read.a_in, None)
                exits.append((np.arange(*shape), read))
            case "Linear" | "Affine":
                weights = layers.changed(node.parameters.weight, np.float64)
                process = ours.LavaConnection(weights, layers.bias(node))
                ports[node.name] = (process.s_in, process.a_out)
            case _:
                rule = rules.rule_of(node, network.conventions, network.dt_s)
                start = np.broadcast_to(rule.start, shape).astype(np.float64)
                process = ours.LavaNeurons(shape, rule, start)
                states += [
                    (process.current, np.zeros(shape)),
                    (process.membrane, start),
                ]
                ports[node.name] = (process.a_in, process.s_out)
                if node is last:
                    membranes.append((np.arange(*shape), process.membrane))
    for node in network.nodes:
        for name in node.sources:
            ports[name][1].connect(ports[node.name][0])
        for name in node.late_sources:
            late = ours.Late(node.shape_in)
            states.append((late.kept, np.zeros(node.shape_in)))
            ports[name][1].connect(late.s_in)
            late.s_out.connect(ports[node.name][0])
    return Built(entry, exits, states, membranes, lag_steps=0)
