# SPDX-License-Identifier: Apache-2.0
"""A NIR network over a batch of 64 samples on this processor: `[sut.cpu]` with program
"nir" against a loop in NumPy, written by hand for this one network.

Run it: `python -m benchmarks.network_batch [--quick]`; ten seconds. Both compute in
double precision, on one thread, and every spike must be equal. The ratio is that of
processor times, the smallest of some turns that both take one after the other. Where
snntorch is installed, a network of its Leaky in single precision takes turns too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nir
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sut_backends.cpu.interpreter import open_network
from sut_backends.workers.inside.job import Job

BATCH = 64
DT_S = 1e-3
TAU_S = 20e-3
TAU_SYNAPSE_S = 10e-3
AIM = 1.5
#: Read as libraries are loaded; their threads would spend processor time in waiting.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Floats = np.ndarray


@dataclass(frozen=True, slots=True)
class Case:
    """A network, the same in NumPy by hand, and its inputs (samples, steps, *shape)."""

    name: str
    graph: Any
    by_hand: Callable[[Floats], Floats]
    inputs: Floats


def convolution(sides: tuple[int, int], kernels: Floats) -> Any:
    """Return a convolution without padding and bias."""
    return nir.Conv2d(
        input_shape=sides,
        weight=kernels,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=np.zeros(len(kernels)),
    )


def chain(nodes: dict[str, Any], *more: tuple[str, str]) -> Any:
    """Return a graph of nodes one after the other, and more edges."""
    edges = [*pairwise(name for name in nodes if name != "again"), *more]
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)


def neurons(*shape: int) -> Any:
    """Return LIF neurons of a threshold of 1."""
    one = np.ones(shape)
    return nir.LIF(TAU_S * one, one, 0 * one, one, 0 * one)


def with_currents(size: int) -> Any:
    """Return CubaLIF neurons of a threshold of 1."""
    one = np.ones(size)
    return nir.CubaLIF(
        tau_mem=TAU_S * one,
        tau_syn=TAU_SYNAPSE_S * one,
        r=one,
        v_leak=0 * one,
        v_threshold=one,
        v_reset=0 * one,
        w_in=one,
    )


def dense(rng: np.random.Generator) -> Case:
    """Return 128 inputs, 128 neurons, 10 neurons."""
    first, second = rng.normal(0, 6, (128, 128)), rng.normal(0, 6, (10, 128))
    nodes = {
        "input": nir.Input(np.array([128])),
        "first": nir.Affine(first, np.zeros(128)),
        "hidden": neurons(128),
        "second": nir.Affine(second, np.zeros(10)),
        "last": neurons(10),
        "output": nir.Output(np.array([10])),
    }

    def by_hand(inputs: Floats) -> Floats:
        share = DT_S / TAU_S
        into, out = first.T.copy(), second.T.copy()
        hidden, last = np.zeros((len(inputs), 128)), np.zeros((len(inputs), 10))
        found = np.empty((*inputs.shape[:2], 10))
        for step in range(inputs.shape[1]):
            hidden += share * (inputs[:, step] @ into - hidden)
            fires = hidden > 1
            hidden[fires] = 0
            last += share * (fires @ out - last)
            found[:, step] = last > 1
            last[last > 1] = 0
        return found

    inputs = (rng.random((BATCH, 100, 128)) < 0.1).astype(float)
    return Case("dense, LIF", chain(nodes), by_hand, inputs)


def recurrent(rng: np.random.Generator) -> Case:
    """Return 12 inputs, 38 neurons with connections among them, 7 neurons."""
    first, second = rng.normal(0, 40, (38, 12)), rng.normal(0, 8, (7, 38))
    among = rng.normal(0, 8, (38, 38))
    nodes = {
        "input": nir.Input(np.array([12])),
        "first": nir.Affine(first, np.zeros(38)),
        "hidden": with_currents(38),
        "again": nir.Affine(among, np.zeros(38)),
        "second": nir.Affine(second, np.zeros(7)),
        "last": with_currents(7),
        "output": nir.Output(np.array([7])),
    }

    def by_hand(inputs: Floats) -> Floats:
        share, share_synapse = DT_S / TAU_S, DT_S / TAU_SYNAPSE_S
        into, back, out = first.T.copy(), among.T.copy(), second.T.copy()
        hidden, last = np.zeros((len(inputs), 38)), np.zeros((len(inputs), 7))
        current, current_last = np.zeros_like(hidden), np.zeros_like(last)
        fires = np.zeros(hidden.shape, bool)
        found = np.empty((*inputs.shape[:2], 7))
        for step in range(inputs.shape[1]):
            driven = inputs[:, step] @ into + fires @ back
            current += share_synapse * (driven - current)
            hidden += share * (current - hidden)
            fires = hidden > 1
            hidden[fires] = 0
            current_last += share_synapse * (fires @ out - current_last)
            last += share * (current_last - last)
            found[:, step] = last > 1
            last[last > 1] = 0
        return found

    inputs = (rng.random((BATCH, 256, 12)) < 0.1).astype(float)
    graph = chain(nodes, ("hidden", "again"), ("again", "hidden"))
    return Case("recurrent, CubaLIF", graph, by_hand, inputs)


def image(rng: np.random.Generator) -> Case:
    """Return a convolution of 3 x 3 over 2 x 16 x 16 to 8 channels, 10 neurons."""
    kernels, second = rng.normal(0, 8, (8, 2, 3, 3)), rng.normal(0, 4, (10, 8 * 196))
    nodes = {
        "input": nir.Input(np.array([2, 16, 16])),
        "first": convolution((16, 16), kernels),
        "hidden": neurons(8, 14, 14),
        "flat": nir.Flatten({"input": np.array([8, 14, 14])}, 0, -1),
        "second": nir.Affine(second, np.zeros(10)),
        "last": neurons(10),
        "output": nir.Output(np.array([10])),
    }

    def by_hand(inputs: Floats) -> Floats:
        share, count = DT_S / TAU_S, len(inputs)
        into, out = kernels.reshape(8, -1).T.copy(), second.T.copy()
        hidden, last = np.zeros((count, 8, 14, 14)), np.zeros((count, 10))
        found = np.empty((*inputs.shape[:2], 10))
        for step in range(inputs.shape[1]):
            windows = sliding_window_view(inputs[:, step], (3, 3), axis=(2, 3))
            under = np.moveaxis(windows, 1, 3).reshape(count, 14, 14, 18)
            hidden += share * ((under @ into).transpose(0, 3, 1, 2) - hidden)
            fires = hidden > 1
            hidden[fires] = 0
            last += share * (fires.reshape(count, -1) @ out - last)
            found[:, step] = last > 1
            last[last > 1] = 0
        return found

    inputs = (rng.random((BATCH, 50, 2, 16, 16)) < 0.1).astype(float)
    return Case("convolution, LIF", chain(nodes), by_hand, inputs)


def spent_s(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, and its result."""
    start_s = time.process_time()
    found = work()
    return time.process_time() - start_s, found


