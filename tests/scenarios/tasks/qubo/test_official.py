# SPDX-License-Identifier: Apache-2.0
"""Official targets: the published file as it is, rows made as the rules say, and two
targets side by side in the task.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rig.errors import ConfigError, DataError
from rig.interfaces.context import BenchContext
from scenarios.tasks.qubo import official, targets
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.official import Made, Official
from scenarios.tasks.qubo.task import QuboTask

HEAD = "num_vertices,density,random_seed,c_optimal\r\n"
FIRST = QuboTask.Settings(nodes=(250,), densities=(0.05,), seeds=(0, 1))


def command(*arguments: object) -> Result:
    return CliRunner().invoke(
        qubo,
        ["targets", *map(str, arguments)],
        standalone_mode=False,
        catch_exceptions=False,
    )


def written(folder: Path, *rows: str) -> Path:
    path = folder / "announced.csv"
    path.write_bytes((HEAD + "".join(f"{row}\r\n" for row in rows)).encode())
    return path


def made(workload: Workload, reads: int, restarts: int) -> Official:
    """Return a row as D-Wave's tabu search would make it."""
    target = targets.read().rows[workload]
    how = Made(
        graph=target.graph,
        method="D-Wave tabu",
        version="dwave-samplers 1.8.0",
        reads=reads,
        restarts=restarts,
        seed=1,
        date="2026-11-26",
        solution=target.solution,
    )
    return Official(workload, target.cost, how)


def opened(**settings: Any) -> QuboTask:
    return QuboTask.open(dataclasses.replace(FIRST, **settings), BenchContext())


def test_the_target_of_the_result_is_the_published_cost_and_ours_stands_beside_it():
    lower = 0
    for row in targets.read().rows.values():
        if row.published is not None and row.cost < row.published and row.nodes <= 500:
            task = QuboTask.open(
                QuboTask.Settings((row.nodes,), (row.density,), (row.seed,)),
                BenchContext(),
            )
            assert (task.target(0), task.official(0), task.best_known(0)) == (
                row.published,
                row.published,
                row.cost,
            )
            lower += 1
    assert lower > 20


def test_below_50_nodes_the_published_costs_are_the_proven_optima() -> None:
    small = [
        row
        for row in targets.read().rows.values()
        if row.nodes < official.GLOBAL_BELOW_NODES
    ]
    assert len(small) == 40
    assert all(row.proven and row.published == row.cost for row in small)


def test_a_published_file_is_read_as_it_is_and_takes_the_place_of_the_shipped_costs(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "250,0.05,0,-60", "250,0.05,7,-61")
    task = opened(official=str(path))
    assert [task.official(index) for index in range(2)] == [-60, None]
    assert [task.target(index) for index in range(2)] == [-60, task.best_known(1)]
    about = task.provenance()
    assert (
        about["official_targets"] == str(path)
        and "not verified" in about["official_targets_source"]
    )
    assert len(about["official_targets_sha256"]) == 64
    assert "1 of 2 workloads have no official target" in about["statement"]
    assert [row["official"] for row in about["workloads"]] == [-60, None]
    assert about["unofficial"] == "TUNING SEEDS, OFFICIAL TARGETS MISSING"


def test_announced_seeds_can_be_used_the_day_they_are_published_without_a_vector_of_ours(
    tmp_path: Path,
) -> None:
    task = opened(seeds=(77,), official=str(written(tmp_path, "250,0.05,77,-66")))
    assert (task.target(0), task.official(0), task.best_known(0)) == (-66, -66, None)
    about = task.provenance()["workloads"][0]
    assert about["graph_sha256"] == generate(Workload(250, 0.05, 77)).sha256
    assert (about["best_known"], about["proven"]) == (None, False)
    with pytest.raises(ConfigError, match="no target for 250 nodes, 5 %, seed 78"):
        opened(seeds=(78,), official=str(written(tmp_path, "250,0.05,77,-66")))


def test_below_50_nodes_a_proven_cost_is_official_where_the_file_has_none(
    tmp_path: Path,
) -> None:
    task = QuboTask.open(
        QuboTask.Settings(
            (25,), (0.25,), (0,), official=str(written(tmp_path, "250,0.05,0,-60"))
        ),
        BenchContext(),
    )
    assert task.official(0) == task.best_known(0) == -9
    assert "global optimum" in task.provenance()["workloads"][0]["official_source"]


def test_a_cost_below_a_proven_optimum_is_one_of_other_graphs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="proven is none below -9"):
        QuboTask.open(
            QuboTask.Settings(
                (25,), (0.25,), (0,), official=str(written(tmp_path, "25,0.25,0,-10"))
            ),
            BenchContext(),
        )


def test_the_placeholder_of_a_cost_that_is_not_known_yet_is_none(
    tmp_path: Path,
) -> None:
    assert not official.read(written(tmp_path, "250,0.05,0,-1")).rows
    assert official.read(written(tmp_path, "5,1.0,0,-1")).rows, (
        "of a complete graph it is the optimum"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nodes,cost\n1,2\n", "other columns"),
        (HEAD + "250,0.05,0\n", "damaged"),
        (HEAD + "250,0.05,0,x\n", "damaged"),
        (HEAD + "250,0.05,0,-60,-61\n", "damaged"),
        (HEAD + "250,nan,0,-3\n", "damaged"),
        (HEAD + "250,0.05,0,-251\n", "no set of 250 nodes"),
        (HEAD + "250,0.05,0,3\n", "costs 3"),
        (HEAD + "250,0.05,0,-60\n250,0.05,0,-61\n", "again"),
        ("\xff\xfe", "cannot be read|no table|other columns"),
    ],
)
def test_a_file_that_is_damaged_is_refused_and_the_line_named(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "official.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=said):
        official.read(path)


def test_targets_that_were_made_with_fewer_reads_are_labelled(tmp_path: Path) -> None:
    path = tmp_path / "quick.csv"
    settings = {"nodes": (50,), "seeds": (0,)}
    row = made(Workload(50, 0.05, 0), reads=2, restarts=1)
    official.write([row], path)
    about = opened(**settings, official=str(path)).provenance()
    assert about["unofficial"] == "TUNING SEEDS, TARGETS NOT MADE BY THE RULES"
    assert "2 reads, 1 restarts" in about["workloads"][0]["official_source"]
    assert row.made is not None
    by_rules = dataclasses.replace(
        row.made, reads=official.READS, restarts=official.RESTARTS
    )
    official.write([dataclasses.replace(row, made=by_rules)], path)
    assert (
        opened(**settings, official=str(path)).provenance()["unofficial"]
        == "TUNING SEEDS"
    )


def test_a_made_row_is_verified_and_one_that_was_changed_is_found(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.csv"
    rows = [made(Workload(25, 0.25, 0), 100, 50), Official(Workload(60, 0.25, 3), -11)]
    official.write(rows, path)
    verified = command("--verify", "--official", path)
    assert verified.return_value == 0
    assert (
        "1 of 1 vectors cost what the table says; 1 are costs without"
        in verified.output
    )
    side = official.side(path)
    for file in (side, path):
        text = file.read_bytes().replace(b"25,0.25,0,-9", b"25,0.25,0,-8")
        file.write_bytes(text)
    assert command("--verify", "--official", path).return_value == 1
    side.write_bytes(side.read_bytes().replace(b"25,0.25,0,-8", b"25,0.25,0,-9"))
    with pytest.raises(DataError, match=r"costs -8, and -9 in mine\.made\.csv"):
        official.read(path)
