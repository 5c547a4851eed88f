# SPDX-License-Identifier: Apache-2.0
"""Stock LIF in Loihi 2's arithmetic: Lava's bit-accurate models against a twin in
numpy, step by step where an interpreter with Lava is there, stored runs and the
stand-in in every run.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from lab.equality import lava_fixed_twin
from lab.equality.lava_equal import in_lava
from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.network import graph
from rig.network.conventions import PRESETS, STEPS_S
from rig.network.plain import write_plain
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.programs import network as network_of
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.loihi import runner
from sut_backends.loihi.backend import LoihiSut
from sut_backends.loihi.fixed_point import FixedPoint, fixed_point
from sut_backends.loihi.stock_plan import StockPlan, plan
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read
from tests.conftest import ROOT
from tests.programs import captured
from tests.sut_backends.loihi.networks import cuba, lif, plain, two_layers
from tests.sut_backends.loihi.test_rules import PYTHON, VECTORS, with_lava

STEPS = 50


def planned(job: Job) -> tuple[StockPlan, FixedPoint]:
    result = plan(read(job.plain), vectors=False)
    return result, fixed_point(result)


def at_the_limits(rng: np.random.Generator) -> dict[str, Any]:
    """Return nodes whose states meet their limits: weights from -256 to 254, a matrix
    without a positive weight, currents beyond 24 bits under many spikes of an input,
    membranes that go far below 0, full decays and none.
    """
    first = rng.integers(-128, 128, (8, 5)) * 2.0
    first[0], first[1], first[6] = 254.0, -256.0, -64.0
    second = rng.integers(-128, 128, (4, 8)) * 2.0
    second[:, :2] = 254.0
    second[:, 4:] = -np.abs(second[:, 4:]) / 64
    tau_mem = np.repeat([0.001, 1e6], 4)
    hidden = cuba(
        8,
        tau_mem=tau_mem,
        r=tau_mem / 0.001,
        w_in=np.full(8, 5.0),
        v_threshold=np.repeat([20_000.0, 131_000.0], 4),
    )
    return {
        "input": nir.Input(np.array([5])),
        "first": nir.Linear(first),
        "hidden": hidden,
        "second": nir.Linear(second),
        "last": nir.IF(np.full(4, 1000.0), np.full(4, 100.0), np.zeros(4)),
        "output": nir.Output(np.array([4])),
    }


def cases(folder: Path) -> dict[str, tuple[Job, Any]]:
    rng = np.random.default_rng(3)
    usual = (rng.random((STEPS, 5)) < 0.3).astype(np.int32)
    many = rng.integers(0, 120, (STEPS, 5)).astype(np.int32)
    result = {}
    for name, nodes, counts in (
        ("usual", two_layers(rng), usual),
        ("limits", at_the_limits(rng), many),
    ):
        (folder / name).mkdir()
        result[name] = (plain(folder / name, nodes), counts)
    return result


@with_lava
@pytest.mark.parametrize("name", ["usual", "limits"])
def test_every_state_of_every_step_in_lava_is_the_twins(
    name: str, tmp_path: Path
) -> None:
    job, counts = cases(tmp_path)[name]
    np.save(tmp_path / "counts.npy", counts)
    files = [job.plain, str(tmp_path / "counts.npy"), str(tmp_path / "out.npz")]
    done = captured(
        [PYTHON, "-m", "tests.sut_backends.loihi.step_by_step", *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result, fixed = planned(job)
    states = list(lava_fixed_twin.steps(result, fixed, counts))
    with np.load(tmp_path / "out.npz") as kept:
        for index in range(len(result.cells)):
            currents = np.array([state.currents[index] for state in states])
            membranes = np.array([state.membranes[index] for state in states])
            assert np.array_equal(kept[f"u{index}"], currents), index
            assert np.array_equal(kept[f"v{index}"], membranes), index
    every = np.concatenate([np.concatenate(state.spikes) for state in states])
    assert 20 < every.sum() < every.size
    if name == "limits":
        membranes = chain.from_iterable(state.membranes for state in states)
        lowest = min(int(membrane.min()) for membrane in membranes)
        assert lowest == 1 - lava_fixed_twin.END


@pytest.mark.parametrize("name", ["usual", "limits"])
def test_the_stand_ins_arithmetic_is_the_twins(
    name: str, tmp_path: Path, lava: list[str]
) -> None:
    job, counts = cases(tmp_path)[name]
    values, last = lava_fixed_twin.run(*planned(job), counts)
    settings = {"rule": "stock", "precision": "fixed"}
    running = runner.open_network(replace(job, settings=settings))
    for _ in range(2):  # the second from rest again
        result, membranes = running.run(counts)
        assert np.array_equal(result, values)
        assert np.array_equal(membranes, last)
    running.close()
    assert values.sum() > 0
    assert running.about["precision"] == "fixed"
    assert running.about["rule differs"] == runner.ARITHMETIC


def test_stored_runs_of_lava_in_fixed_point_are_the_twins(tmp_path: Path) -> None:
    with np.load(VECTORS / "asc.npz") as kept:
        asc = dict(kept)
    write_plain(
        graph.network(graph.read(SHIPPED_MODEL)),
        PRESETS["xylo"],
        None,
        tmp_path / "plain.npz",
    )
    result, fixed = planned(Job(plain=str(tmp_path / "plain.npz")))
    for counts, values, membranes in zip(
        asc["input"], asc["fixed_values"], asc["fixed_membranes"], strict=True
    ):
        due, last = lava_fixed_twin.run(result, fixed, counts)
        assert np.array_equal(values, due)
        np.testing.assert_allclose(membranes, last, rtol=1e-12)
    # The control: a bit of a decay more, in every process, would have been seen.
    registers = [replace(register, dv=register.dv + 1) for register in fixed.registers]
    other = replace(fixed, registers=registers)
    changed = [lava_fixed_twin.run(result, other, counts)[1] for counts in asc["input"]]
    assert not np.array_equal(asc["fixed_membranes"], np.array(changed))


@with_lava
def test_lava_gives_the_fixed_point_runs_that_are_stored() -> None:
    shipped = graph.network(graph.read(SHIPPED_MODEL))
    with np.load(VECTORS / "asc.npz") as kept:
        asc = dict(kept)
    values, membranes, about = in_lava(
        PYTHON, shipped, asc["input"][:3], "stock", "fixed"
    )
    assert np.array_equal(values, asc["fixed_values"][:3])
    assert np.array_equal(membranes, asc["fixed_membranes"][:3])
    assert about["precision"] == "fixed" and len(about["processes"]) == 10


def test_a_matrix_without_a_positive_weight_keeps_its_lowest(tmp_path: Path) -> None:
    for lowest, scale in ((-256.0, 0.5), (-254.0, 1.0)):
        nodes = {
            "input": nir.Input(np.array([2])),
            "first": nir.Linear(np.array([[lowest, -2.0], [-4.0, -8.0]])),
            "last": lif(2, r=np.ones(2) * 20, v_threshold=np.ones(2) * 100.0),
            "output": nir.Output(np.array([2])),
        }
        folder = tmp_path / str(scale)
        folder.mkdir()
        _, fixed = planned(plain(folder, nodes))
        assert fixed.registers[0].scale == scale
        assert fixed.weights[0].min() >= -254


def test_fixed_point_is_the_stock_rules(context: BenchContext, tmp_path: Path) -> None:
    settings = LoihiSut.Settings(precision="fixed", interpreter=sys.executable)
    asc = replace(context, network=network_of(SHIPPED_MODEL, read_model(SHIPPED_MODEL)))
    with pytest.raises(
        ConfigError, match="the file's rule has no fixed point"
    ) as caught:
        LoihiSut.open(settings, asc)
    assert 'rule = "stock"' in caught.value.try_next
    job = plain(tmp_path, two_layers(np.random.default_rng(0)))
    for wrong, output in (
        ({"precision": "fixed"}, 'set rule = "stock"'),
        ({"precision": "double"}, "one of floating, fixed"),
    ):
        with pytest.raises(ValueError, match=output):
            runner.open_network(replace(job, settings=wrong))


@pytest.mark.parametrize("name", ["lava-dl-cuba", "lava-dl-halving"])
def test_the_arithmetic_is_lava_dl_s(name: str, tmp_path: Path) -> None:
    """The spikes that lava-dl's slayer fired, its rounding included, two steps later:
    there each of the two layers hands them on a step late."""
    folder = ROOT / "tests" / "vectors" / "nir" / "presets"
    network = graph.network(graph.read(folder / f"{name}.nir"))
    prompt = replace(PRESETS["lava-dl"], late=False)
    path = tmp_path / "plain.npz"
    write_plain(network, prompt, STEPS_S["lava-dl"], path)
    stock, fixed = planned(Job(plain=str(path)))
    with np.load(folder / f"{name}.npz") as stored:
        counts, output = stored["input"], stored["output"]
    spikes, _ = lava_fixed_twin.run(stock, fixed, counts)
    assert output.sum() > 150
    assert (spikes[:-2] == output[2:]).all()
