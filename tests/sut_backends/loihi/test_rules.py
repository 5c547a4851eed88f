# SPDX-License-Identifier: Apache-2.0
"""A neuron's step in Lava, against the reference interpreter and the integer model;
stored runs of Lava itself in every run, and Lava where an interpreter with it is there.
"""

from __future__ import annotations

import dataclasses
import os
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np
import pytest

from lab.equality.lava_equal import by_file, by_twin, decisions, equal, in_lava
from rig.network import graph
from rig.network.conventions import PRESETS, Conventions
from rig.network.interpreter import run
from rig.network.plain import write_plain
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.loihi import rules
from sut_backends.workers.environments import installed
from sut_backends.workers.inside import layers
from sut_backends.workers.inside.plain_network import read
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "lava"
PYTHON = os.environ.get("RIG_LOIHI_PYTHON", "") or str(installed("loihi"))
with_lava = pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="no Lava: rig sdk install loihi, or RIG_LOIHI_PYTHON",
)


def one_layer(kind: str, rng: np.random.Generator) -> nir.NIRGraph:
    count = 8
    some = {
        "r": rng.uniform(1, 3, count),
        "v_threshold": rng.uniform(0.5, 2, count),
        "v_reset": rng.uniform(-0.2, 0.2, count),
    }
    leaky = some | {"v_leak": rng.uniform(-0.1, 0.1, count)}
    neurons = {
        "IF": lambda: nir.IF(**some | {"r": some["r"] * 300}),
        "LIF": lambda: nir.LIF(tau=rng.uniform(0.005, 0.03, count), **leaky),
        "CubaLIF": lambda: nir.CubaLIF(
            tau_syn=rng.uniform(0.003, 0.01, count),
            tau_mem=rng.uniform(0.005, 0.03, count),
            w_in=rng.uniform(0.5, 1.5, count),
            **leaky,
        ),
    }[kind]()
    nodes = {
        "input": nir.Input(np.array([5])),
        "weight": nir.Linear(rng.normal(4, 6, (count, 5))),
        "neurons": neurons,
        "output": nir.Output(np.array([count])),
    }
    names = list(nodes)
    return nir.NIRGraph(nodes, list(pairwise(names)), type_check=False)


def stepped(plain: Path, spikes: np.ndarray) -> np.ndarray:
    """Run a network of one layer by the worker's rule."""
    network = read(str(plain))
    nodes = {node.name: node for node in network.nodes}
    rule = rules.rule_of(nodes["neurons"], network.conventions, network.dt_s)
    current = np.zeros(8)
    membrane = np.zeros(8) + rule.start
    weight = nodes["weight"].parameters.weight
    return np.array(
        [rules.step(rule, current, membrane, weight @ row) for row in spikes]
    )


