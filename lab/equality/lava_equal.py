# SPDX-License-Identifier: Apache-2.0
"""The shipped network in Lava against the integer model: spikes of the file's rule,
decisions of stock LIF.

    python -m lab.equality.lava_equal [--interpreter PYTHON] [--slices 120] [--lava 12]

Stock LIF (one spike a step, above the threshold, back to 0) is another model than the
file's. How often its decision is the integer model's is counted over all slices by a
twin in numpy, and by Lava itself over the first of them where an interpreter with Lava
is named; twin and Lava must give the same spikes. With one weight changed by 1 the
spikes must differ, or the comparison would be without force.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rig.interfaces.context import BenchContext
from rig.network import graph
from rig.network.conventions import stated
from rig.network.graph import Network
from rig.network.plain import write_plain
from scenarios.tasks.asc.integer import run_layer, spike_counts
from scenarios.tasks.asc.model import STEP_S, AscModel
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import AscTask

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "scenarios" / "tasks" / "asc" / "asc.nir"
LIMIT_S = 600.0


def asc_spikes() -> tuple[Network, np.ndarray]:
    """Return the shipped network, and the spike counts of the generated test split."""
    task = AscTask.open(AscTask.Settings(), BenchContext())
    audio = np.stack(
        [np.frombuffer(task.payload(index), "<i2") for index in range(len(task))]
    )
    return graph.network(graph.read(SHIPPED)), spike_counts(
        read_model(SHIPPED).bank, audio
    )


def by_file(model: AscModel, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return spikes and membranes of the integer model."""
    membranes = np.zeros(0, np.int64)
    for layer in model.layers:
        counts, membranes = run_layer(layer, counts)
    return counts, membranes


def by_twin(model: AscModel, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return spikes and membranes of stock LIF, in numpy, all slices side by side;
    decays are of the file's times, which are 32-bit numbers.
    """
    spikes = counts.astype(np.float64)
    membrane = np.zeros(0)
    for layer in model.layers:
        current = np.zeros((len(spikes), layer.neurons))
        membrane = np.zeros_like(current)
        kept_current = 1 - _share(layer.dash_syn)
        kept_membrane = 1 - _share(layer.dash_mem)
        out = np.zeros((*spikes.shape[:2], layer.neurons))
        for step in range(spikes.shape[1]):
            current = current * kept_current + spikes[:, step] @ layer.weight.T
            membrane = membrane * kept_membrane + current
            out[:, step] = membrane > layer.threshold
            membrane[out[:, step] > 0] = 0
        spikes = out
    return spikes, membrane


def _share(dash: np.ndarray) -> np.ndarray:
    return STEP_S / (STEP_S * 2.0**dash).astype(np.float32).astype(np.float64)


def in_lava(
    interpreter: str,
    network: Network,
    spikes: np.ndarray,
    rule: str,
    precision: str = "floating",
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return spikes, membranes and the runner's description, by Lava in its
    interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="neurorig-lava-") as folder:
        here = Path(folder)
        nodes = {position.name: position.node for position in network.places}
        write_plain(network, stated(nodes), None, here / "plain.npz")
        job = {
            "plain": str(here / "plain.npz"),
            "nir": "",
            "settings": {"rule": rule, "precision": precision},
        }
        (here / "job.json").write_text(json.dumps(job))
        np.save(here / "spikes.npy", spikes)
        module = "lab.equality.run_stored"
        files = [str(here / name) for name in ("job.json", "spikes.npy", "out.npz")]
        done = subprocess.run(
            [interpreter, "-m", module, "sut_backends.loihi.runner", *files],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": folder},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        with np.load(here / "out.npz") as result:
            about = json.loads(str(result["about"]))
            return result["values"], result["membranes"], about


def decisions(spikes: np.ndarray, membranes: np.ndarray) -> np.ndarray:
    """Return the class of each slice: most spikes, then the higher membrane."""
    counts = spikes.sum(axis=1)
    best = counts == counts.max(axis=1, keepdims=True)
    chosen: np.ndarray = np.where(best, membranes, -np.inf).argmax(axis=1)
    return chosen


def equal(one: np.ndarray, other: np.ndarray) -> int:
    """Return how many slices have equal spikes."""
    return int(np.all(one == other, axis=(1, 2)).sum())


def main() -> int:
    """Print the counts; 1 where spikes that must be equal are not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interpreter", default="", help="a Python 3.10 with lava-nc")
    parser.add_argument("--slices", type=int, default=120)
    parser.add_argument("--lava", type=int, default=12, help="slices for Lava")
    args = parser.parse_args()
    network, counts = asc_spikes()
    counts = counts[: args.slices]
    model = read_model(SHIPPED)
    file, file_membranes = by_file(model, counts)
    twin, twin_membranes = by_twin(model, counts)
    agreed = int(
        np.sum(decisions(file, file_membranes) == decisions(twin, twin_membranes))
    )
    print(
        f"stock LIF, twin: {agreed} of {len(counts)} decisions are the integer model's"
    )
    if not args.interpreter:
        print("Lava: no --interpreter")
        return 0
    some = counts[: args.lava]
    lava, membranes, about = in_lava(args.interpreter, network, some, "file")
    stock, stock_membranes, _ = in_lava(args.interpreter, network, some, "stock")
    changed = network.place("weight_0").node
    changed.weight = changed.weight.copy()
    changed.weight[0, 0] += 1
    control, _, _ = in_lava(args.interpreter, network, some, "file")
    print(f"versions: {about['versions']}")
    same = equal(lava, file[: len(some)])
    whole = bool(np.array_equal(membranes, file_membranes[: len(some)]))
    print(
        f"file's rule: equal spikes in {same} of {len(some)}, membranes equal: {whole}"
    )
    differs = len(some) - equal(control, file[: len(some)])
    print(f"control, one weight changed by 1: {differs} of {len(some)} differ")
    twins = equal(stock, twin[: len(some)])
    print(f"stock LIF: Lava and its twin equal in {twins} of {len(some)}")
    agreed = int(
        np.sum(
            decisions(stock, stock_membranes)
            == decisions(file[: len(some)], file_membranes[: len(some)])
        )
    )
    print(f"stock LIF, Lava: {agreed} of {len(some)} decisions are the integer model's")
    return 0 if same == twins == len(some) and whole and differs else 1


if __name__ == "__main__":
    sys.exit(main())
