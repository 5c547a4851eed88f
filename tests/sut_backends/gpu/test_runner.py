# SPDX-License-Identifier: Apache-2.0
"""The torch runner, on the processor: equal to the integer model, and to the reference
interpreter in float64. Needs torch (the extra `gpu` has it).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from rig.interfaces.context import BenchContext
from rig.network import graph
from rig.network.conventions import PRESETS, Conventions, stated
from rig.network.interpreter import run
from rig.network.plain import write_plain
from scenarios.tasks.asc.integer import run_layer, spike_counts
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask
from sut_backends.workers.inside.job import Job
from tests.conftest import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: the extra gpu")

VECTORS = ROOT / "tests" / "vectors" / "nir"
DT_S = 1e-3


def opened(
    network: graph.Network, how: Conventions, folder: Path, **settings: Any
) -> Any:
    from sut_backends.gpu.runner import open_network

    path = folder / "network.npz"
    write_plain(network, how, None if network.dt_s else DT_S, path)
    return open_network(Job(plain=str(path), settings={"device": "cpu"} | settings))


@pytest.fixture(scope="module")
def slices() -> Any:
    model = read_model(SHIPPED_MODEL)
    task = AscTask.open(AscTask.Settings(), BenchContext())
    audio = np.stack(
        [np.frombuffer(task.payload(index), "<i2") for index in range(0, 120, 5)]
    )
    return spike_counts(model.bank, audio)


def trains(model: Any, counts: Any) -> tuple[Any, Any]:
    spikes, membranes = counts, None
    for layer in model.layers:
        spikes, membranes = run_layer(layer, spikes)
    return spikes, membranes


def shipped(folder: Path, **settings: Any) -> Any:
    model = graph.read(SHIPPED_MODEL)
    return opened(graph.network(model), stated(model.nodes), folder, **settings)


def test_trains_and_membranes_are_those_of_the_integer_model(
    slices: Any, tmp_path: Path
) -> None:
    spikes, membranes = trains(read_model(SHIPPED_MODEL), slices)
    runner = shipped(tmp_path)
    assert "whole numbers" in runner.about["arithmetic"]
    together = runner.run_many(list(slices))
    assert spikes.sum() > 1000
    for number, (values, last) in enumerate(together):
        assert np.array_equal(values, spikes[number])
        assert np.array_equal(last, membranes[number])
    alone = runner.run(slices[3])
    assert np.array_equal(alone[0], together[3][0])


def test_another_weight_gives_other_trains(slices: Any, tmp_path: Path) -> None:
    spikes, _ = trains(read_model(SHIPPED_MODEL), slices)
    model = graph.read(SHIPPED_MODEL)
    model.nodes["weight_0"].weight[0, 0] += 1
    runner = opened(graph.network(model), stated(model.nodes), tmp_path)
    result = [values for values, _ in runner.run_many(list(slices))]
    assert not np.array_equal(np.stack(result), spikes)


def test_floating_point_is_the_reference_interpreter(
    slices: Any, tmp_path: Path
) -> None:
    model = graph.read(SHIPPED_MODEL)
    network = graph.network(model)
    theirs = run(network, slices[:6], how=stated(model.nodes)).values["output"]
    for dtype, differ_max in (("float64", 0.0), ("float32", 0.01)):
        runner = shipped(tmp_path, arithmetic="float", dtype=dtype)
        ours = np.stack([values for values, _ in runner.run_many(list(slices[:6]))])
        assert (ours != theirs).mean() <= differ_max
        assert ("float32_against_float64" in runner.about) == (dtype == "float32")


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("name", sorted(path.stem for path in VECTORS.glob("*.npz")))
def test_every_stored_network_runs_as_by_the_interpreter(
    name: str, preset: str, tmp_path: Path
) -> None:
    with np.load(VECTORS / f"{name}.npz") as stored:
        vector = dict(stored)
    network = graph.network(graph.read(VECTORS / f"{name}.nir"))
    values = vector["input"][None] if "lif" in name else vector["input"][:, None]
    values = values[:, :100]
    step_s = float(vector["dt_s"])
    theirs = run(network, values, step_s, PRESETS[preset]).values[network.outputs[0]]
    path = tmp_path / "network.npz"
    write_plain(network, PRESETS[preset], step_s, path)
    from sut_backends.gpu.runner import open_network

    settings = {"device": "cpu", "dtype": "float64"}
    runner = open_network(Job(plain=str(path), settings=settings))
    ours = np.stack([result for result, _ in runner.run_many(list(values))])
    np.testing.assert_allclose(ours, theirs.reshape(ours.shape), atol=1e-9)


def mixed(rng: np.random.Generator) -> graph.Network:
    """Return a network with a cycle and the nodes that no stored one has."""
    zero = np.zeros(4)
    tau_s = rng.uniform(2e-3, 9e-3, 4)
    nodes = {
        "input": nir.Input(np.array([1, 4, 4])),
        "pool": nir.SumPool2d(np.array([2, 2]), np.array([2, 2]), np.array([0, 0])),
        "flat": nir.Flatten({"input": np.array([1, 2, 2])}, 0, -1),
        "scale": nir.Scale(rng.uniform(1, 3, 4)),
        "threshold": nir.Threshold(zero + 1.5),
        "delay": nir.Delay(np.array([0, 1, 2, 3]) * DT_S),
        "lif": nir.CubaLIF(
            tau_s, tau_s[::-1], zero + 3, zero + 0.1,
            v_threshold=zero + 0.4, v_reset=zero - 0.2, w_in=zero + 2,
        ),
        "again": nir.Affine(rng.normal(0, 1, (4, 4)), zero + 0.1),
        "if": nir.IF(zero + 700.0, zero + 1.0, zero),
        "ladder": nir.I(zero + 100.0),
        "cubali": nir.CubaLI(tau_s, tau_s, zero + 1, zero, zero + 1),
        "output": nir.Output(np.array([4])),
    }  # fmt: skip
    order = [name for name in nodes if name != "again"]
    edges = [*pairwise(order), ("lif", "again"), ("again", "lif")]
    return graph.network(nir.NIRGraph(nodes, edges, type_check=False))


@pytest.mark.parametrize(
    "preset", sorted(name for name, how in PRESETS.items() if not how.late)
)
def test_a_cycle_and_every_other_node_run_as_by_the_interpreter(
    preset: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    network = mixed(rng)
    assert network.late_edges
    values = rng.integers(0, 3, (5, 40, 1, 4, 4)).astype(float)
    theirs = run(network, values, DT_S, PRESETS[preset])
    runner = opened(network, PRESETS[preset], tmp_path, dtype="float64")
    result = runner.run_many(list(values))
    ours = np.stack([sample for sample, _ in result])
    np.testing.assert_allclose(ours, theirs.values["output"], atol=1e-9)
    last = np.stack([membranes for _, membranes in result])
    np.testing.assert_allclose(last, theirs.membranes["cubali"], atol=1e-9)
    assert np.ptp(ours) > 0


def test_bad_input_is_refused_with_its_cause(
    slices: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = shipped(tmp_path)
    for wrong, cause in (
        (slices[0] * np.float64("nan"), "NaN"),
        (slices[0][:, :7], "takes"),
        (slices[0].astype(np.int64) + 200_000, "not exact"),
    ):
        with pytest.raises(ValueError, match=cause):
            runner.run(wrong)
    with pytest.raises(ValueError, match="of the shape"):
        runner.run_many([slices[0], slices[0][:10]])

    def full(given: Any) -> Any:
        raise torch.cuda.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 9.00 GiB\nmore"
        )

    monkeypatch.setattr(runner, "_stepped", full)
    with pytest.raises(
        ValueError, match=r"no memory for 3 samples at once: .*9\.00 GiB; take"
    ):
        runner.run_many(list(slices[:3]))


def test_a_network_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    model = graph.read(SHIPPED_MODEL)
    how = stated(model.nodes)
    model.nodes["neurons_0"].tau_mem[3] = np.nan
    with pytest.raises(ValueError, match="neurons_0: tau_mem holds NaN"):
        opened(graph.network(model), how, tmp_path)
    model.nodes["neurons_0"].tau_mem[3] = -1.0
    with pytest.raises(ValueError, match="neurons_0: tau_mem is not positive"):
        opened(graph.network(model), how, tmp_path)
    model = graph.read(SHIPPED_MODEL)
    model.nodes["weight_1"].weight[0, 0] = 0.5
    with pytest.raises(ValueError, match="weight_1 is not of whole numbers"):
        opened(graph.network(model), how, tmp_path)
    with pytest.raises(ValueError, match="states no shifts"):
        opened(graph.network(model), Conventions(), tmp_path, arithmetic="integer")


def test_without_the_device_it_says_what_torch_sees(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(
        RuntimeError, match=r'no device cuda: torch .* sees 0 of CUDA; device = "c'
    ):
        shipped(tmp_path, device="cuda")
