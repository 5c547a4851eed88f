# SPDX-License-Identifier: Apache-2.0
"""Small random networks of every kind of node, for Hypothesis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import nir
import numpy as np

from rig.network.conventions import (
    PRESETS,
    Conventions,
    Current,
    Gains,
    Reset,
    Scheme,
    Start,
)
from rig.network.shapes import leaving

DT_S = 1e-3
NEURON_KINDS = ("I", "IF", "LI", "LIF", "CubaLI", "CubaLIF")


def neurons(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Any:
    """Return neurons with a parameter each, or one for all."""

    def drawn(least: float, most: float) -> Any:
        values = rng.uniform(least, most, shape)
        return values if rng.random() < 0.5 else np.full(shape, values.flat[0])

    times = {"tau": drawn(2 * DT_S, 30 * DT_S)}
    if kind.startswith("Cuba"):
        times = {
            "tau_syn": drawn(DT_S, 9 * DT_S),
            "tau_mem": drawn(2 * DT_S, 30 * DT_S),
        }
    fields: dict[str, Any] = {"r": drawn(0.5, 3.0)}
    if kind in ("I", "IF"):
        fields["r"] = drawn(100.0, 800.0)
    else:
        fields |= times | {"v_leak": drawn(-0.2, 0.2)}
    if kind.startswith("Cuba"):
        fields["w_in"] = drawn(0.5, 5.0)
    if kind.endswith("F"):
        fields |= {"v_threshold": drawn(0.2, 1.0), "v_reset": drawn(-0.3, 0.1)}
    return getattr(nir, kind)(**fields)


def convolution(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return a convolution that fits an image, or a line of values."""
    axes = len(shape) - 1
    groups = int(rng.choice([1, shape[0]]))
    outputs = groups * int(rng.integers(1, 3))
    kernel = tuple(int(rng.integers(1, min(3, side) + 1)) for side in shape[1:])
    weight = rng.normal(0, 1, (outputs, shape[0] // groups, *kernel))
    stride = rng.integers(1, 3, axes)
    padding = rng.integers(0, 2, axes)
    dilation = np.ones(axes, int)
    if all(
        side + 2 * pad > 2 * (k - 1)
        for side, pad, k in zip(shape[1:], padding, kernel, strict=True)
    ):
        dilation = rng.integers(1, 3, axes)
    bias = rng.normal(0, 0.3, outputs)
    if axes == 1:
        item = (int(stride[0]), int(padding[0]), int(dilation[0]))
        return nir.Conv1d(shape[1], weight, *item, groups, bias)
    return nir.Conv2d(
        shape[1:],
        weight,
        tuple(stride),
        tuple(padding),
        dilation=tuple(dilation),
        groups=groups,
        bias=bias,
    )


def body(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Any:
    """Return a node of a kind for values of a shape."""
    if kind in NEURON_KINDS:
        return neurons(rng, kind, shape)
    if kind in ("Linear", "Affine"):
        weight = rng.normal(0, 1.5, (int(rng.integers(1, 6)), shape[0]))
        bias = rng.normal(0, 0.5, len(weight))
        return nir.Linear(weight) if kind == "Linear" else nir.Affine(weight, bias)
    if kind == "Scale":
        return nir.Scale(rng.normal(0, 2, shape))
    if kind == "Threshold":
        return nir.Threshold(rng.uniform(-0.5, 0.5, shape))
    if kind == "Delay":
        return nir.Delay(rng.integers(0, 4, shape) * DT_S)
    if kind == "Flatten":
        return nir.Flatten({"input": np.array(shape)}, 0, -1)
    if kind in ("SumPool2d", "AvgPool2d"):
        two = np.array([2, 2])
        return getattr(nir, kind)(two, np.array([1, 2]), rng.integers(0, 2, 2))
    return convolution(rng, shape)


def random_graph(seed: int) -> Any:
    """Return a graph of up to six nodes, often with a cycle, a side way or a
    subgraph."""
    rng = np.random.default_rng(seed)
    shapes = [(int(rng.integers(1, 6)),), (2, 6), (int(rng.integers(1, 3)), 5, 4)]
    first = shapes[int(rng.integers(len(shapes)))]
    nodes: dict[str, Any] = {"input": nir.Input(np.array(first))}
    shape = first
    edges: list[tuple[str, str]] = []
    before = "input"
    for number in range(int(rng.integers(1, 6))):
        anywhere = [*NEURON_KINDS, "Scale", "Threshold", "Delay"]
        fitting = {1: ["Linear", "Affine"] * 2, 2: ["Conv1d", "Flatten"]}
        images = ["Conv2d", "SumPool2d", "AvgPool2d", "Flatten"]
        choices = anywhere + fitting.get(len(shape), images)
        if len(shape) == 3 and min(shape[1:]) < 3:
            choices = [*anywhere, "Flatten"]
        kind = choices[int(rng.integers(len(choices)))]
        name = f"{kind.lower()}_{number}"
        nodes[name] = body(rng, shape, kind)
        edges.append((before, name))
        after = leaving(name, nodes[name], shape)
        if after == shape and kind in NEURON_KINDS and rng.random() < 0.6:
            again = f"again_{number}"
            size = int(np.prod(shape))
            # Weak after neurons that do not fire: a network that runs away cannot be
            # compared.
            strength = 1.0 if kind.endswith("F") else 0.01 / size
            nodes[again] = (
                nir.Linear(rng.normal(0, strength, (size, size)))
                if len(shape) == 1
                else nir.Scale(rng.normal(0, strength, shape))
            )
            edges += [(name, again), (again, name)]
        if after == shape and rng.random() < 0.3 and before != "input":
            side = f"side_{number}"
            nodes[side] = nir.Scale(rng.normal(0, 1, shape))
            edges += [(before, side), (name, side)]
            name = side
        shape = after
        before = name
    nodes["output"] = nir.Output(np.array(shape))
    edges.append((before, "output"))
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)


def random_conventions(seed: int) -> Conventions:
    """Return conventions, often none of a preset."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.3:
        result = list(PRESETS.values())[int(rng.integers(len(PRESETS)))]
        # Late spikes close no cycle, and these networks have many cycles.
        return replace(result, late=False)
    reset = list(Reset)[int(rng.integers(len(Reset)))]
    return Conventions(
        list(Scheme)[int(rng.integers(2))],
        list(Current)[int(rng.integers(2))],
        reset,
        bool(rng.integers(2)),
        gains=list(Gains)[int(rng.integers(len(Gains)))],
        start=list(Start)[int(rng.integers(2))],
        spikes_max=int(rng.integers(1, 5)) if reset is Reset.SUBTRACT else 1,
    )


def random_values(seed: int, shape: tuple[int, ...], samples: int, steps: int) -> Any:
    """Return spikes, small counts, or currents of either sign."""
    rng = np.random.default_rng(seed)
    kind = int(rng.integers(3))
    size = (samples, steps, *shape)
    if kind == 2:
        return rng.normal(0, 1, size)
    return rng.integers(0, 2 if kind == 0 else 4, size).astype(float)
