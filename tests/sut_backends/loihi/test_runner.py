# SPDX-License-Identifier: Apache-2.0
"""Tests of Loihi without a chip: refusals, fixed point, calls against a stand-in of
lava-loihi, and the board's own sensors as invented by that stand-in.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS
from rig.network.interpreter import run
from rig.network.plain import write_plain
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.loihi import probes, runner, stock_rule
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.stock_plan import plan
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import read
from tests.stand_ins import lava_loihi
from tests.sut_backends.loihi.networks import cuba, lif, plain, two_layers

CHIP = {"rule": "stock", "hardware": True}


def opened(job: Job, **settings: Any) -> Any:
    return runner.open_network(replace(job, settings=settings))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"last": nir.LI(np.ones(3), np.ones(3), np.zeros(3))},
            "last is a LI: Lava runs",
        ),
        ({"first": nir.Linear(np.full((8, 5), np.nan))}, "first holds NaN or infinity"),
    ],
)
def test_networks_that_lava_does_not_run_are_refused_by_node(
    change: dict[str, Any], said: str, tmp_path: Path, lava: list[str]
) -> None:
    with pytest.raises(ValueError, match=said):
        opened(plain(tmp_path, two_layers(np.random.default_rng(0)) | change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"last": lif(3, v_reset=np.full(3, -0.5))}, "last has a v_reset"),
        ({"last": lif(3, v_leak=np.full(3, 0.1))}, "last has a v_leak"),
        ({"first": nir.Affine(np.ones((8, 5)), np.ones(8))}, "first has a bias"),
        ({"hidden": cuba(8, v_threshold=np.full(8, 1e-4))}, "hidden has weights"),
        ({"hidden": cuba(8, v_threshold=np.zeros(8))}, "hidden has a threshold of 0"),
    ],
)
def test_networks_that_stock_cells_are_not_are_refused_by_node(
    change: dict[str, Any], said: str, tmp_path: Path, lava: list[str]
) -> None:
    nodes = two_layers(np.random.default_rng(0)) | change
    with pytest.raises(ValueError, match=said):
        opened(plain(tmp_path, nodes), **CHIP)


def test_cycles_and_ways_that_a_step_a_dense_changes_are_refused(
    tmp_path: Path,
) -> None:
    nodes = two_layers(np.random.default_rng(0))
    nodes["back"] = nir.Linear(np.ones((8, 3)))
    nodes["short"] = nir.Linear(np.ones((3, 5)))
    straight = [
        ("input", "first"), ("first", "hidden"), ("hidden", "second"), ("second", "last"),
        ("last", "output"),
    ]  # fmt: skip
    for more, text in (
        ([("last", "back"), ("back", "hidden")], "back feeds back to hidden"),
        (
            [("input", "short"), ("short", "last")],
            r"last is fed over ways of \[1, 2\] stock Dense",
        ),
    ):
        used = set(chain.from_iterable(straight + more))
        job = plain(tmp_path, {name: nodes[name] for name in used}, straight + more)
        with pytest.raises(ValueError, match=text):
            plan(read(job.plain), vectors=True)


def test_a_chip_that_is_not_there_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = plain(tmp_path, two_layers(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="lava-nc is not installed for this Python"):
        opened(job)
    monkeypatch.setattr(runner.imports.metadata, "version", lambda name: "0.11.0")
    with pytest.raises(
        ValueError, match=r"lava-nc 0.11.0 is installed, 0.10.0 is the one"
    ):
        opened(job)
    monkeypatch.setattr(runner.imports.metadata, "version", lambda name: runner.LAVA)
    with (
        lava_loihi.installed(there=False),
        pytest.raises(ValueError, match="needs lava-loihi"),
    ):
        opened(job, **CHIP)
    with (
        lava_loihi.installed(),
        pytest.raises(ValueError, match="runs stock LIF alone"),
    ):
        opened(job, rule="file", hardware=True)
    with pytest.raises(ValueError, match="one of file, stock"):
        opened(job, rule="other")


def test_a_network_on_the_chips_fixed_point_fires_nearly_as_in_floating_point(
    tmp_path: Path, lava: list[str]
) -> None:
    rng = np.random.default_rng(3)
    nodes = two_layers(rng)
    job = plain(tmp_path, nodes)
    names = list(nodes)
    whole = nir.NIRGraph(
        nodes, list(pairwise(names)), {"dt_s": 0.001}, type_check=False
    )
    spikes = (rng.random((2, 400, 5)) < 0.2).astype(float)
    expected = run(graph.network(whole), spikes).values["output"]
    running = opened(job, host="10.0.0.1", **CHIP)
    assert lava == ["10.0.0.1"]
    assert [item["cells"] for item in running.about["processes"]] == [4, 4, 3]
    assert running.about["lag_steps"] == 2
    assert (
        running.about["rule differs"] == "8-bit weights, 12-bit decays, 24-bit states"
    )
    first, membranes = running.run(spikes[0])
    assert membranes is None
    second, _ = running.run(spikes[1])
    again, _ = running.run(spikes[0])
    running.close()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    for result, wanted in ((first, expected[0]), (second, expected[1])):
        assert wanted.sum() > 100
        # 8 bits of a weight move a spike now and then.
        assert abs(result.sum() - wanted.sum()) < 0.1 * wanted.sum()
        assert np.mean(result != wanted) < 0.05


def test_without_silence_between_them_a_sample_reaches_into_the_next(
    tmp_path: Path, lava: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    job = plain(tmp_path, two_layers(rng))
    spikes = (rng.random((400, 5)) < 0.9).astype(float)
    for least, equal in ((stock_rule.MEMBRANE_MIN, True), (0, False)):
        monkeypatch.setattr(stock_rule, "MEMBRANE_MIN", least)
        running = opened(job, **CHIP)
        assert np.array_equal(running.run(spikes)[0], running.run(spikes)[0]) == equal


def test_whole_weights_stay_whole_in_fixed_point(tmp_path: Path) -> None:
    network = graph.network(graph.read(SHIPPED_MODEL))
    write_plain(network, PRESETS["xylo"], None, tmp_path / "plain.npz")
    result = plan(read(str(tmp_path / "plain.npz")), vectors=False)
    fixed = fixed_point(result)
    assert sum(len(cells.which) for cells in result.cells) == 100
    assert all(
        item["scale"] == 2 and not item["largest error of a weight"]
        for item in fixed.report
    )
    assert {item.du for item in fixed.registers} == {2047, 1023}
    assert {item.dv for item in fixed.registers} == {2048, 1024, 512, 256, 128}
    assert max(item["error of du"] for item in fixed.report) < 1e-6


def test_the_boards_sensors_are_read_in_runs_of_their_own(
    tmp_path: Path, lava: list[str]
) -> None:
    rng = np.random.default_rng(5)
    network = read(plain(tmp_path, two_layers(rng)).plain)
    spikes = (rng.random((50, 5)) < 0.5).astype(float)
    reported = probes.probe(network, spikes, 120)
    assert reported["origin"] == {
        "time": "board's own sensor",
        "energy": "board's own sensor",
    }
    assert reported["samples"] == 2.4
    steps = reported["steps"]
    assert steps == 120
    assert reported["time_s"] == pytest.approx(steps * lava_loihi.STEP_S)
    # The time probe disturbs power: had it been asked for in the same run, idle would
    # be more.
    assert reported["idle"]["total_w"] == pytest.approx(
        lava_loihi.STATIC_W + lava_loihi.IDLE_W
    )
    spiking_w = lava_loihi.SPIKE_W * reported["activity"][0] / steps
    assert reported["activity"][0] > 50
    assert reported["active"]["dynamic_w"] == pytest.approx(
        lava_loihi.IDLE_W + spiking_w
    )
    assert reported["dynamic_energy_j"] == pytest.approx(spiking_w * reported["time_s"])
    assert reported["energy_j"] == pytest.approx(
        1e-6 * reported["energy as the board states it"]["total"]
    )


def test_a_report_of_sensors_is_of_the_first_sample(
    tmp_path: Path, lava: list[str]
) -> None:
    rng = np.random.default_rng(5)
    job = plain(tmp_path, two_layers(rng))
    np.save(tmp_path / "spikes.npy", (rng.random((2, 50, 5)) < 0.5).astype(float))
    job = replace(job, spikes=str(tmp_path / "spikes.npy"))
    reported = probes.sense_network(
        replace(job, settings={"host": "10.0.0.1", "sense_steps": 500})
    )
    assert (reported["steps"], reported["samples"], lava) == (500, 10, ["10.0.0.1"])
    with (
        lava_loihi.installed(there=False),
        pytest.raises(ValueError, match="needs lava-loihi"),
    ):
        probes.sense_network(replace(job, settings={"sense_steps": 500}))


def test_samples_of_any_length_follow_each_other(
    tmp_path: Path, lava: list[str]
) -> None:
    rng = np.random.default_rng(6)
    job = plain(tmp_path, two_layers(rng))
    spikes = (rng.random((700, 5)) < 0.3).astype(float)
    running = opened(job, **CHIP)
    lengths = (200, 30, 254, 700, 5, 300)
    result = [running.run(spikes[:length])[0] for length in lengths]
    for length, values in zip(lengths, result, strict=True):
        assert values.shape == (length, 3)
        assert np.array_equal(values, result[3][:length])


def test_readings_that_cannot_be_are_refused(
    tmp_path: Path, lava: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = read(plain(tmp_path, two_layers(np.random.default_rng(5))).plain)
    spikes = np.zeros((10, 5))
    short = property(lambda one: np.full(3, 1e-6))
    monkeypatch.setattr(lava_loihi.Profiler, "execution_time", short)
    with pytest.raises(ValueError, match="the board timed 3 steps, 10 were run"):
        probes.probe(network, spikes, 10)
    monkeypatch.undo()
    monkeypatch.setattr(
        lava_loihi.Profiler, "power_breakdown", lambda one: (float("nan"),) * 6
    )
    with pytest.raises(ValueError, match="NaN"):
        probes.probe(network, spikes, 10)
