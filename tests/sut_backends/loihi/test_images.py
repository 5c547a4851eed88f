# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools in Lava as sparse connections, against the reference
interpreter."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest
from scipy.sparse import issparse

from lab.equality import lava_fixed_twin
from lab.equality.lava_equal import in_lava
from rig.network import graph
from rig.network.conventions import Conventions
from rig.network.interpreter import run
from rig.network.plain import write_plain
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.stock_plan import plan
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.plain_network import read
from sut_backends.workers.inside.unrolled import unrolled
from tests.sut_backends.loihi.networks import lif
from tests.sut_backends.loihi.test_rules import PYTHON, with_lava

DT_S = 1e-3


def neurons(*shape: int) -> nir.LIF:
    one = np.ones(shape)
    return nir.LIF(one * 0.02, one * 2, one * 0, one, one * 0)


def image(rng: np.random.Generator, *, pool: bool) -> nir.NIRGraph:
    """Return a convolution over images with padding, strides and groups, and neurons
    behind it."""
    kernels = rng.normal(1, 5, (4, 1, 3, 2))
    nodes: dict[str, Any] = {
        "input": nir.Input(np.array([2, 6, 8])),
        "first": nir.Conv2d(
            input_shape=(6, 8),
            weight=kernels,
            stride=(1, 2),
            padding=(1, 0),
            dilation=(2, 1),
            groups=2,
            bias=np.zeros(4),
        ),
        "hidden": neurons(4, 4, 4),
    }
    if pool:
        nodes["pool"] = nir.SumPool2d(
            np.array([2, 2]), np.array([2, 2]), np.array([0, 0])
        )
    sides = (4, 2, 2) if pool else (4, 4, 4)
    count = int(np.prod(sides))
    nodes |= {
        "flat": nir.Flatten({"input": np.array(sides)}, 0, -1),
        "second": nir.Linear(rng.normal(1, 4, (3, count))),
        "last": lif(3),
        "output": nir.Output(np.array([3])),
    }
    edges = list(pairwise(nodes))
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)


def plain_of(made: nir.NIRGraph, folder: Path) -> Any:
    path = folder / "plain.npz"
    write_plain(graph.network(made), Conventions(), None, path)
    return read(str(path))


def line(rng: np.random.Generator) -> nir.NIRGraph:
    """Return a convolution over lines, padded to the same length, and a mean."""
    nodes = {
        "input": nir.Input(np.array([2, 9])),
        "first": nir.Conv1d(
            input_shape=9,
            weight=rng.normal(0, 1, (3, 2, 4)),
            stride=1,
            padding="same",
            dilation=1,
            groups=1,
            bias=rng.normal(0, 1, 3),
        ),
        "output": nir.Output(np.array([3, 9])),
    }
    edges = list(pairwise(nodes))
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)


def means(rng: np.random.Generator) -> nir.NIRGraph:
    nodes = {
        "input": nir.Input(np.array([2, 5, 7])),
        "pool": nir.AvgPool2d(np.array([3, 2]), np.array([2, 1]), np.array([1, 0])),
        "output": nir.Output(np.array([2, 3, 6])),
    }
    edges = list(pairwise(nodes))
    return nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)


@pytest.mark.parametrize("made", [line, means])
def test_a_matrix_gives_the_values_of_the_node(made: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    whole = made(rng)
    network = unrolled(plain_of(whole, tmp_path))
    (node,) = [one for one in network.nodes if one.type == "Affine"]
    shape = graph.network(whole).place("input").shape_out
    values = rng.normal(0, 1, (1, 5, *shape))
    due = run(graph.network(whole), values).values["output"][0]
    found = values[0].reshape(5, -1) @ node.parameters.weight.T.toarray()
    found += layers.bias(node)
    np.testing.assert_allclose(found, due.reshape(5, -1), atol=1e-12)


def spikes_of(rng: np.random.Generator) -> np.ndarray:
    return (rng.random((2, 60, 2, 6, 8)) < 0.2).astype(float)


@with_lava
@pytest.mark.parametrize("pool", [False, True])
def test_every_spike_in_lava_is_the_interpreters(pool: bool) -> None:
    rng = np.random.default_rng(8)
    network = graph.network(image(rng, pool=pool))
    spikes = spikes_of(rng)
    due = run(network, spikes).values["output"]
    values, _, _ = in_lava(PYTHON, network, spikes, "file", "floating")
    assert 100 < due.sum() < due.size - 100
    assert np.array_equal(values, due)


@with_lava
def test_stock_cells_of_an_image_fire_as_the_interpreter_or_nearly(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(8)
    network = graph.network(image(rng, pool=False))
    spikes = spikes_of(rng)
    due = run(network, spikes).values["output"]
    values, _, about = in_lava(PYTHON, network, spikes, "stock", "floating")
    assert about["lag_steps"] == 2
    assert np.array_equal(values, due)
    values, _, _ = in_lava(PYTHON, network, spikes, "stock", "fixed")
    assert 0 < np.count_nonzero(values != due) < 0.15 * due.sum()
    found = plan(
        plain_of(image(np.random.default_rng(8), pool=False), tmp_path), vectors=False
    )
    fixed = fixed_point(found)
    whole = [one.toarray() if issparse(one) else one for one in fixed.weights]
    for sample, given in zip(values, spikes, strict=True):
        counts = given.reshape(len(given), -1).astype(int)
        twin, _ = lava_fixed_twin.run(found, replace(fixed, weights=whole), counts)
        assert np.array_equal(sample, twin)


def test_stock_cells_of_an_image_have_sparse_matrices_in_whole_numbers(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(8)
    network = plain_of(image(rng, pool=False), tmp_path)
    found = plan(network, vectors=False)
    first = found.synapses[0].weights
    assert first.shape == (64, 96)
    assert first.nnz < 64 * 6
    fixed = fixed_point(found)
    exact = first.toarray() * fixed.registers[0].scale
    assert np.abs(fixed.weights[0].toarray() - exact).max() <= 1.0
    assert set(np.unique(fixed.weights[0].toarray() % 2)) == {0}
    pooled = plain_of(image(rng, pool=True), tmp_path)
    with pytest.raises(ValueError, match="takes the spikes of one node"):
        plan(pooled, vectors=False)
    cycle = [
        replace(one, late_sources=("last",)) if one.type == "Flatten" else one
        for one in network.nodes
    ]
    with pytest.raises(ValueError, match="flat is a Flatten in a cycle"):
        unrolled(replace(network, nodes=tuple(cycle)))
