# SPDX-License-Identifier: Apache-2.0
"""Replay of recorded kernels by a GPU, on a stand-in for torch's CUDA graphs that
repeats the recorded calls on the processor. It shows that recording and replay fit
together; it does not show the behaviour of CUDA itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rig.interfaces.context import BenchContext
from rig.network import graph
from rig.network.conventions import stated
from rig.network.plain import write_plain
from scenarios.tasks.asc.task import SHIPPED_MODEL
from scenarios.tasks.qubo.one_flip import PARAMETERS, Chains, OneFlip
from scenarios.tasks.qubo.task import QuboTask
from sut_backends.workers.inside.job import Job
from tests.conftest import ROOT
from tests.contracts import described, lacking, looser

torch = pytest.importorskip("torch", reason="torch is not installed: the extra gpu")


class StandInGraph:
    """A recorded graph of kernels: calls that are made again, into the same results."""

    recording: StandInGraph | None = None

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.replays = 0

    def replay(self) -> None:
        self.replays += 1
        for call in self.calls:
            call()


@contextlib.contextmanager
def recorded(into: StandInGraph, /) -> Iterator[None]:
    StandInGraph.recording = into
    yield
    StandInGraph.recording = None


STREAM = SimpleNamespace(wait_stream=lambda other, /: None)
#: The parts of torch.cuda that are used.
STAND_INS: dict[str, Any] = {
    "Stream": lambda device: STREAM,
    "current_stream": lambda device: STREAM,
    "stream": lambda own, /: contextlib.nullcontext(),
    "synchronize": lambda device: None,
    "CUDAGraph": StandInGraph,
    "graph": recorded,
}


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the stand-in for the used parts of torch.cuda."""
    for name, stand_in in STAND_INS.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)


@pytest.mark.parametrize("name", STAND_INS)
def test_the_stand_in_takes_no_call_that_torch_refuses(name: str) -> None:
    library = described(getattr(torch.cuda, name))
    # a class of C++: only its methods can be looked at
    if library["parameters"] is None:
        assert lacking(StandInGraph, library, ("replay",)) == []
    else:
        assert looser(STAND_INS[name], library) == []


def test_a_network_gives_by_replay_what_it_gives_one_by_one(
    cuda: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from sut_backends.gpu import runner as module
    from sut_backends.gpu.layers import Layers

    model = graph.read(SHIPPED_MODEL)
    path = tmp_path / "network.npz"
    write_plain(graph.network(model), stated(model.nodes), None, path)
    runner = module.open_network(Job(plain=str(path), settings={"device": "cpu"}))
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 15, (2, 3, 20, 16))
    due = [runner.run_many(list(samples)) for samples in (first, second)]
    own = Layers.run

    def run(layers: Layers, given: Any) -> tuple[Any, Any]:
        result = own(layers, given)
        if StandInGraph.recording is not None:

            def again() -> None:
                with torch.inference_mode():
                    for old, new in zip(result, own(layers, given), strict=True):
                        old.copy_(new)

            StandInGraph.recording.calls.append(again)
        return result

    monkeypatch.setattr(Layers, "run", run)
    runner._records = True
    for _ in range(2):
        for samples, expected in zip((first, second), due, strict=True):
            result = runner.run_many(list(samples))
            for ours, theirs in zip(result, expected, strict=True):
                assert np.array_equal(ours[0], theirs[0])
                assert np.array_equal(ours[1], theirs[1])
    assert len(runner._recorded) == 1
    runner.run(first[0])
    assert len(runner._recorded) == 2
    runner.close()
    assert not runner._recorded


def test_an_integer_network_gives_by_replay_what_it_gives_one_by_one(
    cuda: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")
    from rig.network.tflite import network
    from rig.network.tflite.plain import write_plain as write_integers
    from sut_backends.gpu.integer_runner import open_network
    from sut_backends.gpu.integers import IntegerLayers

    vectors = ROOT / "tests" / "vectors" / "tflite"
    path = tmp_path / "network.npz"
    write_integers(network.read(vectors / "example.tflite"), path)
    runner = open_network(Job(plain=str(path), settings={"device": "cpu"}))
    with np.load(vectors / "example.npz") as stored:
        inputs, outputs = stored["inputs"][:9], stored["outputs"][:9]
    own = IntegerLayers.run

    def run(layers: IntegerLayers, given: Any) -> tuple[Any, None]:
        values, _ = own(layers, given)
        if StandInGraph.recording is not None:

            def again() -> None:
                with torch.inference_mode():
                    values.copy_(own(layers, given)[0])

            StandInGraph.recording.calls.append(again)
        return values, None

    monkeypatch.setattr(IntegerLayers, "run", run)
    runner._records = True
    for start in (0, 3, 6):
        result = runner.run_many(list(inputs[start : start + 3]))
        values = np.array([each for each, _ in result])
        due = outputs[start : start + 3]
        assert np.array_equal(values.reshape(due.shape), due)
    assert len(runner._recorded) == 1


def test_a_search_goes_on_by_replay_and_its_vectors_cost_what_it_counts(
    cuda: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = QuboTask.open(QuboTask.Settings((50,), (0.1,), (0,)), BenchContext())
    chains = Chains(torch, "cpu", task.payload(0), PARAMETERS)
    flip = Chains._flip

    def flipped(self: Chains, number: int) -> None:
        if StandInGraph.recording is None:
            flip(self, number)
        else:
            StandInGraph.recording.calls.append(lambda: flip(self, number))

    monkeypatch.setattr(Chains, "_flip", flipped)
    chains._try_to_record()
    assert chains.kernels.startswith("recorded")
    search = OneFlip(chains, 1)
    for _ in range(20):
        search.advance(1.0, None)
    assert search.cost == task.target(0)
    assert chains.problem.cost(search._vector) == search.cost
    assert search.output(True)


def test_kernels_that_cannot_be_recorded_are_started_one_by_one(
    cuda: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(into: StandInGraph) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    task = QuboTask.open(QuboTask.Settings((50,), (0.1,), (0,)), BenchContext())
    chains = Chains(torch, "cpu", task.payload(0), PARAMETERS)
    monkeypatch.setattr(torch.cuda, "graph", fails)
    chains._try_to_record()
    assert chains.kernels.endswith("operation not permitted when stream is capturing")
    search = OneFlip(chains, 1)
    search.advance(1.0, None)
    assert search.cost < 0