def compared(case: Case, turns: int) -> tuple[float, float, float]:
    """Return processor times of a batch by hand, by the rig, and by the rig one sample
    at a time; raises ValueError where spikes differ.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.nir"
        nir.write(path, case.graph)
        running = open_network(Job(nir=str(path)))
    samples = list(case.inputs)
    by_hand, together, alone = [], [], []
    for _ in range(turns):
        hand_s, wanted = spent_s(lambda: case.by_hand(case.inputs))
        many_s, found = spent_s(lambda: running.run_many(samples))
        one_s, _ = spent_s(lambda: [running.run(sample) for sample in samples])
        by_hand.append(hand_s)
        together.append(many_s)
        alone.append(one_s)
        if not wanted.any() or not np.array_equal(wanted, [one for one, _ in found]):
            raise ValueError(f"{case.name}: spikes differ, or there are none")
    return min(by_hand), min(together), min(alone)


def snntorch_s(case: Case, turns: int) -> float | None:
    """Return the processor time of the dense network in snntorch; None without it."""
    try:
        snntorch = import_module("snntorch")
        torch = import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)
    decay = 1 - DT_S / TAU_S
    layers = []
    for name in ("first", "second"):
        weight = torch.tensor(case.graph.nodes[name].weight, dtype=torch.float32)
        layers.append(
            (weight.T * (1 - decay), snntorch.Leaky(decay, reset_mechanism="zero"))
        )
    inputs = torch.tensor(case.inputs, dtype=torch.float32)

    def work() -> Any:
        states = [cell.init_leaky() for _, cell in layers]
        found = []
        with torch.no_grad():
            for step in range(inputs.shape[1]):
                values = inputs[:, step]
                for number, (weight, cell) in enumerate(layers):
                    values, states[number] = cell(values @ weight, states[number])
                found.append(values)
        return torch.stack(found, 1)

    return min(spent_s(work)[0] for _ in range(turns))


def main() -> int:
    """Print the table; return 1 where the aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="two turns")
    turns = 2 if parser.parse_args().quick else 7
    if any(os.environ.get(name) != "1" for name in THREADS):
        words = [sys.executable, "-m", "benchmarks.network_batch", *sys.argv[1:]]
        return subprocess.call(words, env={**os.environ, **dict.fromkeys(THREADS, "1")})
    rng = np.random.default_rng(5)
    cases = [dense(rng), recurrent(rng), image(rng)]
    worst = 0.0
    print(f"{'ms for 64 samples':<20}{'by hand':>9}{'the rig':>9}{'ratio':>7}", end="")
    print(f"{'one by one':>12}{'ratio':>7}")
    for case in cases:
        hand_s, many_s, one_s = compared(case, turns)
        worst = max(worst, many_s / hand_s)
        print(f"{case.name:<20}{hand_s * 1e3:>9.1f}{many_s * 1e3:>9.1f}", end="")
        print(f"{many_s / hand_s:>7.2f}{one_s * 1e3:>12.1f}{one_s / hand_s:>7.1f}")
    theirs_s = snntorch_s(cases[0], turns)
    if theirs_s is not None:
        print(f"dense, snntorch: {theirs_s * 1e3:.1f} ms")
    print(f"aim: at most {AIM} times; {'met' if worst <= AIM else 'NOT met'}")
    return int(worst > AIM)


if __name__ == "__main__":
    sys.exit(main())
