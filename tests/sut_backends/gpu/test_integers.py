# SPDX-License-Identifier: Apache-2.0
"""Integer networks on torch, on the processor: the bytes of tflite-micro, on any device
of the worker. Needs torch (the extra `gpu`).
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.errors import BenchError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from rig.network.tflite import interpreter
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.plain import read_plain, write_plain
from sut_backends.gpu.backend import GpuSut
from sut_backends.workers.inside.job import Job
from tests.conftest import ROOT

pytest.importorskip("torch", reason="torch is not installed: the extra gpu")
pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples.make_tflite import NONE, RELU, Layers
from rig.network.tflite import network
from scenarios.tasks.tflite.task import TfliteTask
from tests.rig.network.tflite_models import MODELS

VECTORS = ROOT / "tests" / "vectors" / "tflite"


def opened(read: IntegerNetwork, folder: Path, **settings: Any) -> Any:
    from sut_backends.gpu.integer_runner import open_network

    path = folder / "network.npz"
    write_plain(read, path)
    return open_network(Job(plain=str(path), settings={"device": "cpu"} | settings))


def answers(runner: Any, inputs: Any, shape: tuple[int, ...]) -> Any:
    result = [values for values, _ in runner.run_many(list(inputs))]
    return np.array(result).reshape(shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_every_output_has_the_bytes_of_tflite_micro(
    name: str, dtype: str, tmp_path: Path
) -> None:
    runner = opened(network.read(VECTORS / f"{name}.tflite"), tmp_path, dtype=dtype)
    with np.load(VECTORS / f"{name}.npz") as stored:
        inputs, outputs = stored["inputs"], stored["outputs"]
    assert np.array_equal(answers(runner, inputs, outputs.shape), outputs)
    alone, membranes = runner.run(inputs[5])
    assert np.array_equal(alone.reshape(outputs[5].shape), outputs[5])
    assert membranes is None


def test_sums_beyond_float32_are_formed_in_float64(tmp_path: Path) -> None:
    net = Layers((1, 1, 1, 4000), 7, zero_point=-128)
    net.convolution(3, (1, 1), activation=RELU)
    net.reshape(1, 3)
    net.dense(5, NONE)
    path = tmp_path / "wide.tflite"
    path.write_bytes(net.content())
    read = network.read(path)
    rng = np.random.default_rng(3)
    inputs = rng.integers(-128, 128, (200, 1, 1, 4000)).astype(np.int8)
    inputs[0], inputs[1] = -128, 127
    due = interpreter.run(read, inputs)
    runner = opened(read, tmp_path)
    assert "of 1 operators in float64" in runner.about["arithmetic"]
    assert np.array_equal(answers(runner, inputs, due.shape), due)
    assert len(np.unique(due)) > 3


def test_the_plain_form_is_the_network(tmp_path: Path) -> None:
    for name in MODELS:
        read = network.read(VECTORS / f"{name}.tflite")
        write_plain(read, tmp_path / "network.npz")
        again = read_plain(tmp_path / "network.npz")
        with np.load(VECTORS / f"{name}.npz") as stored:
            result = interpreter.run(again, stored["inputs"])
            assert np.array_equal(result, stored["outputs"])
        assert again.tensors == read.tensors
        assert (again.sha256, again.input, again.output) == (
            read.sha256,
            read.input,
            read.output,
        )


def test_the_task_gives_its_bytes_alone_and_side_by_side() -> None:
    task = TfliteTask.open(TfliteTask.Settings(samples=6), BenchContext())
    settings = GpuSut.Settings(device="cpu", slots=8)
    context = BenchContext(integers=task.integers)
    context.world.supply_on = True
    with closing(GpuSut.open(settings, context)) as sut:
        for index in range(6):
            sut.do(Load(index), [task.payload(index)])
        alone = [sut.do(Query((index,))).output for index in range(6)]
        batch = sut.do(Query(tuple(range(6)), batch=True, repeat=2)).output
        with pytest.raises(SutError, match="refuses this") as caught:
            sut.do(Load(6), [b"short"])
        info = sut.info
    due = [task.reference(task.payload(index)) for index in range(6)]
    assert alone == due
    assert batch == b"".join(due)
    assert "5 bytes, the model takes" in str(caught.value.evidence)
    assert (info.kind, info.task, info.simulated) == ("gpu", "tflite", False)
    assert info.model == task.provenance()["model"]
    assert "tflite-micro" in info.details["arithmetic"]


def test_floating_point_is_refused() -> None:
    task = TfliteTask.open(TfliteTask.Settings(samples=1), BenchContext())
    context = BenchContext(integers=task.integers)
    with pytest.raises(BenchError) as caught:
        GpuSut.open(GpuSut.Settings(device="cpu", arithmetic="float"), context)
    assert 'arithmetic = "stated"' in caught.value.evidence
