# SPDX-License-Identifier: Apache-2.0
"""Whether the torch runner makes the trains of the integer model on this device, how
far float32 is from float64, and how long a run takes, by the number of samples side by
side.

Run it: `python -m lab.equality.gpu_networks [cuda|cpu]`, with the extra `gpu`. Exits
with 1 where a train differs, or where the control, one weight changed by 1, does not.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rig.interfaces.context import BenchContext
from rig.network import graph
from rig.network.conventions import stated
from rig.network.plain import write_plain
from scenarios.tasks.asc.integer import run_layer, spike_counts
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask
from sut_backends.gpu.runner import TorchRunner, open_network
from sut_backends.workers.inside.job import Job

BATCHES = (1, 8, 120, 960)
ROUNDS = 20


def opened(device: str, changed: bool = False, **settings: str) -> TorchRunner:
    """Return the runner of the shipped model, or of one with a weight changed by 1."""
    model = graph.read(SHIPPED_MODEL)
    if changed:
        model.nodes["weight_0"].weight[0, 0] += 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        write_plain(graph.network(model), stated(model.nodes), None, path)
        return open_network(
            Job(plain=str(path), settings={"device": device} | settings)
        )


def differing(runner: TorchRunner, counts: Any) -> int:
    """Return how many of the samples have other trains or membranes than the integer
    model's."""
    spikes, membranes = counts, None
    for layer in read_model(SHIPPED_MODEL).layers:
        spikes, membranes = run_layer(layer, spikes)
    assert membranes is not None
    result = runner.run_many(list(counts))
    return sum(
        not (
            np.array_equal(values, spikes[number])
            and np.array_equal(last, membranes[number])
        )
        for number, (values, last) in enumerate(result)
    )


def main() -> int:
    """Print differences and the time of a run; return 1 where the comparison fails."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    task = AscTask.open(AscTask.Settings(), BenchContext())
    audio = np.stack(
        [np.frombuffer(task.payload(index), "<i2") for index in range(len(task))]
    )
    counts = spike_counts(read_model(SHIPPED_MODEL).bank, audio)
    runner = opened(device)
    for name, value in runner.about.items():
        print(f"{name}: {value}")
    other = differing(runner, counts)
    control = differing(opened(device, changed=True), counts)
    print(
        f"samples whose trains differ from the integer model's: {other} of"
        f" {len(counts)}"
    )
    print(f"the same with one weight changed by 1: {control} of {len(counts)}")
    floats = opened(device, arithmetic="float")
    print(f"float32 against float64: {floats.about['float32_against_float64']}")
    for batch in BATCHES:
        samples = [counts[number % len(counts)] for number in range(batch)]
        runner.run_many(samples)
        took_s = []
        for _ in range(ROUNDS):
            start_s = time.perf_counter()
            runner.run_many(samples)
            took_s.append(time.perf_counter() - start_s)
        median_ms = 1e3 * statistics.median(took_s)
        print(
            f"{batch:>5} samples: {median_ms:9.3f} ms, {1e3 * median_ms / batch:9.1f}"
            " us a sample"
        )
    return int(other > 0 or control == 0)


if __name__ == "__main__":
    sys.exit(main())
