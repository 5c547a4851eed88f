# SPDX-License-Identifier: Apache-2.0
"""SpiNNaker without a board: PyNN's units, refusals, calls against stand-ins; and the
mapping by sPyNNaker itself where an interpreter with it is there.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS
from rig.network.interpreter import run
from sut_backends.spinnaker import runner
from sut_backends.spinnaker.pynn_plan import plan
from sut_backends.workers.environments import installed
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read
from tests.conftest import ROOT
from tests.programs import captured
from tests.stand_ins import spinnaker2, spynnaker
from tests.sut_backends.loihi.networks import cuba, lif, plain, two_layers

PYTHON = os.environ.get("RIG_SPINNAKER_PYTHON", "") or str(installed("spinnaker"))
BOARD = {"machine": "192.168.240.1"}


def opened(job: Job, **settings: Any) -> Any:
    return runner.open_network(replace(job, settings=settings))


def test_a_network_in_pynns_units_fires_as_its_exact_form_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    nodes = two_layers(rng) | {"hidden": lif(8), "last": cuba(3)}
    job = plain(tmp_path, nodes)
    names = list(nodes)
    whole = nir.NIRGraph(
        nodes, list(pairwise(names)), {"dt_s": 0.001}, type_check=False
    )
    spikes = (rng.random((400, 5)) < 0.2).astype(float)
    expected = run(graph.network(whole), spikes[None], how=PRESETS["exact"]).values[
        "output"
    ][0]
    home = os.environ.get("HOME")
    with spynnaker.installed():
        running = opened(job, **BOARD)
        result, membranes = running.run(spikes)
        again, _ = running.run(spikes)
        silent, _ = running.run(spikes * 0)
        assert running.energy["origin"] == "modelled"
        assert running.energy["exec_time_s"] == pytest.approx(0.402)
        with pytest.raises(
            ValueError, match="3 spikes of a channel in one step, 1 are wired"
        ):
            running.run(spikes * 3)
        running.close()
    assert os.environ.get("HOME") == home
    assert membranes is None
    assert np.array_equal(result, again)
    assert silent.sum() == 0
    # The same cells but for where within a step an input counts.
    assert expected.sum() > 100
    assert abs(result.sum() - expected.sum()) < 0.15 * expected.sum()


def test_the_energy_of_a_run_is_a_report_and_labelled_modelled(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    job = plain(tmp_path, two_layers(rng))
    np.save(tmp_path / "spikes.npy", (rng.random((2, 50, 5)) < 0.5).astype(float))
    job = replace(job, spikes=str(tmp_path / "spikes.npy"))
    with spynnaker.installed():
        reported = runner.sense_network(replace(job, settings=BOARD))
    assert [item["origin"] for item in reported["samples"]] == ["modelled"] * 2
    assert all(
        item["exec_energy_j"] > 0 and item["spikes"] > 0 for item in reported["samples"]
    )
    with pytest.raises(ValueError, match="states no energy"):
        runner.sense_network(replace(job, settings=BOARD | {"generation": 2}))


def test_counts_of_an_input_are_so_many_sources(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    job = plain(tmp_path, two_layers(rng))
    spikes = rng.integers(0, 4, (200, 5))
    with spynnaker.installed():
        running = opened(job, input_spikes_max=3, **BOARD)
        three, _ = running.run(spikes)
        item, _ = running.run(np.minimum(spikes, 1))
        running.close()
    assert three.sum() > item.sum() > 0


def test_units_are_those_of_pynn(tmp_path: Path) -> None:
    nodes = {
        "input": nir.Input(np.array([1])),
        "weight": nir.Linear(np.array([[0.5], [-1.0]])),
        "neurons": cuba(
            2, v_threshold=np.array([1.0, 2.0]), v_leak=np.array([0.0, 0.5])
        ),
        "output": nir.Output(np.array([2])),
    }
    result = plan(read(plain(tmp_path, nodes).plain))
    (population,) = result.populations
    (projection,) = result.projections
    # 10 mV are the 1.5 between the higher threshold and its rest.
    assert population.mv == pytest.approx(10 / 1.5)
    assert population.parameters["v_thresh"] == pytest.approx([10 / 1.5, 20 / 1.5])
    assert population.parameters["tau_syn_E"] == pytest.approx([5.0, 5.0])
    assert np.abs(projection.weights).max() == pytest.approx(1.0)
    # A spike of weight w moves the membrane by w_in w r dt / tau_mem in all; a jump of
    # a current that decays with 5 ms, into a capacitance, by its charge.
    jumps = projection.weights[:, 0] * 5.0 / population.parameters["cm"]
    assert jumps == pytest.approx(np.array([0.5, -1.0]) * 2 * 4 / 20 * population.mv)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"last": nir.IF(np.ones(3), np.ones(3))}, "last is a IF: SpiNNaker runs"),
        ({"first": nir.Affine(np.ones((8, 5)), np.ones(8))}, "first has a bias"),
        (
            {"hidden": cuba(8, v_leak=np.full(8, 2.0))},
            "hidden has a threshold that is not above",
        ),
    ],
)
def test_networks_that_pynns_cells_are_not_are_refused_by_node(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    job = plain(tmp_path, two_layers(np.random.default_rng(0)) | change)
    with spynnaker.installed(), pytest.raises(ValueError, match=said):
        opened(job, **BOARD)


def test_a_virtual_board_is_no_system_under_test(tmp_path: Path) -> None:
    job = plain(tmp_path, two_layers(np.random.default_rng(0)))
    before = os.environ.get("HOME"), Path.cwd()
    with spynnaker.installed():
        with pytest.raises(ValueError, match="data from a run are empty"):
            opened(job)
        reported = runner.map_network(job)
    assert (os.environ.get("HOME"), Path.cwd()) == before
    assert reported["board"] == "virtual: nothing was computed"
    assert (reported["cores"], reported["chips"], reported["time_step_ms"]) == (
        3,
        1,
        1.0,
    )
    assert [item["node"] for item in reported["weights"]] == ["hidden", "last"]
    assert (
        reported["rule differs"]
        == "exact exponentials, not forward Euler; 16-bit weights"
    )
    for item in reported["weights"]:
        assert (
            max(item["excitatory"]["largest"], item["inhibitory"]["largest"]) <= 2.0**13
        )
        assert item["excitatory"]["of"] + item["inhibitory"]["of"] in (40, 24)


def test_weights_that_do_not_fit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.zeros((8, 5))
    weights[0] = [1, 1e-6, -1, -1, 1]
    nodes = two_layers(np.random.default_rng(0)) | {"first": nir.Linear(weights)}
    monkeypatch.setattr(
        spynnaker.Vertex,
        "get_weight_scales",
        lambda vertex, shifts: np.array([50e3, 70e3]),
    )
    with spynnaker.installed():
        reported = runner.map_network(plain(tmp_path, nodes))
    excitatory, inhibitory = (
        reported["weights"][0][name] for name in ("excitatory", "inhibitory")
    )
    assert (excitatory["saturated"], inhibitory["saturated"]) == (0, 2)
    assert (excitatory["rounded to 0"], excitatory["of"]) == (1, 3)
    assert excitatory["a step can overflow"]


def test_an_sdk_that_is_missing_or_another_is_reported(tmp_path: Path) -> None:
    job = plain(tmp_path, two_layers(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="sPyNNaker is not installed for this Python"):
        opened(job)
    other = spynnaker.VERSIONS | {"sPyNNaker": "1!7.0.0"}
    with (
        spynnaker.installed(other),
        pytest.raises(ValueError, match=r"1!7\.0\.0 is installed"),
    ):
        opened(job)
    with pytest.raises(
        ValueError, match=r"py-spinnaker2 and nir in this Python, and spinnaker2"
    ):
        opened(job, generation=2)


def test_spinnaker_2_by_a_fake_of_its_package(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nodes = two_layers(rng)
    names = list(nodes)
    job = plain(tmp_path, nodes)
    whole = nir.NIRGraph(
        nodes, list(pairwise(names)), {"dt_s": 0.001}, type_check=False
    )
    nir.write(tmp_path / "net.nir", whole)
    job = replace(job, nir=str(tmp_path / "net.nir"))
    spikes = (rng.random((30, 5)) < 0.3).astype(float)
    with spinnaker2.installed() as asked:
        with pytest.raises(ValueError, match="set machine"):
            opened(job, generation=2)
        running = opened(job, generation=2, tick_s=0.002, **BOARD)
        values, membranes = running.run(spikes)
        running.run(spikes)
        with pytest.raises(ValueError, match="2 spikes of a channel in one step"):
            running.run(spikes * 2)
        running.close()
    # The fake hands channels on to cells of the same number: so times and cells are
    # distinguished.
    assert np.array_equal(values, spikes[:, :3])
    assert membranes is None
    assert asked == [("192.168.240.1", 32, 0.002)] * 2


@pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="no sPyNNaker: rig sdk install spinnaker, or RIG_SPINNAKER_PYTHON",
)
def test_spynnaker_maps_on_its_virtual_board_and_leaves_the_home_alone(
    tmp_path: Path,
) -> None:
    job = plain(tmp_path, two_layers(np.random.default_rng(0)))
    code = (
        "import json, sys; from sut_backends.spinnaker.runner import map_network;"
        "from sut_backends.workers.inside.job import Job;"
        "print('\\n' + json.dumps(map_network(Job.of(json.loads(sys.argv[1])))))"
    )
    home = tmp_path / "home"
    home.mkdir()
    done = captured(
        [PYTHON, "-c", code, json.dumps(asdict(job))],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "TMPDIR": str(tmp_path),
        },
        cwd=home,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    reported = json.loads(done.stdout.splitlines()[-1])
    assert (reported["cores"], reported["chips"], reported["chips of the machine"]) == (
        3,
        1,
        48,
    )
    assert reported["versions"]["sPyNNaker"] == "1!7.4.1"
    assert not list(home.iterdir())
