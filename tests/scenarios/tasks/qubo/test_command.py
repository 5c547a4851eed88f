# SPDX-License-Identifier: Apache-2.0
"""`rig qubo targets` makes a table, verifies it and shows it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from rig.errors import ConfigError
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.reference import FoundVector, Solver
from scenarios.tasks.qubo.targets_command import solver_seeds
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("compiler")


def command(*arguments: object) -> Result:
    return CliRunner().invoke(
        qubo,
        ["targets", *map(str, arguments)],
        standalone_mode=False,
        catch_exceptions=False,
    )


def test_a_table_is_made_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "targets.csv"
    base = targets.read()
    small = {
        workload: row
        for workload, row in base.rows.items()
        if workload.nodes == 25 and workload.density >= 0.1
    }
    targets.write(targets.Targets(1, {}), path)
    result = command("--table", path, "--nodes=25", "--search=0.05")
    assert result.return_value == 0
    made = targets.read(path)
    assert {workload.nodes for workload in made.rows} == {25}
    assert len(made.rows) == 20
    assert all(made.rows[workload].cost == row.cost for workload, row in small.items())
    assert command("--table", path, "--nodes", 25, "--verify").return_value == 0


def test_verify_finds_a_changed_vector_and_says_which(tmp_path: Path) -> None:
    path = tmp_path / "targets.csv"
    lines = targets.SHIPPED.read_text().splitlines(keepends=True)
    position = next(
        number for number, line in enumerate(lines) if line.startswith("50,0.1,3,")
    )
    row, _, solution = lines[position].rpartition(",")
    lines[position] = f"{row},{'B' if solution[0] == 'A' else 'A'}{solution[1:]}"
    path.write_text("".join(lines))
    assert command("--table", path, "--nodes", 50, "--verify").return_value == 1
    assert command("--table", path, "--nodes", 25, "--verify").return_value == 0


def test_a_size_that_is_not_published_is_refused() -> None:
    with pytest.raises(ConfigError, match="5000"):
        command("--nodes", 26)
    with pytest.raises(ConfigError, match="no workload of 26 nodes"):
        command("--nodes", 25, "--nodes", 26, "--verify")


def test_a_table_of_ones_own_has_seeds_and_sizes_that_are_not_published(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.csv"
    options = (
        "--table",
        path,
        "--nodes",
        26,
        "--density",
        0.1,
        "--search",
        0.05,
    )
    assert (
        command(*options, "--problem-seed", 11, "--problem-seed", 12).return_value == 0
    )
    made = targets.read(path)
    assert set(made.rows) == {Workload(26, 0.1, 11), Workload(26, 0.1, 12)}
    assert command("--table", path, "--verify").return_value == 0
    assert command("--table", path, "--verify", "--nodes", 27).return_value == 1, (
        "nothing is verified there"
    )
    assert command(*options, "--problem-seed", 13).return_value == 0
    again = targets.read(path)
    assert (len(again.rows), again.version) == (3, made.version + 1)


def test_a_table_of_ones_own_is_nowhere_worse_than_the_shipped_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.csv"
    options = (
        "--nodes",
        500,
        "--density",
        0.05,
        "--problem-seed",
        0,
        "--search",
        0.001,
    )
    assert command("--table", path, *options).return_value == 0
    shipped = targets.read().rows[Workload(500, 0.05, 0)]
    row = targets.read(path).rows[shipped.workload]
    assert (row.cost, row.published) == (shipped.cost, shipped.published)
    assert (
        command(
            "--table", path, "--nodes=25", "--density=0.1", "--problem-seed=0"
        ).return_value
        == 0
    )
    assert (
        targets.read(path).rows[Workload(25, 0.1, 0)]
        == targets.read().rows[Workload(25, 0.1, 0)]
    ), "proven: nothing to look for"


def test_a_seed_that_is_not_published_does_not_go_into_the_shipped_table() -> None:
    with pytest.raises(
        ConfigError, match="no workload of 25 nodes, 5 %, seed 7"
    ) as caught:
        command("--nodes=25", "--density=0.05", "--problem-seed=7")
    assert "--table" in caught.value.try_next


def test_the_page_has_the_table_that_the_command_prints() -> None:
    result = command("--show")
    shown = [line for line in result.output.splitlines() if line.startswith("|")]
    page = (ROOT / "docs/reference/QUBO.md").read_text(encoding="utf-8")
    assert len(shown) == 2 + 36
    assert "\n".join(shown) in page


def test_the_table_is_shown_against_an_official_file_of_ones_own(
    tmp_path: Path,
) -> None:
    path = tmp_path / "official.csv"
    path.write_text("num_vertices,density,random_seed,c_optimal\n5000,0.25,0,-30\n")
    row = next(
        line
        for line in command("--show", "--official", path).output.splitlines()
        if line.startswith("| 5000 | 25 %")
    )
    assert row.startswith(
        "| 5000 | 25 % | -30 none none none none | -37 "
    ) and row.endswith("| 1 |")


@pytest.mark.parametrize(
    ("text", "seeds"), [("1", (1,)), ("1,5-7", (1, 5, 6, 7)), ("3-3", (3,))]
)
def test_a_list_of_solver_seeds_has_numbers_and_ranges(
    text: str, seeds: tuple[int, ...]
) -> None:
    assert solver_seeds(text) == seeds


@pytest.mark.parametrize(
    "text", ["", "a", "1-", "-1", "2-1", "1,1", "4294967296", "1-9999999999"]
)
def test_an_input_that_is_no_list_of_solver_seeds_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--solver-seeds"):
        solver_seeds(text)


@pytest.mark.parametrize(("finished", "known"), [(1, {11}), (2, {11}), (3, {11, 12})])
def test_a_search_that_is_stopped_loses_no_finished_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int, known: set[int]
) -> None:
    path = tmp_path / "mine.csv"
    search = Solver.search
    left = iter(range(finished))

    def cut_off(solver: Solver, search_s: float) -> FoundVector:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return search(solver, search_s)

    monkeypatch.setattr(Solver, "search", cut_off)
    options = ("--table", path, "--nodes", 26, "--density", 0.1, "--search", 0.01)
    seeds = ("--problem-seed", 11, "--problem-seed", 12, "--solver-seeds", "1-2")
    with pytest.raises(click.Abort):
        command(*options, *seeds)
    table = targets.read(path)
    assert {workload.seed for workload in table.rows} == known
    assert table.version == 1


def test_official_costs_have_no_part_in_a_search(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no part in a local search"):
        command("--official", tmp_path / "mine.csv", "--nodes", 10)
