# SPDX-License-Identifier: Apache-2.0
"""Write networks in the form of the NIR paper's examples, with weights from a seed, and
inputs.

`python examples/make_networks.py FOLDER`. The paper's form: a recurrent CubaLIF network
as a graph in the graph, and as a cycle of edges; convolutions, IF neurons, pools and
Flatten. No weight and no sample is the paper's: they are random, and what the networks
tell apart means nothing. The labels are what the network in floating point decides, so
that accuracy says what whole numbers change. Like the paper's files they state no time
step; DT_S is meant. The network of [task.network] where no other is named is
`recurrent(nested=False)`, with its time step.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.network import graph
from rig.network.fixed.report import decisions
from rig.network.interpreter import run
from scenarios.tasks.network.generate import STEPS, samples

DT_S = 1e-3
CHANNELS, HIDDEN, CLASSES = 12, 24, 7
IMAGE = (2, 16, 16)


def cuba_lif(size: int, threshold: float) -> Any:
    """Return neurons with the gains of a spike that counts whole, as exporters write
    them."""
    one = np.ones(size)
    return nir.CubaLIF(
        tau_syn=5e-3 * one,
        tau_mem=20e-3 * one,
        r=20.0 * one,
        v_leak=0 * one,
        v_threshold=threshold * one,
        v_reset=0 * one,
        w_in=5.0 * one,
    )


def recurrent(nested: bool) -> Any:
    """Return the recurrent network; both forms hold the same numbers."""
    rng = np.random.default_rng(3)
    first = nir.Affine(
        rng.normal(0.1, 0.5, (HIDDEN, CHANNELS)), rng.normal(0, 0.02, HIDDEN)
    )
    again = nir.Affine(rng.normal(-0.05, 0.3, (HIDDEN, HIDDEN)), np.zeros(HIDDEN))
    second = nir.Affine(rng.normal(0.05, 0.5, (CLASSES, HIDDEN)), np.zeros(CLASSES))
    hidden = cuba_lif(HIDDEN, 2.0)
    size = np.array([HIDDEN])
    nodes: dict[str, Any] = {"input": nir.Input(np.array([CHANNELS])), "fc1": first}
    if nested:
        inside = {
            "input": nir.Input(size),
            "lif": hidden,
            "w_rec": again,
            "output": nir.Output(size),
        }
        ways = [("input", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")]
        nodes["lif1"] = nir.NIRGraph(inside, ways, type_check=False)
    else:
        nodes["lif1"] = hidden
    nodes |= {"fc2": second, "lif2": cuba_lif(CLASSES, 2.0)}
    nodes["output"] = nir.Output(np.array([CLASSES]))
    edges = list(pairwise(nodes))
    if not nested:
        nodes["w_rec"] = again
        edges += [("lif1", "w_rec"), ("w_rec", "lif1")]
    return nir.NIRGraph(nodes, edges, type_check=False)


def convolutional() -> Any:
    """Return two convolutions with integrate-and-fire neurons and pools, then a
    weighted sum."""
    rng = np.random.default_rng(4)
    two = np.array([2, 2])
    none = np.array([0, 0])

    def conv(shape: tuple[int, ...], sides: tuple[int, int], stride: int) -> Any:
        weight = rng.normal(0.02, 0.3, shape)
        bias = rng.normal(0, 0.02, shape[0])
        return nir.Conv2d(sides, weight, (stride, stride), (1, 1), (1, 1), 1, bias)

    def fire(shape: tuple[int, ...]) -> Any:
        one = np.ones(shape)
        return nir.IF(one / DT_S, one, 0 * one)

    nodes = {
        "input": nir.Input(np.array(IMAGE)),
        "conv1": conv((4, 2, 3, 3), (16, 16), 2),
        "if1": fire((4, 8, 8)),
        "conv2": conv((6, 4, 3, 3), (8, 8), 1),
        "if2": fire((6, 8, 8)),
        "pool": nir.SumPool2d(two, two, none),
        "flatten": nir.Flatten({"input": np.array([6, 4, 4])}, 0, -1),
        "fc": nir.Affine(rng.normal(0.01, 0.15, (5, 96)), np.zeros(5)),
        "if3": fire((5,)),
        "output": nir.Output(np.array([5])),
    }
    return nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False)


def labelled(made: Any, inputs: np.ndarray) -> np.ndarray:
    """Return what a network decides in floating point."""
    network = graph.network(made)
    done = run(network, inputs, DT_S)
    values = done.values[network.outputs[0]]
    last = next(
        place.name for place in reversed(network.places) if place.name in done.membranes
    )
    membranes = done.membranes[last].reshape(len(inputs), -1)
    return decisions(values.sum(axis=1).reshape(len(inputs), -1), membranes)


def write(folder: Path, count: int = 40) -> None:
    """Write all networks, their inputs and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "recurrent-nested": (recurrent(True), (CHANNELS,)),
        "recurrent-flat": (recurrent(False), (CHANNELS,)),
        "convolutional": (convolutional(), IMAGE),
    }
    for name, (network, shape) in made.items():
        inputs = samples(shape, count)
        nir.write(folder / f"{name}.nir", network)
        np.save(folder / f"{name}-inputs.npy", inputs)
        np.save(folder / f"{name}-labels.npy", labelled(network, inputs))


__all__ = [
    "CHANNELS",
    "DT_S",
    "STEPS",
    "convolutional",
    "recurrent",
    "samples",
    "write",
]

if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "networks"))