@pytest.mark.parametrize("kind", ["IF", "LIF", "CubaLIF"])
@pytest.mark.parametrize(
    "preset", [name for name, how in PRESETS.items() if not how.late]
)
def test_float_rules_are_the_reference_interpreters(
    kind: str, preset: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(len(kind) * 100 + list(PRESETS).index(preset))
    network = graph.network(one_layer(kind, rng))
    write_plain(network, PRESETS[preset], 0.001, tmp_path / "plain.npz")
    spikes = (rng.random((300, 5)) < 0.3).astype(float)
    expected = run(network, spikes[None], 0.001, PRESETS[preset]).values["output"][0]
    result = stepped(tmp_path / "plain.npz", spikes)
    assert expected.sum() > 20
    assert np.array_equal(result, expected)


def test_the_integer_rule_is_the_tasks(tmp_path: Path) -> None:
    model = read_model(SHIPPED_MODEL)
    network = graph.network(graph.read(SHIPPED_MODEL))
    write_plain(network, PRESETS["xylo"], None, tmp_path / "plain.npz")
    plain = {node.name: node for node in read(str(tmp_path / "plain.npz")).nodes}
    how = read(str(tmp_path / "plain.npz")).conventions
    with np.load(VECTORS / "asc.npz") as kept:
        spikes = kept["input"][:3]
    expected, membranes = by_file(model, spikes)
    for sample, trains, last in zip(spikes, expected, membranes, strict=True):
        result = sample.astype(float)
        for number in range(len(model.layers)):
            rule = rules.rule_of(plain[f"neurons_{number}"], how, 0.008)
            weight = plain[f"weight_{number}"].parameters.weight.astype(float)
            current, membrane = np.zeros(len(weight)), np.zeros(len(weight))
            result = np.array(
                [rules.step(rule, current, membrane, weight @ row) for row in result]
            )
        assert np.array_equal(result, trains)
        assert np.array_equal(membrane, last)


def test_stored_runs_of_lava_are_the_models() -> None:
    model = read_model(SHIPPED_MODEL)
    with np.load(VECTORS / "asc.npz") as kept:
        asc = dict(kept)
    trains, membranes = by_file(model, asc["input"])
    assert equal(asc["file_values"], trains) == len(trains) == 12
    assert np.array_equal(asc["file_membranes"], membranes)
    twin, twin_membranes = by_twin(model, asc["input"])
    assert equal(asc["stock_values"], twin) == 12
    np.testing.assert_allclose(asc["stock_membranes"], twin_membranes, rtol=1e-12)
    # Stock LIF is another model: of these twelve it decides nine as the file's rule
    # does.
    assert equal(asc["stock_values"], trains) == 0
    assert (
        int(np.sum(decisions(twin, twin_membranes) == decisions(trains, membranes)))
        == 9
    )
    changed = model.layers[0].weight.copy()
    changed[0, 0] += 1
    first = dataclasses.replace(model.layers[0], weight=changed)
    control, _ = by_file(
        dataclasses.replace(model, layers=(first, *model.layers[1:])), asc["input"]
    )
    assert equal(asc["file_values"], control) == 5


def test_stored_runs_of_a_recurrent_network_are_the_reference_interpreters() -> None:
    network = graph.network(graph.read(VECTORS / "recurrent.nir"))
    with np.load(VECTORS / "recurrent.npz") as kept:
        result = dict(kept)
    expected = run(network, result["input"]).values["output"]
    assert expected.sum() > 100
    assert np.array_equal(result["file_values"], expected)
    # In these conventions stock cells are the file's, the lag of two Dense taken off.
    assert np.array_equal(result["stock_values"], expected)
    assert (VECTORS / "VERSIONS").read_text().splitlines()[1] == "lava-nc 0.10.0"


@with_lava
def test_lava_gives_what_is_stored() -> None:
    network = graph.network(graph.read(VECTORS / "recurrent.nir"))
    with np.load(VECTORS / "recurrent.npz") as kept:
        stored = dict(kept)
    for rule in ("file", "stock"):
        values, _, about = in_lava(PYTHON, network, stored["input"], rule)
        assert np.array_equal(values, stored[f"{rule}_values"])
        assert about["lag_steps"] == (0 if rule == "file" else 2)
        assert not about.get("rule differs")
    shipped = graph.network(graph.read(SHIPPED_MODEL))
    with np.load(VECTORS / "asc.npz") as kept:
        asc = dict(kept)
    values, membranes, _ = in_lava(PYTHON, shipped, asc["input"], "file")
    assert np.array_equal(values, asc["file_values"])
    assert np.array_equal(membranes, asc["file_membranes"])


def test_ends_of_subgraphs_are_taken_out_and_have_no_effect(tmp_path: Path) -> None:
    zero, item = np.zeros(8), np.ones(8)
    inner = {
        "input": nir.Input(np.array([8])),
        "lif": nir.LIF(0.01 * item, item, zero, item, zero),
        "w_rec": nir.Linear(0.1 * np.eye(8)),
        "output": nir.Output(np.array([8])),
    }
    ways = [("input", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")]
    nodes = {
        "input": nir.Input(np.array([5])),
        "w": nir.Linear(np.ones((8, 5))),
        "cell": nir.NIRGraph(inner, ways, type_check=False),
        "output": nir.Output(np.array([8])),
    }
    whole = nir.NIRGraph(nodes, list(pairwise(nodes)), type_check=False)
    write_plain(graph.network(whole), Conventions(), 0.001, tmp_path / "plain.npz")
    result = layers.without_inner_ends(read(str(tmp_path / "plain.npz")))
    fed = {node.name: (node.sources, node.late_sources) for node in result.nodes}
    assert fed == {
        "input": ((), ()),
        "w": (("input",), ()),
        "cell.lif": (("w",), ("cell.w_rec",)),
        "cell.w_rec": (("cell.lif",), ()),
        "output": (("cell.lif",), ()),
    }


def test_spikes_that_leave_later_are_refused_by_the_name_of_their_delay(
    tmp_path: Path,
) -> None:
    network = graph.network(one_layer("LIF", np.random.default_rng(1)))
    write_plain(network, PRESETS["spyx"], 0.001, tmp_path / "plain.npz")
    with pytest.raises(ValueError, match=r"neurons\.next is a Delay: Lava runs"):
        layers.refuse(read(str(tmp_path / "plain.npz")), "Lava")
