# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter against norse, snntorch and torch: stored vectors of their
runs."""

from __future__ import annotations

import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS
from rig.network.interpreter import run
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("read_networks_here")

VECTORS = ROOT / "tests" / "vectors" / "nir"
SPIKES = sorted(path.stem for path in VECTORS.glob("*lif*.npz"))
VALUES = sorted({path.stem for path in VECTORS.glob("*.npz")} - set(SPIKES))


def run_vector(name: str, preset: str) -> tuple[np.ndarray, np.ndarray]:
    """Run a network over its vector's input; return its output and the other
    program's."""
    with np.load(VECTORS / f"{name}.npz") as stored:
        vector = dict(stored)
    network = graph.network(graph.read(VECTORS / f"{name}.nir"))
    # A row of spikes is a step; each image is a sample of one step.
    values = vector["input"][None] if name in SPIKES else vector["input"][:, None]
    done = run(network, values, float(vector["dt_s"]), PRESETS[preset])
    output = done.values[network.outputs[0]]
    return output[0] if name in SPIKES else output[:, 0], vector["output"]


@pytest.mark.parametrize("name", SPIKES)
def test_every_spike_is_that_of_the_other_program(name: str) -> None:
    ours, theirs = run_vector(
        name, "norse" if name.startswith("norse") else "snntorch-zero"
    )
    assert theirs.sum() > 50
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", SPIKES)
@pytest.mark.parametrize("preset", ["exact", "paper", "xylo"])
def test_other_conventions_give_other_spikes(name: str, preset: str) -> None:
    ours, theirs = run_vector(name, preset)
    assert not np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", VALUES)
def test_convolutions_and_pools_are_those_of_torch(name: str) -> None:
    ours, theirs = run_vector(name, "nir")
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_vectors_are_there() -> None:
    assert len(SPIKES) == 6
    assert len(VALUES) == 4
    assert (VECTORS / "VERSIONS").read_text().count("\n") == 4
