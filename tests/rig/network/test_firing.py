# SPDX-License-Identifier: Apache-2.0
"""Networks that cannot fire are found without a run, and those that fire are left
alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import nir
import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS, STEPS_S, Conventions
from rig.network.firing import of_firing
from rig.network.interpreter import run
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "nir" / "presets"
ONE = np.ones(1)


def network(neurons: Any, weight: float) -> graph.Network:
    nodes = {
        "input": nir.Input(np.array([1])),
        "weight": nir.Linear(np.array([[weight]])),
        "neurons": neurons,
        "output": nir.Output(np.array([1])),
    }
    made = nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False)
    return graph.network(made)


@pytest.mark.parametrize(("weight", "fires"), [(0.9, False), (1.1, True)])
@pytest.mark.parametrize("kind", ["LIF", "CubaLIF"])
def test_a_membrane_that_rests_below_its_threshold_is_doubtful(
    kind: str, weight: float, fires: bool
) -> None:
    zero = np.zeros(1)
    neurons = (
        nir.LIF(0.01 * ONE, ONE, zero, ONE, zero)
        if kind == "LIF"
        else nir.CubaLIF(
            0.005 * ONE, 0.01 * ONE, ONE, zero, v_threshold=ONE, v_reset=zero, w_in=ONE
        )
    )
    made = network(neurons, weight)
    result = of_firing(made, Conventions(), 1e-3)
    done = run(made, np.ones((1, 400, 1)), 1e-3)
    assert (done.spikes["neurons"] > 0) is fires
    assert (result == []) is fires
    if not fires:
        assert "cannot reach its threshold" in str(result[0])


def test_an_export_of_sinabs_stepped_by_a_millisecond_is_doubtful() -> None:
    made = graph.network(graph.read(VECTORS / "sinabs-iaf.nir"))
    (result, *_) = of_firing(made, Conventions(), 1e-3)
    assert "no neuron fires within 100 steps" in str(result)
    assert not result.wrong
    assert of_firing(made, PRESETS["sinabs"], STEPS_S["sinabs"]) == []


@pytest.mark.parametrize("name", sorted(path.stem for path in VECTORS.glob("*.npz")))
def test_networks_that_fire_are_not_doubtful(name: str) -> None:
    with np.load(VECTORS / f"{name}.npz") as stored:
        preset = str(stored["preset"])
    made = graph.network(graph.read(VECTORS / f"{name}.nir"))
    assert of_firing(made, PRESETS[preset], made.dt_s or STEPS_S[preset]) == []
