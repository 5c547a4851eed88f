# SPDX-License-Identifier: Apache-2.0
"""Make the vectors beside this file with Lava, which needs an interpreter of its own.

    rig sdk install loihi && python -m tests.vectors.lava.make_vectors INTERPRETER

asc.npz: spike counts of twelve generated seconds, and Lava's output for them by the
file's rule, by stock LIF, and by stock LIF in fixed point. recurrent.npz: the first two
of recurrent.nir, in NIR's own conventions. The tests compare them with models that
share no code with the runner.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nir
import numpy as np

from lab.equality.lava_equal import asc_spikes, in_lava
from rig.network import graph

HERE = Path(__file__).parent
SLICES = 12
STEPS = 120


def recurrent(rng: np.random.Generator) -> nir.NIRGraph:
    """Two layers of CubaLIF and LIF, the first one feeds itself; dt is 1 ms."""
    zero = np.zeros(10)
    item = zero + 1
    nodes = {
        "input": nir.Input(np.array([6])),
        "in": nir.Linear(rng.normal(0, 5, (10, 6))),
        "hidden": nir.CubaLIF(
            tau_syn=rng.uniform(0.003, 0.01, 10),
            tau_mem=rng.uniform(0.01, 0.03, 10),
            r=item * 3,
            v_leak=zero,
            v_reset=zero,
            v_threshold=item,
            w_in=item * 2,
        ),
        "around": nir.Linear(rng.normal(0, 2, (10, 10))),
        "out": nir.Linear(rng.normal(0, 8, (4, 10))),
        "last": nir.LIF(
            tau=np.full(4, 0.02), r=np.full(4, 2.0), v_leak=np.zeros(4),
            v_threshold=np.ones(4), v_reset=np.zeros(4),
        ),
        "output": nir.Output(np.array([4])),
    }  # fmt: skip
    edges = [
        ("input", "in"), ("in", "hidden"), ("hidden", "around"), ("around", "hidden"),
        ("hidden", "out"), ("out", "last"), ("last", "output"),
    ]  # fmt: skip
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": 0.001}, type_check=False)


def main() -> int:
    """Write all vectors."""
    interpreter = sys.argv[1]
    shipped, counts = asc_spikes()
    every = counts[:: len(counts) // SLICES][:SLICES]
    result = {"input": every.astype(np.uint8)}
    for rule in ("file", "stock"):
        values, membranes, about = in_lava(interpreter, shipped, every, rule)
        result[f"{rule}_values"] = values.astype(np.uint8)
        result[f"{rule}_membranes"] = membranes
    values, membranes, _ = in_lava(interpreter, shipped, every, "stock", "fixed")
    result |= {"fixed_values": values.astype(np.uint8), "fixed_membranes": membranes}
    np.savez_compressed(HERE / "asc.npz", **result)
    rng = np.random.default_rng(8)
    nir.write(HERE / "recurrent.nir", recurrent(rng))
    spikes = (rng.random((3, STEPS, 6)) < 0.2).astype(np.uint8)
    result = {"input": spikes}
    network = graph.network(graph.read(HERE / "recurrent.nir"))
    for rule in ("file", "stock"):
        values, membranes, about = in_lava(interpreter, network, spikes, rule)
        result[f"{rule}_values"] = values.astype(np.uint8)
        result[f"{rule}_membranes"] = membranes
    np.savez_compressed(HERE / "recurrent.npz", **result)
    lines = [f"{name} {version}" for name, version in about["versions"].items()]
    (HERE / "VERSIONS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
