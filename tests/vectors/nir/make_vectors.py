# SPDX-License-Identifier: Apache-2.0
"""Make the vectors beside this file with norse, snntorch and torch, which are no
dependencies.

    pip install torch norse snntorch nir && python tests/vectors/nir/make_vectors.py

Each .npz holds the input, the output, and the time step; the .nir file of the same name
is the network. tests/rig/network compares the reference interpreter with them.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np
import torch

HERE = Path(__file__).parent
STEPS = 300


def chain(*nodes: tuple[str, object]) -> nir.NIRGraph:
    names = [name for name, _ in nodes]
    return nir.NIRGraph(dict(nodes), list(pairwise(names)), type_check=False)


def spikes(rng: np.random.Generator, steps: int, count: int, rate: float) -> np.ndarray:
    return (rng.random((steps, count)) < rate).astype(np.float32)


def lif(
    rng: np.random.Generator, inputs: int, neurons: int, dt_s: float, bias: float
) -> nir.NIRGraph:
    tau_s = rng.uniform(5, 30, neurons).astype(np.float32) * dt_s
    zero = np.zeros(neurons, np.float32)
    return chain(
        ("input", nir.Input(np.array([inputs]))),
        (
            "weight",
            nir.Affine(
                rng.normal(0, 1, (neurons, inputs)).astype(np.float32), zero + bias
            ),
        ),
        ("neurons", nir.LIF(tau_s, zero + 1, zero, zero + 0.4, zero)),
        ("output", nir.Output(np.array([neurons]))),
    )


def cuba(
    rng: np.random.Generator, inputs: int, neurons: int, dt_s: float, r: float
) -> nir.NIRGraph:
    # snntorch has one beta and one alpha; norse takes any.
    zero = np.zeros(neurons, np.float32)
    return chain(
        ("input", nir.Input(np.array([inputs]))),
        ("weight", nir.Affine(rng.normal(0, 2, (neurons, inputs)).astype(np.float32), zero)),
        (
            "neurons",
            nir.CubaLIF(
                zero + 8 * dt_s, zero + 20 * dt_s, zero + r, zero,
                v_threshold=zero + 0.2, v_reset=zero, w_in=zero + 1,
            ),
        ),
        ("output", nir.Output(np.array([neurons]))),
    )  # fmt: skip


def by_norse(graph: nir.NIRGraph, values: np.ndarray, dt_s: float) -> np.ndarray:
    import norse.torch as norse

    net = norse.from_nir(graph, dt=dt_s)
    state = None
    rows = []
    for row in values:
        out, state = net(torch.from_numpy(row[None]), state)
        rows.append(out.detach().numpy()[0])
    return np.array(rows)


def by_snntorch(graph: nir.NIRGraph, values: np.ndarray) -> np.ndarray:
    from snntorch.import_nir import import_from_nir

    net = import_from_nir(graph)
    state = None
    rows = []
    for row in values:
        out, state = net(torch.from_numpy(row[None]), state)
        rows.append(out.detach().numpy()[0])
    return np.array(rows)


def store(
    name: str, graph: nir.NIRGraph, values: np.ndarray, out: np.ndarray, dt_s: float
) -> None:
    nir.write(HERE / f"{name}.nir", graph)
    np.savez_compressed(HERE / f"{name}.npz", input=values, output=out, dt_s=dt_s)
    print(name, out.shape, float(np.abs(out).sum()))


def convolutions(rng: np.random.Generator) -> None:
    """Convolutions and pools by torch: kernels that are not square, groups, strides,
    paddings."""
    rows = {
        "conv2d-3x5": ((2, 9, 11), (4, 2, 3, 5), (1, 2), (1, 0), (1, 1), 1),
        "conv2d-grouped": ((4, 8, 8), (8, 1, 3, 3), (2, 2), (1, 1), (2, 1), 4),
        "conv1d": ((3, 20), (6, 3, 5), (2,), (2,), (2,), 1),
    }
    for name, (shape, weight_shape, stride, padding, dilation, groups) in rows.items():
        weight = rng.normal(0, 1, weight_shape).astype(np.float32)
        bias = rng.normal(0, 1, weight_shape[0]).astype(np.float32)
        values = rng.normal(0, 1, (4, *shape)).astype(np.float32)
        function = (
            torch.nn.functional.conv1d
            if len(shape) == 2
            else torch.nn.functional.conv2d
        )
        out = function(
            *(torch.from_numpy(array) for array in (values, weight, bias)),
            stride, padding, dilation, groups,
        ).numpy()  # fmt: skip
        item = len(shape) == 2
        kind = nir.Conv1d if item else nir.Conv2d
        how = [given[0] if item else given for given in (stride, padding, dilation)]
        sides = shape[1] if item else shape[1:]
        node = kind(sides, weight, *how, groups=groups, bias=bias)
        graph = chain(
            ("input", nir.Input(np.array(shape))),
            ("node", node),
            ("output", nir.Output(np.array(out.shape[1:]))),
        )
        store(name, graph, values, out, 1e-3)
    values = rng.normal(0, 1, (4, 3, 9, 9)).astype(np.float32)
    out = torch.nn.functional.avg_pool2d(torch.from_numpy(values), 3, 2, 1).numpy()
    three = np.array([3, 3])
    graph = chain(
        ("input", nir.Input(np.array((3, 9, 9)))),
        ("node", nir.AvgPool2d(three, three - 1, three - 2)),
        ("output", nir.Output(np.array(out.shape[1:]))),
    )
    store("avgpool2d", graph, values, out, 1e-3)


def main() -> None:
    rng = np.random.default_rng(4711)
    values = spikes(rng, STEPS, 8, 0.3)
    for dt_s in (1e-3, 1e-4):
        graph = lif(rng, 8, 10, dt_s, 0.1)
        out = by_norse(graph, values, dt_s)
        store(f"norse-lif-{dt_s:g}", graph, values, out, dt_s)
        graph = cuba(rng, 8, 10, dt_s, 1.0)
        out = by_norse(graph, values, dt_s)
        store(f"norse-cubalif-{dt_s:g}", graph, values, out, dt_s)
    # snntorch folds dt / tau into one threshold for all neurons, and leaves the bias as
    # it is.
    graph = lif(rng, 8, 10, 1e-4, 0.0)
    graph.nodes["neurons"].tau[:] = 2e-3
    store("snntorch-lif", graph, values, by_snntorch(graph, values), 1e-4)
    graph = cuba(rng, 8, 10, 1e-4, 20.0)
    store("snntorch-cubalif", graph, values, by_snntorch(graph, values), 1e-4)
    convolutions(rng)
    versions = [
        f"{name} {version(name)}" for name in ("torch", "norse", "snntorch", "nir")
    ]
    (HERE / "VERSIONS").write_text("\n".join(versions) + "\n")


if __name__ == "__main__":
    sys.exit(main())
