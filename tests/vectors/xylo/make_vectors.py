# SPDX-License-Identifier: Apache-2.0
"""Make the vectors of this folder: `make_vectors.py PYTHON`, with the interpreter of an
environment with sut_backends/xylo/requirements.txt.

asc.npz: 12 seconds of the ASC task, by lab/equality/xylo_equal.py. The other networks
have two layers, four, and one that feeds itself: NIR files with whole weights, time
constants that shifts give exactly, and input of a seed. Trains and last membranes are
those of XyloSim.
"""

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DT_S = 1e-3
STEPS = 200
THRESHOLD = 600.0


def neurons(count, rng):
    syn, mem = 2.0 ** rng.integers(1, 4, count), 2.0 ** rng.integers(1, 5, count)
    return nir.CubaLIF(
        tau_syn=DT_S * syn,
        tau_mem=DT_S * mem,
        r=mem - 1,
        w_in=syn * mem / (mem - 1),
        v_leak=np.zeros(count),
        v_threshold=np.full(count, THRESHOLD),
        v_reset=np.zeros(count),
    )


def weights(to, of, largest, rng):
    drawn = rng.integers(-largest, largest + 1, (to, of)).astype(np.float32)
    drawn[0, 0] = largest
    return nir.Linear(weight=drawn)


def write(name, sizes, recurrent, rng):
    nodes = {"input": nir.Input(np.array([sizes[0]]))}
    for number, (of, to) in enumerate(pairwise(sizes)):
        nodes[f"weight_{number}"] = weights(to, of, 127, rng)
        nodes[f"neurons_{number}"] = neurons(to, rng)
    nodes["output"] = nir.Output(np.array([sizes[-1]]))
    edges = list(pairwise(nodes))
    if recurrent:
        nodes["back"] = weights(sizes[1], sizes[1], 20, rng)
        edges += [("neurons_0", "back"), ("back", "neurons_0")]
    path = HERE / f"{name}.nir"
    nir.write(
        path, nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)
    )
    return path


def main():
    sys.path.insert(0, str(ROOT))
    from lab.equality.xylo_equal import xylo

    rng = np.random.default_rng(17)
    python = sys.argv[1]
    for name, sizes, recurrent in (
        ("two", (8, 20, 4), False),
        ("four", (16, 20, 10, 6, 4), False),
        ("recurrent", (8, 20, 4), True),
    ):
        path = write(name, sizes, recurrent, rng)
        spikes = rng.integers(0, 4, (1, STEPS, sizes[0]))
        with tempfile.TemporaryDirectory() as folder:
            result, _about = xylo(
                python, spikes, {name: path}, Path(folder) / "trains.npz"
            )
        np.savez_compressed(
            HERE / f"{name}.npz", spikes=spikes.astype(np.uint8), **result
        )
    asc = [
        sys.executable,
        "-m",
        "lab.equality.xylo_equal",
        python,
        "12",
        str(HERE),
    ]
    return subprocess.run(asc, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
