# SPDX-License-Identifier: Apache-2.0
"""A campaign keeps finished tasks, goes on where it was stopped, and runs on a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from lab.qubo.campaign import CampaignJournal, Job, campaign, engine, main, run
from rig.errors import ConfigError
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.graph import Workload
from tests.conftest import ROOT
from tests.uncounted import uncounted
from tests.waiting import eventually

LIMIT_S = 15.0
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


def jobs(search_s: float = 0.01) -> list[Job]:
    return [job(Workload(nodes, 0.1, 0), search_s) for nodes in (10, 20, 30)]


def job(
    workload: Workload, search_s: float, prove_s: float = 0.0, **more: object
) -> Job:
    settings = {"kamis_s": 0.0, "seeds": (1,), **more}
    return Job(workload=workload, search_s=search_s, prove_s=prove_s, **settings)


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
    again = run(job(known.workload, 0.0, known=known))
    assert (again.cost, again.method, again.solution) == (
        known.cost,
        known.method,
        known.solution,
    )


def test_a_proof_names_who_found_it_and_who_proved_it() -> None:
    result = run(job(Workload(50, 0.25, 0), 0.05, prove_s=10.0))
    assert (result.cost, result.proven, result.method) == (
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
            dashboard_address="127.0.0.1:0",
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        engine(None, cluster.scheduler_address) as pool,
    ):
        result = {
            job.workload.nodes: target.cost
            for job, target in campaign(
                jobs(), CampaignJournal(tmp_path / "journal"), pool
            )
        }
    assert result == {job.workload.nodes: run(job).cost for job in jobs()}


def test_a_cluster_that_is_not_there_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConfigError, match="no Dask scheduler"),
        engine(None, "tcp://127.0.0.1:9", connect_s=0.5),
    ):
        pass


def test_a_cluster_without_workers_is_reported_within_its_limit() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            dashboard_address="127.0.0.1:0",
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        pytest.raises(ConfigError, match="has no workers"),
        engine(None, cluster.scheduler_address, connect_s=0.5),
    ):
        pass


def test_each_solver_seed_searches_and_the_best_is_named(tmp_path: Path) -> None:
    seeds = tuple(range(1, 9))
    eight = job(Workload(1000, 0.05, 0), 0.02, seeds=seeds)
    alone = {seed: run(replace(eight, seeds=(seed,))).cost for seed in seeds}
    result = run(eight)
    (seed,) = (
        seed
        for seed in seeds
        if result.method == f"local search of 0.02 s, seed {seed}"
    )
    assert len(set(alone.values())) > 1, "seeds that all do the same would show nothing"
    assert result.check().ok and seed in alone


def test_the_command_makes_and_proves_a_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    which = ("--table", str(path), "--nodes", "26", "--density", "0.1")
    times = ("--search", "0.05", "--prove", "10", "--jobs", "1")
    assert main([*which, *times, "--problem-seed", "11"]) == 0
    row = targets.read(path).rows[Workload(26, 0.1, 11)]
    assert row.proven and row.check().ok
    assert not Path(f"{path}.partial").exists()


def children_of(pid: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        words = chain.from_iterable(path.read_text().split() for path in tasks)
        own = list(map(int, words))
    except OSError:
        return []
    return own + list(chain.from_iterable(map(children_of, own)))


def working(pid: int) -> bool:
    """Return whether a process has taken a tenth of a second of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) >= 10


@pytest.mark.skipif(sys.platform != "linux", reason="processes are known by /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_ends_at_the_first_signal(
    tmp_path: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-m", "lab.qubo.campaign"]
    command += ["--table", str(tmp_path / "own.csv")]
    command += ["--nodes", "50", "--density", "0.1", "--search", "300", "--jobs", "2"]
    command += ["--problem-seed", "7", "--problem-seed", "8", "--problem-seed", "9"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        started = eventually(
            lambda: result if len(result := children_of(process.pid)) >= 2 else [],
            process=process,
        )
        eventually(lambda: all(map(working, started[:2])), process=process)
        process.send_signal(ending)
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode != 0, output
    eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), LIMIT_S
    )
