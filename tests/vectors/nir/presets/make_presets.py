# SPDX-License-Identifier: Apache-2.0
"""Make the vectors beside this file: small random networks that snntorch, norse,
sinabs, rockpool, spyx and lava-dl wrote by their own exporters, each with defaults, and
the spikes that they fired on random input.

    PYTHON tests/vectors/nir/presets/make_presets.py PROGRAM FOLDER [SEED]

PYTHON is one that has the program: none of them is a dependency, and they do not share
one environment (sinabs wants nir up to 1.0.4, spyx brings JAX). Of a network NAME.nir,
NAME.npz holds `input` and `output` (steps, values), the `preset` to run it by, and the
`versions` of the program and of nir. lava-dl rounds its states: of its networks NAME.npz
also holds `hidden`, the spikes that enter the second layer, and for each layer the
membranes before their reset. tests/rig/network/test_conventions.py compares the
reference interpreter with them, and runs this file where a program is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nir
import numpy as np

INPUTS, HIDDEN, OUTPUTS = 6, 12, 5
STEPS = 200

#: Name of the network, its graph, its input (steps, values), its output (steps,
#: values); further arrays to store.
Case = tuple[str, Any, np.ndarray, np.ndarray, dict[str, np.ndarray]]


def values_of(rng: np.random.Generator) -> np.ndarray:
    return (rng.random((STEPS, INPUTS)) < 0.4).astype(np.float32)


def weights(
    rng: np.random.Generator, size: tuple[int, int], strength: float
) -> np.ndarray:
    return rng.normal(strength / 4, strength, size).astype(np.float32)


def unbatched(graph: Any) -> Any:
    """Return a graph whose ends have the exporter's batch of 1 in their shape, without
    that."""
    for name, node in graph.nodes.items():
        if isinstance(node, nir.Input | nir.Output):
            shape = np.asarray(next(iter(node.input_type.values()))).ravel()[-1:]
            graph.nodes[name] = type(node)(shape)
    return graph


def of_snntorch(rng: np.random.Generator) -> Iterator[Case]:
    import snntorch as snn
    import torch
    from snntorch.export_nir import export_to_nir

    def decays(low: float, count: int) -> torch.Tensor:
        return torch.tensor(rng.uniform(low, 0.97, count).astype(np.float32))

    def leaky(count: int, **more: Any) -> Any:
        return snn.Leaky(
            decays(0.6, count), threshold=torch.ones(count), init_hidden=True, **more
        )

    def synaptic(count: int) -> Any:
        ones = torch.ones(count)
        alpha, beta = decays(0.3, count), decays(0.6, count)
        return snn.Synaptic(alpha, beta, threshold=ones, init_hidden=True)

    for name, first, last, strength in (
        ("snntorch-leaky", leaky(HIDDEN), leaky(OUTPUTS), 0.5),
        (
            "snntorch-zero-leaky",
            leaky(HIDDEN, reset_mechanism="zero"),
            leaky(OUTPUTS, reset_mechanism="zero"),
            0.5,
        ),
        ("snntorch-synaptic", synaptic(HIDDEN), synaptic(OUTPUTS), 0.15),
    ):
        net = torch.nn.Sequential(
            torch.nn.Linear(INPUTS, HIDDEN),
            first,
            torch.nn.Linear(HIDDEN, OUTPUTS),
            last,
        )
        with torch.no_grad():
            for layer in (net[0], net[2]):
                layer.weight.copy_(
                    torch.tensor(weights(rng, tuple(layer.weight.shape), strength))
                )
            values = values_of(rng)
            graph = export_to_nir(net, torch.zeros(INPUTS))
            for layer in (first, last):
                layer.reset_mem()
            rows = [net(torch.tensor(row)).numpy() for row in values]
        yield name, graph, values, np.array(rows), {}


def of_norse(rng: np.random.Generator) -> Iterator[Case]:
    import norse.torch as norse
    import torch
    from norse.torch.module.lif_box import LIFBoxCell, LIFBoxParameters

    def parameters(count: int) -> Any:
        inverse = torch.tensor(1 / rng.uniform(5e-3, 20e-3, count).astype(np.float32))
        ones = torch.ones(count)
        return LIFBoxParameters(
            tau_mem_inv=inverse, v_th=ones, v_leak=0 * ones, v_reset=0 * ones
        )

    net = norse.SequentialState(
        torch.nn.Linear(INPUTS, HIDDEN),
        LIFBoxCell(parameters(HIDDEN)),
        torch.nn.Linear(HIDDEN, OUTPUTS),
        LIFBoxCell(parameters(OUTPUTS)),
    )
    with torch.no_grad():
        for layer in (net[0], net[2]):
            layer.weight.copy_(
                torch.tensor(weights(rng, tuple(layer.weight.shape), 3.0))
            )
        values = values_of(rng)
        graph = norse.to_nir(net, torch.zeros(INPUTS))
        state = None
        rows = []
        for row in values:
            out, state = net(torch.tensor(row[None]), state)
            rows.append(out.numpy()[0])
    yield "norse-lif-box", graph, values, np.array(rows), {}


def of_sinabs(rng: np.random.Generator) -> Iterator[Case]:
    import sinabs.layers as layers
    import torch
    from sinabs.nir import to_nir

    def leaky(count: int) -> Any:
        taus = torch.tensor(rng.uniform(3, 20, count).astype(np.float32))
        return layers.LIF(tau_mem=taus, spike_threshold=torch.ones(count))

    made = {
        "sinabs-lif": (leaky(HIDDEN), leaky(OUTPUTS), 3.0),
        "sinabs-iaf": (layers.IAF(), layers.IAF(), 0.5),
    }
    for name, (first, last, strength) in made.items():
        net = torch.nn.Sequential(
            torch.nn.Linear(INPUTS, HIDDEN),
            first,
            torch.nn.Linear(HIDDEN, OUTPUTS),
            last,
        )
        with torch.no_grad():
            for layer in (net[0], net[2]):
                layer.weight.copy_(
                    torch.tensor(weights(rng, tuple(layer.weight.shape), strength))
                )
            values = values_of(rng)
            graph = unbatched(to_nir(net, torch.zeros(1, STEPS, INPUTS)))
            for layer in (first, last):
                layer.reset_states()
            rows = net(torch.tensor(values[None])).numpy()[0]
        yield name, graph, values, rows, {}


def of_rockpool(rng: np.random.Generator) -> Iterator[Case]:
    import torch
    from rockpool.nn.combinators import Sequential
    from rockpool.nn.modules.torch import LIFTorch, LinearTorch
    from rockpool.nn.modules.torch.nir import to_nir

    def neurons(count: int) -> Any:
        taus = [
            torch.tensor(rng.uniform(3e-3, 20e-3, count).astype(np.float32))
            for _ in range(2)
        ]
        return LIFTorch(count, tau_mem=taus[0], tau_syn=taus[1][:, None])

    net = Sequential(
        LinearTorch((INPUTS, HIDDEN)), neurons(HIDDEN), LinearTorch((HIDDEN, OUTPUTS)),
        neurons(OUTPUTS),
    )  # fmt: skip
    with torch.no_grad():
        for layer, size in ((net[0], (INPUTS, HIDDEN)), (net[2], (HIDDEN, OUTPUTS))):
            layer.weight.data = torch.tensor(weights(rng, size, 0.1))
        values = values_of(rng)
        graph = unbatched(to_nir(net))
        # Neither the graph nor its nodes state a time step: 1 ms is the program's own
        # default.
        graph.metadata["dt_s"] = float(net[1].dt)
        out, _, _ = net(torch.tensor(values[None]))
    yield "rockpool-lif", graph, values, out.numpy()[0], {}


def of_spyx(rng: np.random.Generator) -> Iterator[Case]:
    import jax.numpy as jnp
    from flax import nnx
    from spyx import nn as spyx
    from spyx.nir import to_nir

    keys = nnx.Rngs(int(rng.integers(2**31)))

    def lif(count: int) -> Any:
        layer = spyx.LIF((count,), rngs=keys)
        layer.beta[...] = jnp.array(rng.uniform(0.5, 0.95, count).astype(np.float32))
        return layer

    def cuba(count: int) -> Any:
        layer = spyx.CuBaLIF((count,), rngs=keys)
        for decay in (layer.alpha, layer.beta):
            decay[...] = jnp.array(rng.uniform(0.3, 0.9, count).astype(np.float32))
        return layer

    made: dict[str, tuple[Callable[[int], Any], float]] = {
        "spyx-lif": (lif, 0.6),
        "spyx-cubalif-cuba": (cuba, 0.3),
    }
    for name, (neurons, strength) in made.items():
        first = nnx.Linear(INPUTS, HIDDEN, rngs=keys)
        last = nnx.Linear(HIDDEN, OUTPUTS, rngs=keys)
        for layer, size in ((first, (INPUTS, HIDDEN)), (last, (HIDDEN, OUTPUTS))):
            layer.kernel[...] = jnp.array(weights(rng, size, strength))
        net = spyx.Sequential(first, neurons(HIDDEN), last, neurons(OUTPUTS))
        values = values_of(rng)
        graph = to_nir(
            net, {"input": np.array([INPUTS])}, {"output": np.array([OUTPUTS])}
        )
        out, _ = spyx.run(net, jnp.array(values[:, None]))
        yield name, graph, values, np.asarray(out)[:, 0], {}


def of_lava_dl(rng: np.random.Generator) -> Iterator[Case]:
    import h5py
    import torch
    from lava.lib.dl import slayer

    made = {
        # Its decays halve a membrane and forget a current: states stay on the grid of
        # the weights, so that some membranes equal the threshold.
        "lava-dl-halving": (0.5, 1.0, 0.5, 0.4),
        # The decays and the threshold of lava-dl's NMNIST tutorial.
        "lava-dl-cuba": (1.25, 0.25, 0.03, 0.15),
    }
    for name, (threshold, current_decay, voltage_decay, strength) in made.items():
        parameters = {
            "threshold": threshold,
            "current_decay": current_decay,
            "voltage_decay": voltage_decay,
        }
        layers = [
            slayer.block.cuba.Dense(parameters, INPUTS, HIDDEN),
            slayer.block.cuba.Dense(parameters, HIDDEN, OUTPUTS),
        ]
        values = values_of(rng)
        spikes = torch.tensor(values.T[None])
        entering = []
        membranes = []
        with torch.no_grad():
            for layer in layers:
                weight = layer.synapse.weight
                drawn = weights(rng, tuple(weight.shape[:2]), strength)
                # A weight beyond 2 takes the highest of the 8 bits, so that Loihi's
                # whole numbers of the same network have the same scale.
                drawn[0, 0] = -2.5
                weight.copy_(torch.tensor(drawn[:, :, None, None, None]))
                entering.append(spikes)
                drive = layer.synapse(spikes)
                membranes.append(layer.neuron.dynamics(drive)[1])
                spikes = layer(spikes)
        with h5py.File("net", "w", driver="core", backing_store=False) as file:
            for number, layer in enumerate(layers):
                layer.export_hdf5(file.create_group(f"layer/{number}"))
            graph = from_lava_dl(file)
        more = {
            "hidden": entering[1].numpy()[0].T.astype(np.uint8),
            "membranes_0": membranes[0].numpy()[0].T,
            "membranes_1": membranes[1].numpy()[0].T,
        }
        yield name, graph, values, spikes.numpy()[0].T, more


def from_lava_dl(file: Any) -> Any:
    """Return the NIR graph of lava-dl's HDF5 file.

    lava-dl itself writes no NIR: these are the equations of NIR's own converter,
    docs/source/examples/lava/lava_to_nir.py of neuromorphs/NIR at f5372ae.
    """
    dt = 1e-4
    nodes: list[Any] = []
    for number in sorted(file["layer"], key=int):
        layer = file["layer"][number]
        neuron = layer["neuron"]
        weight = layer["weight"][:] / 64
        ones = np.ones(len(weight))
        tau_syn = dt / (neuron["iDecay"][()] / 4096)
        tau_mem = dt / (neuron["vDecay"][()] / 4096)
        nodes.append(nir.Linear(weight=weight))
        cells = nir.CubaLIF(
            tau_syn=tau_syn * ones,
            tau_mem=tau_mem * ones,
            r=tau_mem / dt * ones,
            v_leak=0 * ones,
            v_threshold=neuron["vThMant"][()] / 64 * ones,
            v_reset=0 * ones,
            w_in=tau_syn / dt * ones,
        )
        nodes.append(cells)
    return nir.NIRGraph.from_list(*nodes)


PROGRAMS: dict[str, Callable[[np.random.Generator], Iterator[Case]]] = {
    "snntorch": of_snntorch,
    "norse": of_norse,
    "sinabs": of_sinabs,
    "rockpool": of_rockpool,
    "spyx": of_spyx,
    "lava-dl": of_lava_dl,
}


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 2611
    rng = np.random.default_rng(seed)
    if find_spec("torch"):  # the biases of its layers
        import torch

        torch.manual_seed(seed)
    versions = ", ".join(f"{name} {version(name)}" for name in (program, "nir"))
    for name, graph, values, out, more in PROGRAMS[program](rng):
        preset = (
            name.rpartition("-")[0]
            if name.startswith(("snntorch-zero", "spyx-cuba"))
            else ""
        )

        nir.write(folder / f"{name}.nir", graph)
        np.savez_compressed(
            folder / f"{name}.npz",
            input=values.astype(np.uint8),
            output=out.astype(np.uint8),
            preset=preset or program,
            versions=versions,
            **more,
        )
        print(name, int(out.sum()), int(out.max()), versions)


if __name__ == "__main__":
    sys.exit(main())
