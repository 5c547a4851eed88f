# SPDX-License-Identifier: Apache-2.0
"""A virtual submission of searches passes the judge up to its label; each cell, seed and
try that lacks or was changed is refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rig.cli.main import rig as command
from rig.errors import ConfigError
from rig.judge import evidence
from rig.judge.judge import judge
from rig.judge.rules import Rules, of_benchmark
from rig.report.report import write_report
from rig.session.session import open_bench
from tests import checking
from tests.conftest import ROOT
from tests.recorded import recorded
from tests.submissions import (
    REASONS,
    SEARCHED,
    SEEDS,
    built,
    edited,
    hashed_again,
    official,
    statements,
)

BENCH = ROOT / "benches" / "virtual-qubo.toml"
CELL = "10n_25pct"
#: Short searches: those of 100 s give the judge no other work.
QUICK = (
    "scenario.optimization.timeouts_s=[0.01,0.1]",
    "scenario.optimization.target_limit_s=0.1",
    "scenario.optimization.curve=[]",
    "scenario.optimization.best_known=false",
    "scenario.optimization.idle_s=0.1",
    "sut.virtual.solve.rate_hz=10000.0",
    "sut.virtual.sync_hold_us=800",
    "monitor.virtual.sample_hz=5000",
    *SEARCHED,
)
Edit = Callable[[dict[str, Any]], object]
LABEL = {"measured"}


def rules() -> Rules:
    """Return the rules with the time-outs that were searched."""
    own = of_benchmark("qubo")
    assert own.grid is not None
    return replace(
        own,
        settings=replace(own.settings, values={"timeouts_s": [0.01, 0.1]}),
        grid=replace(own.grid, timeouts=("10ms", "100ms")),
    )


def make(root: Path) -> None:
    """Record a session, and build a submission of it."""
    root.mkdir(parents=True)
    words = [*QUICK, official(root)]
    with open_bench(BENCH, words) as bench:
        folder = bench.run(5, root / "recorded").folder
    folder = folder.rename(root / "recorded" / "virtual-qubo")
    write_report(folder)
    stated = statements(root / "stated")
    stated.write_text(stated.read_text() + REASONS)
    built([folder], stated, root / "submission")
    words = ["--edges-max", "60", "--timeout", "0.01", "--out", str(root / "largest")]
    done = CliRunner().invoke(command, ["qubo", "largest", str(BENCH), *words])
    assert (root / "largest").exists(), done.output


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "searched-submission", make)


@pytest.fixture
def folder(place: Path, tmp_path: Path) -> Path:
    """A submission that may be changed."""
    return Path(shutil.copytree(place / "submission", tmp_path / "submission"))


@pytest.fixture(scope="module", autouse=True)
def _checked_once(place: Path) -> Any:
    """Check the session once: no edit here changes it."""
    once = evidence.check(
        place / "submission/sessions/virtual-qubo", checking.fingerprints
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "check", lambda *_: once)
        yield


def failing(
    folder: Path, seeds: tuple[int, ...] = SEEDS, costs: Path | None = None
) -> dict[str, str]:
    found = judge(
        folder, rules=rules(), seeds=seeds, official=costs, read=checking.fingerprints
    )
    return {row.requirement: row.evidence for row in found.rows if row.passed is False}


def test_a_virtual_submission_passes_up_to_its_label(place: Path) -> None:
    folder = place / "submission"
    found = judge(folder, rules=rules(), seeds=SEEDS, read=checking.fingerprints)
    assert failing(folder).keys() == LABEL, failing(folder)
    said = {row.requirement: row.evidence for row in found.rows}
    assert "1 cells measured, a reason for each other one" in said["cells"]
    assert said["seeds"] == "seeds [5, 6, 7, 8, 9]; tuned with [0, 1, 2]"


def test_without_the_announced_seeds_they_are_not_checked(place: Path) -> None:
    found = judge(place / "submission", rules=rules(), read=checking.fingerprints)
    [row] = [row for row in found.rows if row.requirement == "announced seeds"]
    assert row.passed is None
    assert "announced seeds" in failing(place / "submission", (5, 6, 7, 8, 10))


def test_seeds_of_sessions_that_cannot_be_read_are_not_checked(folder: Path) -> None:
    shutil.rmtree(folder / "sessions")
    found = judge(folder, rules=rules(), seeds=SEEDS, read=checking.fingerprints)
    verdicts = {row.requirement: row.passed for row in found.rows}
    assert verdicts["announced seeds"] is None
    assert verdicts["session virtual-qubo"] is False


def test_costs_are_the_announced_ones_or_not_checked(
    place: Path, tmp_path: Path
) -> None:
    folder = place / "submission"
    found = judge(folder, rules=rules(), seeds=SEEDS, read=checking.fingerprints)
    [row] = [row for row in found.rows if row.requirement == "announced costs"]
    assert row.passed is None and "--official" in row.evidence
    announced = place / "official.csv"
    assert "announced costs" not in failing(folder, costs=announced)
    harder = tmp_path / "harder.csv"
    text = announced.read_text()
    first = text.splitlines()[1]
    nodes, density, seed, cost = first.split(",")
    harder.write_text(text.replace(first, f"{nodes},{density},{seed},{int(cost) - 1}"))
    assert failing(folder, costs=harder)["announced costs"] == (
        f"10 nodes, 0.25, seed 5: {cost}, announced is {int(cost) - 1}"
    )
    harder.write_text("seed,cost\n5,-3\n")
    with pytest.raises(ConfigError, match="no costs in NeuroBench's form"):
        failing(folder, costs=harder)


def test_by_the_rules_it_lacks_time_outs(place: Path) -> None:
    found = judge(place / "submission", read=checking.fingerprints)
    wrong = {row.requirement: row for row in found.rows if row.passed is False}
    assert "timeouts_s = (0.01, 0.1), not [0.001" in (
        wrong["scenario and durations"].evidence
    )
    assert f"has no gap_{CELL}_1ms, and no reason" in wrong["cells"].evidence


def metrics(tree: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = tree["configurations"][0]["sessions"][0]["metrics"]
    return found


def reasoned_away(tree: dict[str, Any]) -> None:
    """State a reason in place of a number that the session has."""
    del metrics(tree)[f"gap_{CELL}_10ms"]
    tree["no_result"][f"{CELL}"] = "not searched"


MUTATIONS: Mapping[str, tuple[Edit, str]] = {
    "a number reasoned away": (reasoned_away, "numbers"),
    "tuned with the seeds that are for it, and all others": (
        lambda tree: tree.update(tuning_seeds=list(range(100))),
        "seeds",
    ),
    "a gap less": (lambda tree: metrics(tree).pop(f"gap_{CELL}_10ms"), "cells"),
    "a power less": (lambda tree: metrics(tree).pop(f"power_{CELL}_100ms"), "cells"),
    "a latency less": (
        lambda tree: metrics(tree).pop(f"latency_to_1pct_{CELL}"),
        "cells",
    ),
    "an energy of none": (
        lambda tree: metrics(tree)[f"energy_to_5pct_{CELL}"].update(value=None),
        "cells",
    ),
    "a cell without a reason": (
        lambda tree: tree["no_result"].update({"5000n_*": ""}),
        "cells",
    ),
    "cells without a reason": (lambda tree: tree["no_result"].pop("25n_*"), "cells"),
    "the largest without a reason": (
        lambda tree: tree["no_result"].pop("largest"),
        "largest",
    ),
    "a largest that is not there": (
        lambda tree: tree.update(largest="largest.json"),
        "largest",
    ),
    "tuned with a seed of the results": (
        lambda tree: tree.update(tuning_seeds=[0, 5]),
        "seeds",
    ),
    "a better gap": (
        lambda tree: metrics(tree)[f"gap_{CELL}_10ms"].update(value=-0.5),
        "numbers",
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_is_refused_by_the_row_about_it(name: str, folder: Path) -> None:
    edit, row = MUTATIONS[name]
    edited(folder, edit)
    assert row in failing(folder)


def with_largest(place: Path, folder: Path, edit: Edit) -> str:
    """Add evidence of the largest workload, changed; return why it is refused."""
    tree = json.loads((place / "largest").read_text())
    stored = folder / "sessions" / "virtual-qubo" / "provenance.json"
    tree["simulated"] = False
    tree["sut"]["firmware"] = json.loads(stored.read_text())["sut"]["firmware"]
    edit(tree)
    (folder / "largest.json").write_text(json.dumps(tree))
    edited(folder, lambda own: own.update(largest="largest.json"))
    hashed_again(folder)
    return failing(folder).get("largest", "")


def one_good(tree: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in tree["tries"] if one["outcome"] == "good"
    )
    return found


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda tree: None, ""),
        (lambda tree: tree.update(simulated=True), "of a simulated device"),
        (lambda tree: tree["sut"].update(name="other"), "of another device"),
        (
            lambda tree: tree["largest"]["A"].update(nodes=5000),
            "A is not the largest good size",
        ),
        (lambda tree: tree["largest"].pop("B"), "B is missing"),
        (
            lambda tree: tree["largest"]["A"].update(limit=None),
            "A: the next size was not tried",
        ),
        (
            lambda tree: one_good(tree).update(cost=-999, claimed=-999),
            "not found again from their vectors",
        ),
        (
            lambda tree: one_good(tree).update(vector=""),
            "not found again from their vectors",
        ),
        (
            lambda tree: one_good(tree).update(graph_sha256="0" * 64),
            "not found again from their vectors",
        ),
        (lambda tree: tree.pop("tries"), "cannot be read"),
    ],
)
def test_the_evidence_of_the_largest_workload_is_evaluated_again(
    edit: Edit, said: str, place: Path, folder: Path
) -> None:
    found = with_largest(place, folder, edit)
    assert said in found and bool(said) is bool(found)
