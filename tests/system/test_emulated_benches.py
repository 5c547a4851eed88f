# SPDX-License-Identifier: Apache-2.0
"""The benches of the emulated Cortex-M3 that search and that listen, cut short: valid
trials, and numbers found again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.model.completion import DECIDED, END, STREAM
from rig.model.steps import Stream
from rig.session.session import SessionResult, open_bench
from rig.store import completion_lines
from tests.boards import image
from tests.checking import check
from tests.conftest import ROOT


def run(name: str, workload: str, folder: Path, *overrides: str) -> SessionResult:
    program = f"sut.qemu.program={image('mps2', workload)}"
    with open_bench(ROOT / "benches" / f"{name}.toml", [program, *overrides]) as bench:
        return bench.run(1, folder)


# tests/firmware/test_emulated.py compares its searches bit for bit
@pytest.mark.repeats
def test_a_search_on_the_emulated_core_is_a_valid_trial_whose_costs_are_those_of_its_vectors(
    tmp_path: Path,
) -> None:
    item = [
        "task.qubo.nodes=[100]",
        "task.qubo.densities=[0.05]",
        "task.qubo.seeds=[0]",
        "scenario.optimization.timeouts_s=[1e-3]",
    ]
    result = run("mps2-qubo", "qubo", tmp_path, *item)
    assert result.content["problems"] == []
    assert result.content["simulated"]
    searches = [
        sample
        for sample in result.trials[0].measured.samples
        if sample.solve is not None
    ]
    assert len(searches) == 2
    assert all(
        sample.costs is not None and sample.costs.claimed == sample.costs.cost < 0
        for sample in searches
    )
    assert result.metrics["success_to_1pct"].value == 1.0
    assert check(result.folder).ok


def test_a_preloaded_stream_on_the_emulated_core_is_a_valid_trial(
    tmp_path: Path,
) -> None:
    short = [
        "scenario.real_time.duration_s=2.1",
        "scenario.real_time.scene_s=[1.0, 2.0]",
    ]
    result = run("mps2-real-time", "asc", tmp_path, *short)
    assert result.content["problems"] == []
    assert result.content["simulated"]
    (done,) = [
        item
        for item in completion_lines.read(result.folder / "trial-1")
        if isinstance(item.step, Stream)
    ]
    assert [mark.phase for mark in done.completion.marks] == [
        STREAM,
        *[1, 2, DECIDED] * done.step.windows,
        END,
    ]
    assert result.metrics["within_deadline"].value == 1.0
    assert (
        "preloaded: the link was silent"
        in (result.folder / "trial-1" / "results.txt").read_text()
    )
    assert check(result.folder).ok
