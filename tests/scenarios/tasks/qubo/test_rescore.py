# SPDX-License-Identifier: Apache-2.0
"""A session is scored again against other targets: new gaps, what beats them, and not a
raw byte changed.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rig.errors import DataError
from rig.session.session import open_bench
from rig.store import session_folder
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.rescore import RESCORED
from tests.checking import check
from tests.conftest import ROOT

HUNDRED = Workload(100, 0.05, 0)
TEN = Workload(10, 0.05, 0)
SHORT = [
    "scenario.optimization.timeouts_s=[0.01, 0.1]",
    "scenario.optimization.target_limit_s=0",
    "scenario.optimization.curve=[]",
    "task.qubo.nodes=[10, 100]",
    "task.qubo.seeds=[0]",
]


@pytest.fixture(scope="module")
def measured(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a short virtual session of two workloads with two time-outs, twice."""
    with open_bench(ROOT / "benches" / "virtual-qubo.toml", SHORT) as bench:
        return bench.run(2, tmp_path_factory.mktemp("sessions")).folder


@pytest.fixture
def session(measured: Path, tmp_path: Path) -> Path:
    """Give a copy that may be changed."""
    return Path(shutil.copytree(measured, tmp_path / "session"))


def command(*arguments: object) -> Result:
    return CliRunner().invoke(
        qubo,
        ["rescore", *map(str, arguments)],
        standalone_mode=False,
        catch_exceptions=False,
    )


def table(path: Path, cost: int) -> Path:
    """Write a table whose target of 100 nodes is another cost; the vector does not
    matter here.
    """
    read = targets.read()
    rows = dict(read.rows)
    rows[HUNDRED] = dataclasses.replace(rows[HUNDRED], cost=cost, proven=False)
    targets.write(targets.Targets(41, rows), path)
    return path


def test_the_same_targets_give_the_same_gaps_and_leave_every_file_alone(
    session: Path,
) -> None:
    before = {
        path: session_folder.sha256(path)
        for path in session.rglob("*")
        if path.is_file()
    }
    assert command(session).return_value == 0
    after = {
        path: session_folder.sha256(path)
        for path in session.rglob("*")
        if path.is_file()
    }
    assert set(after) - set(before) == {session / RESCORED}
    # Additions are named there, so no other one can be made.
    assert {path for path, digest in before.items() if after[path] != digest} == {
        session / session_folder.EVENTS
    }
    assert check(session).ok
    vectors = json.loads((session / RESCORED).read_text())["vectors"]
    assert len(vectors) == 8, "two workloads, two time-outs, two trials"
    assert all(
        vector["cost"] == vector["stored_cost"]
        and vector["gap"] == vector["gap_before"] is not None
        for vector in vectors
    )
    assert all(
        vector["gap_best_known"] == vector["gap_best_known_before"] is not None
        for vector in vectors
    )
    assert check(session).ok


def test_a_better_target_makes_the_gap_to_it_larger_and_leaves_the_official_one(
    session: Path, tmp_path: Path
) -> None:
    result = command(session, "--targets", table(tmp_path / "better.csv", -50))
    of_hundred = [
        item
        for item in json.loads((session / RESCORED).read_text())["vectors"]
        if item["workload"][0] == 100
    ]
    assert of_hundred
    for item in of_hundred:
        assert item["gap_best_known"] == pytest.approx((item["cost"] + 50) / 50)
        assert item["gap_best_known_before"] == pytest.approx((item["cost"] + 44) / 44)
        assert (
            item["gap"] == item["gap_before"] == pytest.approx((item["cost"] + 44) / 44)
        )
        assert item["gap_printed"] == pytest.approx((item["cost"] + 44) / -44)
    assert "targets version 41" in result.output and "best known -50" in result.output


def test_a_session_is_scored_again_against_another_official_file(
    session: Path, tmp_path: Path
) -> None:
    path = tmp_path / "announced.csv"
    path.write_text("num_vertices,density,random_seed,c_optimal\r\n100,0.05,0,-40\r\n")
    result = command(session, "--official", path)
    content = json.loads((session / RESCORED).read_text())
    of_hundred = [item for item in content["vectors"] if item["workload"][0] == 100]
    assert all(
        item["gap"] == pytest.approx((item["cost"] + 40) / 40) for item in of_hundred
    )
    assert all(
        item["gap_best_known"] == item["gap_best_known_before"] for item in of_hundred
    )
    assert content["official_targets_sha256"] == session_folder.sha256(path)
    assert "official -40" in result.output


def test_a_beaten_target_is_reported_and_its_vector_kept_as_proof(
    session: Path, tmp_path: Path
) -> None:
    weak = table(tmp_path / "weak.csv", -30)
    mine = tmp_path / "mine.csv"
    text = command(session, "--targets", weak).output
    assert "best known beaten" in text and "--keep" in text
    assert command(session, "--targets", weak, "--keep", mine).return_value == 0
    row = targets.read(mine).rows[HUNDRED]
    assert row.check().ok and row.cost < -30
    assert (row.method, targets.read(mine).version) == (f"session {session.name}", 42)
    assert "nothing beats" not in text
    assert (
        "stays as it is" in command(session, "--targets", mine, "--keep", mine).output
    )


def test_a_workload_that_the_table_does_not_know_has_no_gap_but_a_vector_to_keep(
    session: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.csv"
    mine = tmp_path / "mine.csv"
    targets.write(targets.Targets(1, {TEN: targets.read().rows[TEN]}), few)
    assert "no best known" in command(session, "--targets", few, "--keep", mine).output
    assert targets.read(mine).rows[HUNDRED].check().ok
    item = next(
        item
        for item in json.loads((session / RESCORED).read_text())["vectors"]
        if item["workload"][0] == 100
    )
    assert (item["gap_best_known"], item["best_known"], item["beats_best_known"]) == (
        None,
        None,
        True,
    )
    assert item["official"] == -44 and item["gap"] is not None


def test_vectors_of_every_segment_count_and_one_of_no_use_is_named(
    session: Path,
) -> None:
    lines = (session / "trial-2" / session_folder.COMPLETIONS).read_text().splitlines()
    position = next(number for number, line in enumerate(lines) if '"solve"' in line)
    changed = json.loads(lines[position])
    changed["output"] = changed["output"][:-2]
    lines[position] = json.dumps(changed)
    part = session / "trial-2" / "segment-1"
    part.mkdir()
    (part / session_folder.COMPLETIONS).write_text("\n".join(lines) + "\n")
    result = command(session)
    vectors = json.loads((session / RESCORED).read_text())["vectors"]
    assert len(vectors) == 12
    faulty = [item for item in vectors if item["fault"]]
    assert [item["part"] for item in faulty] == ["trial-2/segment-1"]
    assert "trial-2/segment-1, step" in result.output


def test_a_session_of_other_graphs_or_of_another_task_is_refused(session: Path) -> None:
    path = session / session_folder.PROVENANCE
    about = json.loads(path.read_text())
    about["task"]["workloads"][0]["graph_sha256"] = "0" * 64
    path.write_text(json.dumps(about))
    with pytest.raises(DataError, match="not the one that the session searched"):
        command(session)
    about["task"]["name"] = "asc"
    path.write_text(json.dumps(about))
    with pytest.raises(DataError, match="no session of QUBO"):
        command(session)
