# SPDX-License-Identifier: Apache-2.0
"""[sut.gpu] on the processor: ASC and QUBO through the worker, refusals, its
description.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rig.errors import BenchError, ConfigError, SutError
from rig.interfaces.context import BenchContext
from rig.model.completion import BATCH, END
from rig.model.origin import Origin, Origins
from rig.model.steps import Load, Query, Solve
from scenarios.tasks.asc.task import AscTask
from scenarios.tasks.qubo.task import QuboTask
from sut_backends.gpu.backend import GpuSut
from sut_backends.workers.sut import WorkerSut
from tests.conftest import ROOT

ON_CPU = GpuSut.Settings(device="cpu", slots=8)
WITH_TORCH = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: the extra gpu"
)


@pytest.fixture(scope="module")
def asc() -> AscTask:
    return AscTask.open(AscTask.Settings(samples=8), BenchContext())


def opened(settings: GpuSut.Settings, **parts: Any) -> WorkerSut:
    context = BenchContext(**parts)
    context.world.supply_on = True
    return GpuSut.open(settings, context)


@WITH_TORCH
def test_asc_gives_the_bytes_of_the_integer_model_alone_and_side_by_side(
    asc: AscTask,
) -> None:
    with closing(opened(ON_CPU, network=asc.network)) as sut:
        for index in range(8):
            sut.do(Load(index), [asc.payload(index)])
        alone = [sut.do(Query((index,))) for index in range(3)]
        batch = sut.do(Query(tuple(range(8)), batch=True, repeat=2))
        with pytest.raises(SutError, match="refuses this"):
            sut.do(Load(8), [b"short"])
        info = sut.info
    references = [asc.reference(asc.payload(index)) for index in range(8)]
    assert [done.output for done in alone] == references[:3]
    assert batch.output == b"".join(references)
    assert [mark.phase for mark in batch.marks] == [BATCH, END]
    assert (info.kind, info.simulated, info.origins) == ("gpu", False, Origins())
    assert info.origins is not None and info.origins.time is Origin.MEASURED
    assert (info.details["device"], info.details["threads"]) == ("cpu", 1)
    assert "synchronise" in info.details["timed"]


@WITH_TORCH
def test_qubo_is_searched_and_its_vectors_cost_what_it_claims() -> None:
    task = QuboTask.open(QuboTask.Settings((50,), (0.05,), (0,)), BenchContext())
    with closing(opened(ON_CPU, programs=task.programs)) as sut:
        sut.do(Load(0), [task.payload(0)])
        done = sut.do(Solve(0, 20.0, seed=3, target=task.target(0)))
        info = sut.info
    score = task.score(0, done.output)
    assert score.costs is not None
    assert score.costs.cost == score.costs.claimed == task.target(0)
    assert info.solves and info.details["program"] == "one_flip"
    assert info.details["torch"] and info.details["synchronised"] == "after each piece"


@WITH_TORCH
def test_without_a_gpu_the_message_says_what_torch_sees(asc: AscTask) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(BenchError) as caught:
        opened(GpuSut.Settings(), network=asc.network)
    assert "no device cuda" in caught.value.evidence
    task = QuboTask.open(QuboTask.Settings((50,), (0.05,), (0,)), BenchContext())
    with pytest.raises(BenchError) as caught:
        opened(GpuSut.Settings(), programs=task.programs)
    assert "sees no CUDA device" in caught.value.evidence


def test_without_torch_it_is_reported_how_to_get_it(
    asc: AscTask, tmp_path: Path
) -> None:
    # A Python of its own, without site-packages, has no torch.
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    with pytest.raises(BenchError) as caught:
        opened(replace(ON_CPU, interpreter=str(bare)), network=asc.network)
    assert "No module named" in caught.value.evidence


def test_a_task_without_network_and_search_is_refused() -> None:
    named = replace(ON_CPU, interpreter=sys.executable)
    with pytest.raises(ConfigError, match="neither a network nor a program on torch"):
        opened(named)


def test_the_worker_needs_what_its_list_has_and_no_more() -> None:
    listed = (ROOT / "sut_backends" / "gpu" / "requirements.txt").read_text(
        encoding="utf-8"
    )
    names = {
        line.split("=")[0].split(">")[0]
        for line in listed.splitlines()
        if line[0] != "#"
    }
    assert names > {"numpy", "torch"}
    spiking = ("runner", "layers", "neurons")
    of_spiking = imported(*(f"sut_backends/gpu/{name}.py" for name in spiking))
    assert {name.split(".")[0] for name in of_spiking} == {
        "numpy",
        "torch",
        "sut_backends",
    }
    integers = ("integer_runner", "integers")
    of_integers = imported(*(f"sut_backends/gpu/{name}.py" for name in integers))
    of_rig = {name for name in of_integers if name.startswith("rig.")}
    names = ("form", "payloads", "plain")
    assert of_rig == {f"rig.network.tflite.{name}" for name in names}
    names += ("real_input",)
    sound = ("mel", "mfcc", "spectrum")
    files = [f"rig/network/tflite/{name}.py" for name in names]
    files += [f"rig/network/sound/{name}.py" for name in sound]
    own = imported(*files)
    of_these = {f"rig.network.tflite.{name}" for name in names}
    of_these |= {f"rig.network.sound.{name}" for name in sound}
    assert own - of_these == {"numpy", "numpy.typing"}


def imported(*paths: str) -> set[str]:
    """Return the modules that files import, but those of the standard library."""
    result = set()
    for path in paths:
        text = (ROOT / path).read_text(encoding="utf-8")
        result |= {
            line.split()[1]
            for line in text.splitlines()
            if line.strip().startswith(("import ", "from "))
        }
    known = sys.stdlib_module_names
    return {name for name in result if name.split(".")[0] not in known}
