# SPDX-License-Identifier: Apache-2.0
"""XyloSim fires as the integer arithmetic of docs/reference/ASC.md does: stored trains
in every run, and the simulator itself where an environment for it is there.
"""

from __future__ import annotations

import json
import os
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from scenarios.tasks.asc.integer import decay, run_layer, saturated
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.workers.environments import installed
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "xylo"
CHIPS = ("audio2", "audio3")
#: An interpreter with sut_backends/xylo/requirements.txt.
PYTHON = os.environ.get("RIG_XYLO_PYTHON", "") or str(installed("xylo"))
Ints = np.ndarray[Any, Any]


def stored(name: str) -> dict[str, Ints]:
    with np.load(VECTORS / f"{name}.npz") as kept:
        return {key: kept[key] for key in kept.files}


def by_integers(path: Path, spikes: Ints) -> tuple[Ints, Ints]:
    """Step a chain of whole weights, written from docs/reference/ASC.md; neurons_0 may
    feed itself. Outputs fire once a step, hidden neurons up to 31 times.
    """
    graph = nir.read(path, type_check=False)
    dt_s = graph.metadata["dt_s"]
    count = sum(name.startswith("neurons_") for name in graph.nodes)
    membrane = np.zeros(0, np.int64)
    for number in range(count):
        weight = graph.nodes[f"weight_{number}"].weight.astype(np.int64)
        node = graph.nodes[f"neurons_{number}"]
        back = graph.nodes.get("back") if number == 0 else None
        own = np.zeros((len(weight),) * 2) if back is None else back.weight
        syn, mem = (
            np.rint(np.log2(tau / dt_s)).astype(np.int64)
            for tau in (node.tau_syn, node.tau_mem)
        )
        threshold = np.rint(node.v_threshold).astype(np.int64)
        current, membrane, fired = (np.zeros(len(weight), np.int64) for _ in range(3))
        out = []
        for given in spikes:
            current = saturated(current + weight @ given + own.astype(np.int64) @ fired)
            current = current - decay(current, syn)
            membrane = saturated(membrane + saturated(current - decay(membrane, mem)))
            fired = np.clip(membrane // threshold, 0, 1 if number == count - 1 else 31)
            membrane = membrane - fired * threshold
            out.append(fired)
        spikes = np.stack(out)
    return spikes, membrane


@pytest.mark.parametrize("chip", CHIPS)
def test_stored_trains_of_the_simulator_are_those_of_the_integer_model(
    chip: str,
) -> None:
    kept = stored("asc")
    spikes: Ints = kept["spikes"]
    membranes: Any = None
    for layer in read_model(SHIPPED_MODEL).layers:
        spikes, membranes = run_layer(layer, spikes)
    assert np.array_equal(kept[f"{chip}/asc/trains"], spikes) and spikes.sum() > 100
    assert np.array_equal(kept[f"{chip}/asc/membranes"], membranes)
    changed = np.any(kept[f"{chip}/control/trains"] != spikes, axis=(1, 2))
    # One input weight more by 1: were these equal as well, the comparison could not
    # fail.
    assert 0 < changed.sum() <= len(spikes)


@pytest.mark.parametrize("name", ["two", "four", "recurrent"])
@pytest.mark.parametrize("chip", CHIPS)
def test_stored_trains_of_other_networks_lag_by_one_step_a_layer_and_no_more(
    chip: str, name: str
) -> None:
    kept = stored(name)
    trains, membrane = by_integers(
        VECTORS / f"{name}.nir", kept["spikes"][0].astype(np.int64)
    )
    assert (
        np.array_equal(kept[f"{chip}/{name}/trains"][0], trains) and trains.sum() > 100
    )
    assert np.array_equal(kept[f"{chip}/{name}/membranes"][0], membrane)


def in_other_units(folder: Path) -> Path:
    """Write the network of two layers with small weights, other gains, and a bias of
    0."""
    graph = nir.read(VECTORS / "two.nir")
    for number in range(2):
        weight = graph.nodes[f"weight_{number}"].weight
        graph.nodes[f"weight_{number}"] = nir.Affine(
            weight=(0.0131 * weight).astype(np.float32),
            bias=np.zeros(len(weight), np.float32),
        )
        node = graph.nodes[f"neurons_{number}"]
        node.r = 3.0 * node.r
        node.w_in = 0.25 * node.w_in
        node.v_threshold = 0.0131 * 0.75 * node.v_threshold
    nir.write(folder / "units.nir", graph)
    return folder / "units.nir"


INSIDE = """
import json, sys
import numpy as np
from sut_backends.workers.inside.job import Job
from sut_backends.xylo import runner
job = json.loads(sys.stdin.read())
told = {}
for name, model, chip in job["networks"]:
    with np.load(job["folder"] + "/" + name + ".npz") as kept:
        spikes, wanted = kept["spikes"], kept[chip + "/" + name + "/trains"]
    opened = runner.open_network(Job(model, settings={"chip": chip}))
    ran = [opened.run(each)[0] for each in spikes]
    told[chip + "/" + name] = sum(int((a != b).any()) for a, b in zip(ran, wanted))
    about = opened.about
refused = {}
for what, bad in (("spikes", [[0.5] * 8]), ("many", [[16] * 8]), ("nan", [[float("nan")] * 8])):
    try:
        opened.run(np.array(bad))
    except ValueError as error:
        refused[what] = str(error)
json.dump({"differ": told, "about": about, "refused": refused}, sys.stdout)
"""


@pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="no environment with XyloSim: rig sdk install xylo",
)
def test_the_simulator_itself_gives_the_stored_trains(tmp_path: Path) -> None:
    paths = {name: str(VECTORS / f"{name}.nir") for name in ("four", "recurrent")}
    paths = {"asc": str(SHIPPED_MODEL), **paths}
    networks = [(name, paths[name], chip) for name, chip in product(paths, CHIPS)]
    networks += [("two", str(in_other_units(tmp_path)), chip) for chip in CHIPS]
    job = {"folder": str(VECTORS), "networks": networks}
    ran = subprocess.run(
        [PYTHON, "-c", INSIDE],
        input=json.dumps(job).encode(),
        capture_output=True,
        timeout=120,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    reported = json.loads(ran.stdout)
    assert set(reported["differ"].values()) == {0} and len(reported["differ"]) == 8
    assert (
        reported["about"]["mapping"]["hidden_neurons"] == 20
        and reported["about"]["lag_steps"] == 1
    )
    assert (
        "whole numbers" in reported["refused"]["nan"]
        and "whole" in reported["refused"]["spikes"]
    )
    assert "limit them in the codec" in reported["refused"]["many"]
