# SPDX-License-Identifier: Apache-2.0
"""examples/brian2_backend runs as docs/how-to/BRIAN2.md prints it, where an interpreter
with Brian2 is there: RIG_BRIAN2_PYTHON names one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nir
import numpy as np
import pytest

from rig.errors import BenchError
from rig.session.session import SessionResult, open_bench
from tests.conftest import ROOT
from tests.docs.scratch_package import installed
from tests.sut_backends.loihi.networks import two_layers

PYTHON = os.environ.get("RIG_BRIAN2_PYTHON", "")
EXAMPLE = ROOT / "examples" / "brian2_backend" / "sut.py"
with_brian2 = pytest.mark.skipif(
    not PYTHON, reason="no Brian2: RIG_BRIAN2_PYTHON names a Python that has it"
)


def write_network(path: Path, bias: float = 0.0) -> None:
    """Write two layers of neurons, the first with connections to itself."""
    rng = np.random.default_rng(3)
    nodes = two_layers(rng)
    nodes["first"] = nir.Affine(nodes["first"].weight, np.full(8, bias))
    nodes["again"] = nir.Linear(rng.normal(0, 3, (8, 8)))
    ways = ["input first", "first hidden", "hidden again", "again hidden"]
    ways += ["hidden second", "second last", "last output"]
    edges = [tuple(way.split()) for way in ways]
    made = nir.NIRGraph(nodes, edges, metadata={"dt_s": 1e-3}, type_check=False)
    nir.write(path, made)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Path]:
    """Install the example, and write its network and inputs of up to 2 spikes."""
    (tmp_path / "brian2_backend").mkdir()
    shutil.copy(EXAMPLE, tmp_path / "brian2_backend")
    write_network(tmp_path / "network.nir")
    rng = np.random.default_rng(5)
    spikes = (rng.random((4, 100, 5)) < 0.2) * rng.integers(1, 3, (4, 100, 5))
    np.save(tmp_path / "inputs.npy", spikes)
    with installed("BRIAN2.md", tmp_path) as file:
        yield file


def outputs(result: SessionResult) -> list[str]:
    """Return all answers of the one trial."""
    (file,) = result.folder.glob("trial-*/completions.jsonl")
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return [line["output"] for line in lines if line["kind"] == "query"]


def test_the_example_is_about_as_long_as_the_page_says() -> None:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    assert 140 <= sum(bool(line.strip()) for line in lines) <= 155


@with_brian2
def test_answers_are_those_of_the_reference_interpreter(
    bench: Path, tmp_path: Path
) -> None:
    interpreter = f"sut.brian2.interpreter={PYTHON}"
    with open_bench(bench, [interpreter]) as opened:
        assert opened.sut.info.simulated
        result = opened.run(1, tmp_path / "brian2-sessions")
    with open_bench(bench, ["sut.cpu.program=nir"]) as opened:
        reference = opened.run(1, tmp_path / "cpu-sessions")
    assert outputs(result) == outputs(reference)
    assert len(set(outputs(result))) == 4


@with_brian2
def test_a_network_that_it_does_not_run_is_refused_by_its_node(
    bench: Path, tmp_path: Path
) -> None:
    write_network(tmp_path / "network.nir", bias=0.1)
    with (
        pytest.raises(BenchError, match="does not start") as refused,
        open_bench(bench, [f"sut.brian2.interpreter={PYTHON}"]),
    ):
        pass
    assert "first has a bias" in refused.value.evidence


@with_brian2
def test_a_leak_that_moves_membranes_at_rest_is_refused(
    bench: Path, tmp_path: Path
) -> None:
    path = tmp_path / "network.nir"
    made = nir.read(path)
    last = made.nodes["last"]
    parts = {"tau": last.tau, "r": last.r, "v_threshold": last.v_threshold}
    made.nodes["last"] = nir.LIF(v_leak=np.full(3, 0.9), v_reset=last.v_reset, **parts)
    nir.write(path, made)
    interpreter = f"sut.brian2.interpreter={PYTHON}"
    with open_bench(bench, [interpreter]):
        pass  # begins at its leak, where it stays
    with (
        pytest.raises(BenchError, match="does not start") as refused,
        open_bench(bench, [interpreter, "task.network.rule=snntorch-zero"]),
    ):
        pass
    assert "a leak would move membranes" in refused.value.evidence
