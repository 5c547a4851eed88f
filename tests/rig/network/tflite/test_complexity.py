# SPDX-License-Identifier: Apache-2.0
"""Complexity of networks in .tflite files: the numbers of NeuroBench's public harness,
which tests/vectors/tflite/complexity/make_vectors.py wrote.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples.make_tflite import NONE, RELU, VALID, Layers
from rig.errors import DataError
from rig.interfaces.context import BenchContext
from rig.network import complexity_text
from rig.network.complexity_text import Complexity
from rig.network.tflite import network
from rig.network.tflite.complexity import count
from rig.results.complexity import of_facts
from rig.session import complexity
from scenarios.tasks.tflite.task import TfliteTask
from tests.commands import rig
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "tflite"
HARNESS = json.loads((VECTORS / "complexity" / "harness.json").read_text("utf-8"))


def counted(name: str) -> Complexity:
    with np.load(VECTORS / f"{name}.npz") as stored:
        return count(network.read(VECTORS / f"{name}.tflite"), stored["inputs"])


@pytest.mark.parametrize("name", HARNESS)
def test_counts_are_those_of_the_public_harness(name: str) -> None:
    reported: dict[str, Any] = HARNESS[name]
    result = counted(name)
    assert result.footprint_b == reported["Footprint"]
    assert round(result.connection_sparsity, 4) == reported["ConnectionSparsity"]
    due = pytest.approx(reported["ActivationSparsity"], rel=1e-12)
    assert result.activation_sparsity == due
    assert result.effective_macs == pytest.approx(reported["Effective_MACs"], rel=1e-12)
    assert result.effective_acs == reported["Effective_ACs"] == 0
    if "Dense" in reported:
        assert result.dense == reported["Dense"]
    assert result.dense > result.effective_macs


def test_the_harness_counted_what_tells_networks_apart() -> None:
    assert sum("Dense" in reported for reported in HARNESS.values()) >= 3
    assert max(reported["ConnectionSparsity"] for reported in HARNESS.values()) > 0.01
    sparsities = [reported["ActivationSparsity"] for reported in HARNESS.values()]
    assert max(sparsities) - min(sparsities) > 0.2


def test_zeros_are_counted_by_hand(tmp_path: Path) -> None:
    net = Layers((1, 2, 2, 1), 5, zero_point=3)
    net.convolution(2, (2, 2), padding=VALID, activation=RELU)
    net.reshape(1, 2)
    net.dense(3, NONE)
    path = tmp_path / "model.tflite"
    path.write_bytes(net.content())
    read = network.read(path)
    kernel, matrix = (
        operator.body.weights
        for operator in read.operators
        if hasattr(operator.body, "weights")
    )
    inputs = np.full((1, 2, 2, 1), 3, np.int8)
    inputs[0, 1, 0, 0] = 100
    result = count(read, inputs)
    of_first = int(np.count_nonzero(kernel[:, 1, 0, 0]))
    assert result.dense == 2 * 4 + 2 * 3
    most = of_first + int(np.count_nonzero(matrix))
    assert of_first <= result.effective_macs <= most
    assert result.parameters_b == 8 + 6 + 4 * (2 + 3)
    silent = count(read, np.full((3, 2, 2, 1), 3, np.int8))
    assert silent.effective_macs <= np.count_nonzero(matrix)
    with pytest.raises(DataError, match="nothing to count"):
        count(read, inputs[:0])


def test_a_session_states_them_and_a_page_has_no_rate_of_steps() -> None:
    task = TfliteTask.open(TfliteTask.Settings(samples=10), BenchContext())
    facts = complexity.facts(task)
    result = of_facts({"task": facts})
    assert result is not None
    assert result.samples == 8
    assert result.execution_rate_hz is None
    text = complexity_text.sentence(result)
    assert "effective MACs" in text
    assert "execution rate" not in text
    assert "steps" not in text
    assert len(complexity_text.rows(result)) == 6
    spoilt = {"task": {"complexity": facts["complexity"] | {"execution_rate_hz": "x"}}}
    assert of_facts(spoilt) is None


def test_a_device_that_quantises_has_the_same_network() -> None:
    facts = []
    for real_input in (False, True):
        settings = TfliteTask.Settings(samples=10, real_input=real_input)
        facts.append(complexity.facts(TfliteTask.open(settings, BenchContext())))
    assert facts[0] == facts[1] != {}


def test_the_command_counts_over_inputs(tmp_path: Path) -> None:
    with np.load(VECTORS / "example.npz") as stored:
        np.save(tmp_path / "inputs.npy", stored["inputs"])
    model = VECTORS / "example.tflite"
    reported = rig("model", "inspect", model, "--input", "inputs.npy", cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    due = HARNESS["example"]
    assert f"effective MACs: {due['Effective_MACs']:,.0f}" in reported.stdout
    assert f"activation sparsity: {due['ActivationSparsity']:.4f}" in reported.stdout
    assert "24 samples" in reported.stdout
