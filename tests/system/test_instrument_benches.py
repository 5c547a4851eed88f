# SPDX-License-Identifier: Apache-2.0
"""The benches of the instruments as they are printed: all their trials from the command
line, a verdict, and one energy. `make test` takes fewer samples of each.

In real time the four wait rather than work, so they run at once.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.checking import check
from tests.commands import Running, started
from tests.conftest import ROOT
from tests.length import length

pytestmark = [pytest.mark.posix, pytest.mark.paced]
#: Each with the samples of a trial.
BENCHES = {
    "posix-asc-joulescope": length(40, 4),
    "posix-asc-lpm01a": length(10, 4),
    "posix-asc-n6705": length(10, 4),
    "posix-asc-ppk2": length(10, 4),
    "posix-asc-ina226": length(10, 4),
    "posix-asc-otii": length(10, 4),
}
#: The largest relative uncertainty of a difference; a PPK2's limits are its maker's 10 %.
LARGEST = {"posix-asc-ppk2": 0.16}
LARGEST_OTHERS = 0.03


@dataclass(frozen=True, slots=True)
class Run:
    """The output of a command, its exit code, and the session it left."""

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
def runs(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Run each bench file, all at once."""
    roots = {name: tmp_path_factory.mktemp(name) for name in BENCHES}
    running = {
        name: started(
            *("run", f"benches/{name}.toml", "--sessions", roots[name]),
            *("--set", f"task.asc.samples={samples}"),
            cwd=ROOT,
        )
        for name, samples in BENCHES.items()
    }
    return {name: ended(running[name], roots[name]) for name in BENCHES}


def ended(running: Running, root: Path) -> Run:
    """Wait for a command; return its result."""
    done = running.ended()
    sessions = list(root.iterdir())
    assert len(sessions) == 1, done.stderr
    return Run(done, sessions[0])


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_of_an_instrument_runs_its_five_trials_to_a_true_verdict(
    runs: dict[str, Run], name: str
) -> None:
    run = runs[name]
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    assert re.search(r" PASS ", run.done.stdout) and "SIMULATED" in run.done.stdout
    assert run.content["simulated"] is True and run.content["problems"] == []
    assert [
        trial["trial"] for trial in run.content["metrics"]["energy_infer"]["per_trial"]
    ] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert (run.content["replication"]["ok"], run.content["replication"]["trials"]) == (
        True,
        5,
    )
    assert check(run.folder).ok


@pytest.mark.parametrize(
    "metric", ["energy_preprocess", "energy_infer", "power_idle", "power_dynamic"]
)
@pytest.mark.parametrize("pair", list(combinations(BENCHES, 2)), ids=" and ".join)
def test_two_instruments_find_the_same_energy_within_what_they_state(
    runs: dict[str, Run], pair: tuple[str, str], metric: str
) -> None:
    item, other = (runs[name].content["metrics"][metric] for name in pair)
    allowed = (
        item["same_samples"]["expanded_uncertainty"] ** 2
        + other["same_samples"]["expanded_uncertainty"] ** 2
    ) ** 0.5
    assert abs(item["value"] - other["value"]) <= allowed, (
        item["value"],
        other["value"],
        allowed,
    )
    largest = max(LARGEST.get(name, LARGEST_OTHERS) for name in pair)
    assert allowed < largest * item["value"], (
        "an uncertainty that allows everything proves nothing"
    )
