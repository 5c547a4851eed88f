# SPDX-License-Identifier: Apache-2.0
"""`rig qubo targets` makes a table, goes on where it was stopped, and verifies what it
made."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rig.errors import ConfigError
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.campaign import CampaignJournal, Job, campaign, engine, run
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.targets_command import solver_seeds
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("compiler")


class Here(Executor):
    """Runs a job at once, in this process, and counts."""

    def __init__(self, jobs_until_crash: int = 1000) -> None:
        self.count = 0
        self._left = jobs_until_crash

    def submit(self, function, /, *arguments, **named):  # type: ignore[no-untyped-def]
        """Run it; the job after the last allowed one fails."""
        future: Future = Future()
        if self.count == self._left:
            future.set_exception(RuntimeError("power cut"))
        else:
            self.count += 1
            future.set_result(function(*arguments, **named))
        return future


def command(*arguments: object) -> Result:
    return CliRunner().invoke(
        qubo,
        ["targets", *map(str, arguments)],
        standalone_mode=False,
        catch_exceptions=False,
    )


def jobs(search_s: float = 0.01) -> list[Job]:
    return [
        Job(Workload(nodes, 0.1, 0), search_s, 0.0, 0.0, (1,)) for nodes in (10, 20, 30)
    ]


def test_a_table_is_made_proven_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "targets.csv"
    base = targets.read()
    small = {
        workload: row
        for workload, row in base.rows.items()
        if workload.nodes == 25 and workload.density >= 0.1
    }
    targets.write(targets.Targets(1, {}), path)
    result = command("--table", path, "--nodes", 25, "--search", 0.05, "--jobs", 1)
    assert result.return_value == 0
    made = targets.read(path)
    assert {workload.nodes for workload in made.rows} == {25}
    assert len(made.rows) == 20
    assert all(made.rows[workload].cost == row.cost for workload, row in small.items())
    assert not Path(f"{path}.partial").exists()
    assert command("--table", path, "--nodes", 25, "--verify").return_value == 0


def test_verify_finds_a_changed_vector_and_says_which(tmp_path: Path) -> None:
    path = tmp_path / "targets.csv"
    lines = targets.SHIPPED.read_text().splitlines(keepends=True)
    place = next(
        number for number, line in enumerate(lines) if line.startswith("50,0.1,3,")
    )
    row, _, solution = lines[place].rpartition(",")
    lines[place] = f"{row},{'B' if solution[0] == 'A' else 'A'}{solution[1:]}"
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
        "--jobs",
        1,
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
        "--jobs",
        1,
    )
    assert command("--table", path, *options).return_value == 0
    shipped = targets.read().rows[Workload(500, 0.05, 0)]
    row = targets.read(path).rows[shipped.workload]
    assert (row.cost, row.published) == (shipped.cost, shipped.published)
    assert (
        command(
            "--table",
            path,
            "--nodes",
            25,
            "--density",
            0.1,
            "--problem-seed",
            0,
            "--jobs",
            1,
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
        command("--nodes", 25, "--density", 0.05, "--problem-seed", 7)
    assert "--table" in caught.value.try_next


def test_a_campaign_goes_on_where_it_crashed(tmp_path: Path) -> None:
    journal = CampaignJournal(tmp_path / "journal")
    with pytest.raises(RuntimeError, match="power cut"):
        list(campaign(jobs(), journal, Here(jobs_until_crash=2)))
    assert len(journal.done()) == 2, (
        "what was finished is kept, whichever is looked at first"
    )
    engine_again = Here()
    results = {
        job.workload.nodes: target
        for job, target in campaign(jobs(), journal, engine_again)
    }
    assert engine_again.count == 1
    assert sorted(results) == [10, 20, 30]


def test_a_line_that_was_cut_off_is_done_again_and_spoils_no_other(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal"
    assert len(list(campaign(jobs(), CampaignJournal(path), Here()))) == 3
    path.write_text(path.read_text()[:-40])
    assert len(CampaignJournal(path).done()) == 2
    again = Here()
    assert len(list(campaign(jobs(), CampaignJournal(path), again))) == 3
    assert again.count == 1
    assert len(CampaignJournal(path).done()) == 3


def test_other_settings_are_another_job(tmp_path: Path) -> None:
    journal = CampaignJournal(tmp_path / "journal")
    list(campaign(jobs(0.01), journal, Here()))
    again = Here()
    list(campaign(jobs(0.02), journal, again))
    assert again.count == 3


def test_a_job_never_gives_back_less_than_it_knew() -> None:
    known = targets.read().rows[Workload(250, 0.05, 0)]
    again = run(Job(known.workload, 0.0, 0.0, 0.0, (1,), known))
    assert (again.cost, again.method, again.solution) == (
        known.cost,
        known.method,
        known.solution,
    )


def test_a_proof_names_who_found_it_and_who_proved_it() -> None:
    found = run(Job(Workload(50, 0.25, 0), 0.05, 0.0, 10.0, (1,)))
    assert (found.cost, found.proven, found.method) == (
        -12,
        True,
        "local search of 0.05 s, seed 1, proven by branch and bound",
    )


def test_a_campaign_runs_on_a_dask_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        engine(None, cluster.scheduler_address) as pool,
    ):
        found = {
            job.workload.nodes: target.cost
            for job, target in campaign(
                jobs(), CampaignJournal(tmp_path / "journal"), pool
            )
        }
    assert found == {job.workload.nodes: run(job).cost for job in jobs()}


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConfigError, match="no Dask scheduler"),
        engine(None, "tcp://127.0.0.1:9", connect_s=0.5),
    ):
        pass


def test_a_cluster_without_workers_is_told_within_its_limit() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            dashboard_address=None,
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        pytest.raises(ConfigError, match="has no workers"),
        engine(None, cluster.scheduler_address, connect_s=0.5),
    ):
        pass


def test_the_page_has_the_table_that_the_command_prints() -> None:
    result = command("--show")
    shown = [line for line in result.output.splitlines() if line.startswith("|")]
    page = (ROOT / "docs" / "QUBO.md").read_text(encoding="utf-8")
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


def test_each_solver_seed_searches_and_the_best_is_named(tmp_path: Path) -> None:
    job = Job(Workload(1000, 0.05, 0), 0.02, 0.0, 0.0, tuple(range(1, 9)))
    alone = {seed: run(replace(job, seeds=(seed,))).cost for seed in job.seeds}
    found = run(job)
    (seed,) = (
        seed
        for seed in job.seeds
        if found.method == f"local search of 0.02 s, seed {seed}"
    )
    assert len(set(alone.values())) > 1, "seeds that all do the same would show nothing"
    assert found.check().ok and seed in alone


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
def test_what_is_no_list_of_solver_seeds_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--solver-seeds"):
        solver_seeds(text)
