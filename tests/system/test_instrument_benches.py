# SPDX-License-Identifier: Apache-2.0
"""The benches of the instruments as they are printed: all their trials from the command line, a
verdict, and one energy. `make test` takes fewer samples of each.

In real time the three wait rather than work, so they run at once.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.checking import check
from tests.commands import rig
from tests.conftest import ROOT
from tests.length import length

pytestmark = [pytest.mark.posix, pytest.mark.paced]
#: Each with the samples of a trial.
BENCHES = {
    "posix-asc-joulescope": length(40, 8),
    "posix-asc-lpm01a": length(10, 4),
    "posix-asc-n6705": length(10, 4),
}


@dataclass(frozen=True, slots=True)
class Run:
    """What a command printed, its exit code, and the session it left."""

    done: subprocess.CompletedProcess[str]
    folder: Path

    @property
    def content(self) -> dict[str, Any]:
        """Return the results of the session."""
        content: dict[str, Any] = json.loads(
            (self.folder / "results.json").read_text(encoding="utf-8")
        )
        return content


@pytest.fixture(scope="module")
def runs(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """Run each bench file, all at once."""

    def run(name: str) -> Run:
        root = tmp_path_factory.mktemp(name)
        samples = f"task.asc.samples={BENCHES[name]}"
        bench = f"benches/{name}.toml"
        done = rig("run", bench, "--sessions", root, "--set", samples, cwd=ROOT)
        sessions = list(root.iterdir())
        assert len(sessions) == 1, done.stderr
        return Run(done, sessions[0])

    with ThreadPoolExecutor(len(BENCHES)) as beside:
        yield dict(zip(BENCHES, beside.map(run, BENCHES), strict=True))


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_of_an_instrument_runs_its_five_trials_to_a_true_verdict(
    runs: dict[str, Run], name: str
) -> None:
    run = runs[name]
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    assert re.search(r"replication +TRUE", run.done.stdout) and "SIMULATED" in run.done.stdout
    assert run.content["simulated"] is True and run.content["problems"] == []
    assert [trial["trial"] for trial in run.content["metrics"]["energy_infer"]["per_trial"]] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert (run.content["replication"]["ok"], run.content["replication"]["trials"]) == (True, 5)
    assert check(run.folder).ok


@pytest.mark.parametrize("metric", ["energy_preprocess", "energy_infer"])
@pytest.mark.parametrize("pair", list(combinations(BENCHES, 2)), ids=" and ".join)
def test_two_instruments_find_the_same_energy_within_what_they_state(
    runs: dict[str, Run], pair: tuple[str, str], metric: str
) -> None:
    one, other = (runs[name].content["metrics"][metric] for name in pair)
    allowed = (
        one["same_samples"]["expanded_uncertainty"] ** 2
        + other["same_samples"]["expanded_uncertainty"] ** 2
    ) ** 0.5
    assert abs(one["value"] - other["value"]) <= allowed, (one["value"], other["value"], allowed)
    assert allowed < 0.03 * one["value"], "an uncertainty that allows everything proves nothing"
