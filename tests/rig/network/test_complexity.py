# SPDX-License-Identifier: Apache-2.0
"""Complexity: equal to NeuroBench's public harness on stored networks, and counted by
hand on small ones.
"""

from __future__ import annotations

import json
from itertools import pairwise

import nir
import numpy as np
import pytest

from rig.errors import DataError
from rig.network import complexity, conventions, graph
from rig.network.complexity_text import Complexity
from rig.network.conventions import PRESETS
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("read_networks_here")

VECTORS = ROOT / "tests" / "vectors" / "nir" / "complexity"
HARNESS = json.loads((VECTORS / "harness.json").read_text())
SHIPPED = ROOT / "scenarios" / "tasks" / "asc" / "asc.nir"


def counted(name: str, *, samples: slice = slice(None)) -> Complexity:
    """Count on a stored network and its inputs."""
    read = graph.read(SHIPPED if name == "asc" else VECTORS / f"{name}.nir")
    how = conventions.stated(read.nodes) if name == "asc" else PRESETS["snntorch-zero"]
    with np.load(VECTORS / f"{name}.npz") as stored:
        values, dt_s = stored["input"][samples], float(stored["dt_s"])
    return complexity.count(graph.network(read), values, dt_s, how)


@pytest.mark.parametrize("name", sorted(HARNESS))
def test_the_counts_are_those_of_the_public_harness(name: str) -> None:
    result, reported = counted(name), HARNESS[name]["one"]
    assert result.dense == reported["Dense"]
    assert result.effective_macs == pytest.approx(reported["Effective_MACs"], rel=1e-12)
    assert result.effective_acs == pytest.approx(reported["Effective_ACs"], rel=1e-12)
    assert result.activation_sparsity == pytest.approx(
        reported["ActivationSparsity"], rel=1e-12
    )
    # The harness rounds this one to four decimals.
    assert round(result.connection_sparsity, 4) == reported["ConnectionSparsity"]
    assert result.effective_macs > 0
    assert result.effective_acs > 0


def test_the_footprint_is_the_harness_s_where_the_framework_holds_the_same_numbers():
    assert counted("asc").footprint_b == HARNESS["asc"]["one"]["Footprint"]


@pytest.mark.parametrize("name", sorted(HARNESS))
def test_the_harness_s_macs_and_acs_depend_on_the_batch_and_their_sum_does_not(
    name: str,
) -> None:
    item, together = HARNESS[name]["one"], HARNESS[name]["together"]
    assert item["Effective_MACs"] < together["Effective_MACs"]
    assert counted(name).effective == pytest.approx(
        together["Effective_MACs"] + together["Effective_ACs"], rel=1e-12
    )


def test_samples_add_up() -> None:
    parts = [counted("recurrent", samples=slice(at, at + 1)) for at in range(4)]
    assert (
        sum(part.effective_macs for part in parts)
        == 4 * counted("recurrent").effective_macs
    )


def test_many_samples_are_counted_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = counted("feedforward")
    monkeypatch.setattr(complexity, "_VALUES_MAX", 1)
    assert counted("feedforward") == whole


def chain(*nodes: object) -> graph.Network:
    """A network of nodes in a row."""
    named = {str(number): node for number, node in enumerate(nodes)}
    return graph.network(nir.NIRGraph(named, list(pairwise(named)), type_check=False))


def test_a_small_network_by_hand() -> None:
    # Neuron 0 takes inputs 0 and 1, neuron 1 takes input 1; a membrane gains what
    # enters it.
    weight = np.array([[1, 1, 0], [0, 1, 0]], np.float32)
    neurons = nir.IF(
        np.ones(2, np.float32), np.full(2, 1.5, np.float32), np.zeros(2, np.float32)
    )
    network = chain(
        nir.Input(np.array([3])), nir.Linear(weight), neurons, nir.Output(np.array([2]))
    )
    # Step 1: input 0, one weight. Step 2: inputs 0 and 1, three weights. Step 3: a 2
    # multiplies.
    values = np.array([[[1, 0, 0], [1, 1, 0], [0, 2, 1]]])
    result = complexity.count(network, values, 1.0)
    assert (result.dense, result.effective_acs, result.effective_macs) == (18, 4, 2)
    assert result.connection_sparsity == 0.5
    # Membranes 1 0, then 3 1: neuron 0 fires; then 2 3: both fire.
    assert result.activation_sparsity == 0.5
    assert (result.parameters_b, result.states_b) == (4 * 12, 4 * 2)
    assert (result.samples, result.steps, result.execution_rate_hz) == (1, 3, 1.0)


def test_a_bias_is_no_operation_and_padding_none_either() -> None:
    kernel = np.ones((1, 1, 3), np.float32)
    zero = np.zeros(1, np.float32)
    line = nir.Conv1d(4, kernel, 1, 1, dilation=1, groups=1, bias=zero + 5)
    network = chain(nir.Input(np.array([1, 4])), line, nir.Output(np.array([1, 4])))
    result = complexity.count(network, np.array([[[[1, 0, 0, 1]]]]), 1.0)
    # At both ends one of three taps lies outside; each end reaches two places.
    assert (result.dense, result.effective_acs) == (10, 4)
    assert result.activation_sparsity == 0.0


def test_delays_and_late_values_are_states() -> None:
    two = np.ones(2, np.float32)
    neurons = nir.CubaLIF(
        two, two, two, two * 0, v_threshold=two, v_reset=two * 0, w_in=two
    )
    wait = nir.Delay(np.array([2.0, 3.0], np.float32))
    back = nir.Linear(np.eye(2, dtype=np.float32))
    nodes = {"in": nir.Input(np.array([2])), "n": neurons, "d": wait, "back": back,
             "out": nir.Output(np.array([2]))}  # fmt: skip
    edges = [("in", "n"), ("n", "back"), ("back", "n"), ("n", "d"), ("d", "out")]
    network = graph.network(nir.NIRGraph(nodes, edges, type_check=False))
    result = complexity.count(network, np.zeros((1, 4, 2)), 1.0)
    # Membrane and current of two neurons, five steps of delay, two values that arrive
    # late.
    assert result.states_b == 4 * (4 + 5 + 2)


def test_nothing_to_count_and_no_time_step_are_reported() -> None:
    network = chain(nir.Input(np.array([2])), nir.Output(np.array([2])))
    with pytest.raises(DataError, match="nothing to count"):
        complexity.count(network, np.zeros((0, 3, 2)), 1.0)
    with pytest.raises(DataError, match="no time step"):
        complexity.count(network, np.zeros((1, 3, 2)))


def test_the_vectors_say_with_what_they_were_made() -> None:
    assert sorted(HARNESS) == ["asc", "feedforward", "recurrent"]
    assert (VECTORS / "VERSIONS").read_text().startswith("neurobench 2.3.0\n")
