# SPDX-License-Identifier: Apache-2.0
"""Make the vectors beside this file with NeuroBench's public harness, which is no
dependency.

    echo torch==2.13.0 > pins && pip install -c pins neurobench nir
    python tests/vectors/nir/complexity/make_vectors.py

harness.json holds the harness's results for each network, for batches of one sample and
for all samples in one batch; NAME.npz the inputs, NAME.nir the network, written from
the same numbers as the torch modules. Neurons of snntorch where it has them; those of
the shipped model, which fire several times a step, are a module of this file. The
inputs of asc.npz are spike counts of the model's front end:

    python tests/vectors/nir/complexity/make_vectors.py --asc-inputs    # in the project's own venv
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np

HERE = Path(__file__).parent
ASC = HERE.parents[3] / "scenarios" / "tasks" / "asc" / "asc.nir"
DT_S = 2.0**-10


def asc_inputs() -> None:
    """Write the spike counts of six seconds, from six recordings of generated data."""
    from rig.interfaces.context import BenchContext
    from scenarios.tasks.asc.integer import spike_counts
    from scenarios.tasks.asc.nirfile import read_model
    from scenarios.tasks.asc.task import AscTask

    task = AscTask.open(AscTask.Settings(), BenchContext())
    firsts = [indices[0] for _, indices in task.recordings()[::2][:6]]
    audio = np.stack([np.frombuffer(task.payload(index), "<i2") for index in firsts])
    counts = spike_counts(read_model(ASC).bank, audio).astype(np.uint8)
    np.savez_compressed(HERE / "asc.npz", input=counts, dt_s=8e-3)
    print("asc", counts.shape)


def lif(count: int, steps: int, threshold: float) -> nir.LIF:
    """A LIF whose membrane moves by 1 for one unit of input, so that snntorch's is the
    same.
    """
    zero = np.zeros(count, np.float32)
    return nir.LIF(zero + steps * DT_S, zero + steps, zero, zero + threshold, zero)


def rounded(
    rng: np.random.Generator, shape: tuple[int, ...], zeros: float
) -> np.ndarray:
    """Weights of few bits, so that single and double precision give the same sums."""
    weight = np.round(rng.normal(0, 16, shape)) / 32
    return (weight * (rng.random(shape) >= zeros)).astype(np.float32)


def feedforward(rng: np.random.Generator):
    import snntorch as snn
    import torch

    weights = [rounded(rng, (12, 8), 0.25), rounded(rng, (5, 12), 0.4)]
    bias = rounded(rng, (12,), 0.0) / 8

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = (
                torch.nn.Linear(8, 12),
                torch.nn.Linear(12, 5, bias=False),
            )
            self.fc1.weight.data, self.fc1.bias.data = map(
                torch.from_numpy, (weights[0], bias)
            )
            self.fc2.weight.data = torch.from_numpy(weights[1])
            how = {"reset_mechanism": "zero", "reset_delay": False, "init_hidden": True}
            self.lif1 = snn.Leaky(beta=1 - 1 / 16, threshold=1.25, **how)
            self.lif2 = snn.Leaky(beta=1 - 1 / 8, threshold=0.75, output=True, **how)

        def forward(self, values):
            return self.lif2(self.fc2(self.lif1(self.fc1(values))))

    nodes = {
        "input": nir.Input(np.array([8])),
        "fc1": nir.Affine(weights[0], bias),
        "lif1": lif(12, 16, 1.25),
        "fc2": nir.Linear(weights[1]),
        "lif2": lif(5, 8, 0.75),
        "output": nir.Output(np.array([5])),
    }
    values = (rng.random((6, 60, 8)) < 0.3).astype(np.uint8)
    # One value that is no spike: the batch of all samples counts its step otherwise
    # than one does.
    values[2, 7, 3] = 2
    return (
        Net,
        nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False),
        values,
        False,
    )


def recurrent(rng: np.random.Generator):
    """Graded inputs, a convolution that is not square, a pool, and a layer that feeds
    itself."""
    import snntorch as snn
    import torch

    kernel = rounded(rng, (3, 2, 3, 5), 0.3)
    bias = rounded(rng, (3,), 0.0) / 8
    weight, back = rounded(rng, (6, 3 * 4 * 3), 0.5), rounded(rng, (6, 6), 0.5)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(2, 3, (3, 5), stride=(1, 2), padding=(1, 2))
            self.conv.weight.data, self.conv.bias.data = map(
                torch.from_numpy, (kernel, bias)
            )
            self.fc = torch.nn.Linear(36, 6, bias=False)
            self.back = torch.nn.Linear(6, 6, bias=False)
            self.fc.weight.data, self.back.weight.data = map(
                torch.from_numpy, (weight, back)
            )
            self.pool = torch.nn.AvgPool2d(2)
            how = {"reset_mechanism": "zero", "reset_delay": False}
            self.lif1 = snn.Leaky(
                beta=1 - 1 / 16, threshold=1.5, init_hidden=True, **how
            )
            self.lif2 = snn.Leaky(
                beta=1 - 1 / 8, threshold=1.0, init_hidden=True, output=True, **how
            )
            self.before = None

        def reset(self) -> None:
            snn.utils.reset(self)
            self.before = None

        def forward(self, values):
            hidden = self.pool(self.lif1(self.conv(values))).flatten(1)
            before = torch.zeros(len(values), 6) if self.before is None else self.before
            self.before, membrane = self.lif2(self.fc(hidden) + self.back(before))
            return self.before, membrane

    leaky = lif(1, 16, 1.5)
    for name in ("tau", "r", "v_leak", "v_threshold", "v_reset"):
        setattr(leaky, name, np.broadcast_to(getattr(leaky, name), (3, 8, 6)).copy())
    two = np.array([2, 2])
    nodes = {
        "input": nir.Input(np.array([2, 8, 12])),
        "conv": nir.Conv2d(
            (8, 12), kernel, (1, 2), (1, 2), dilation=(1, 1), groups=1, bias=bias
        ),
        "lif1": leaky,
        "pool": nir.AvgPool2d(two, two, two * 0),
        "flat": nir.Flatten({"input": np.array([3, 4, 3])}, 0, -1),
        "fc": nir.Linear(weight),
        "lif2": lif(6, 8, 1.0),
        "output": nir.Output(np.array([6])),
        "back": nir.Linear(back),
    }
    names = list(nodes)[:-1]
    edges = [*pairwise(names), ("lif2", "back"), ("back", "lif2")]
    # A pixel holds 0 to 3: most steps of the convolution multiply; some samples are all
    # spikes.
    values = rng.poisson(0.15, (4, 30, 2, 8, 12)).clip(0, 3).astype(np.uint8)
    values[1] = values[1] > 0
    return Net, nir.NIRGraph(nodes, edges, type_check=False), values, False


def shipped():
    """The shipped model; its neurons hold the numbers of their NIR nodes and their own
    states."""
    import torch

    graph = nir.read(ASC)

    class Neurons(torch.nn.Module):
        """Fires as often as the threshold fits, up to spikes_max; r and w_in do not
        count."""

        def __init__(self, node) -> None:
            super().__init__()
            for name in (
                "tau_syn",
                "tau_mem",
                "r",
                "v_leak",
                "v_reset",
                "v_threshold",
                "w_in",
            ):
                self.register_buffer(name, torch.from_numpy(getattr(node, name)))
            for name in ("current", "membrane"):
                self.register_buffer(
                    name, torch.zeros(node.tau_mem.shape, dtype=torch.float32)
                )
            self.most = float(node.metadata["spikes_max"])

        def reset(self) -> None:
            self.current = torch.zeros_like(self.tau_syn)
            self.membrane = torch.zeros_like(self.tau_mem)

        def forward(self, values):
            kept = [1 - 8e-3 / tau.double() for tau in (self.tau_syn, self.tau_mem)]
            self.current = (self.current + values) * kept[0]
            self.membrane = self.membrane * kept[1] + self.current
            often = torch.floor(self.membrane.clamp(min=0) / self.v_threshold)
            spikes = often.clamp(max=self.most)
            self.membrane = self.membrane - spikes * self.v_threshold
            return spikes

    class Dense(torch.nn.Linear):
        """Of single precision in memory; sums in double, as spike counts of 31 need."""

        def forward(self, values):
            return torch.nn.functional.linear(values.double(), self.weight.double())

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList()
            for number in range(3):
                weight = torch.from_numpy(graph.nodes[f"weight_{number}"].weight)
                dense = Dense(weight.shape[1], weight.shape[0], bias=False)
                dense.weight.data = weight
                self.layers += [dense, Neurons(graph.nodes[f"neurons_{number}"])]

        def reset(self) -> None:
            for layer in self.layers[1::2]:
                layer.reset()

        def forward(self, values):
            for layer in self.layers:
                values = layer(values)
            return values, self.layers[-1].membrane

    with np.load(HERE / "asc.npz") as stored:
        return Net, None, stored["input"], Neurons


def measured(net, values: np.ndarray, together: int, neurons) -> dict[str, float]:
    """Return the harness's results for a network and its inputs."""
    import torch
    from neurobench.benchmarks import Benchmark
    from neurobench.metrics.static import ConnectionSparsity, Footprint
    from neurobench.metrics.workload import ActivationSparsity, SynapticOperations
    from neurobench.models import SNNTorchModel
    from torch.utils.data import DataLoader, TensorDataset

    # A new one each time: a run leaves states, which have a size, and a copy of a
    # network of snntorch's is not reset.
    model = SNNTorchModel(net())
    if neurons:
        model.add_activation_module(neurons)
    data = TensorDataset(torch.from_numpy(values).float(), torch.zeros(len(values)))
    metrics = [
        [Footprint, ConnectionSparsity],
        [ActivationSparsity, SynapticOperations],
    ]
    with torch.no_grad():
        result = Benchmark(
            model, DataLoader(data, batch_size=together), [], [], metrics
        ).run(quiet=True)
    operations = result.pop("SynapticOperations")
    return {**{name: float(value) for name, value in result.items()}, **operations}


def main() -> None:
    if sys.argv[1:] == ["--asc-inputs"]:
        asc_inputs()
        return
    rng = np.random.default_rng(1917)
    reported = {}
    for name, made in {
        "feedforward": feedforward(rng), "recurrent": recurrent(rng), "asc": shipped(),
    }.items():  # fmt: skip
        net, graph, values, neurons = made
        if graph is not None:
            nir.write(HERE / f"{name}.nir", graph)
            np.savez_compressed(HERE / f"{name}.npz", input=values, dt_s=DT_S)
        reported[name] = {
            "one": measured(net, values, 1, neurons),
            "together": measured(net, values, len(values), neurons),
        }
        print(name, reported[name])
    (HERE / "harness.json").write_text(json.dumps(reported, indent=1) + "\n")
    names = ("neurobench", "snntorch", "torch", "nir", "numpy")
    (HERE / "VERSIONS").write_text(
        "".join(f"{name} {version(name)}\n" for name in names)
    )


if __name__ == "__main__":
    sys.exit(main())
