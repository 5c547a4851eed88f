# SPDX-License-Identifier: Apache-2.0
"""Campaign for better targets: one job a workload, on all cores or on a Dask cluster,
kept in a journal so that it can be continued.

    python -m lab.qubo.campaign --table my.csv --search 30 --kamis 20 --prove 60

Searches, KaMIS and proofs go beyond `rig qubo targets`, which searches on one core. A
campaign that was stopped goes on when it is called again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.qubo.kamis import by_kamis
from lab.qubo.proof import Proof, by_branching, by_cp_sat
from rig.errors import ConfigError, DataError, storage_error
from rig.files import typed
from scenarios.tasks.qubo import targets
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.improve import Solution, best, local_searches, row
from scenarios.tasks.qubo.targets import Target, Targets
from scenarios.tasks.qubo.targets_command import Selection, solver_seeds

#: From this density up branch and bound proves faster than CP-SAT, measured at 100 and
#: 250 nodes.
BRANCHING_FROM_DENSITY = 0.08
BRANCHES_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Times for one workload: local search and KaMIS from each of `seeds`, then a
    proof; 0 leaves a part out.

    `known` is the best solution so far, to be beaten or proven.
    """

    workload: Workload
    search_s: float
    kamis_s: float
    prove_s: float
    seeds: tuple[int, ...]
    known: Target | None = None

    @property
    def key(self) -> str:
        """Key of the job in a journal: every field but the known solution."""
        return json.dumps(dataclasses.asdict(self) | {"known": None}, sort_keys=True)


def run(job: Job) -> Target:
    """Do a job and return the best solution, which may be the known one."""
    graph = generate(job.workload)
    solution = best(graph, _candidates(job, graph), job.known)
    proof = _proof(job, graph, solution.vector)
    if proof is None:
        return row(job.workload, graph, solution)
    method = solution.method
    if cost(graph, proof.vector) < cost(graph, solution.vector):
        method = proof.method
    elif proof.proven:
        method = f"{method}, proven by {proof.method}"
    solution = Solution(method, proof.vector)
    return row(job.workload, graph, solution, proof.proven)


def _candidates(job: Job, graph: Graph) -> Iterator[Solution]:
    if job.search_s > 0:
        yield from local_searches(graph, job.search_s, job.seeds)
    if job.kamis_s > 0 and graph.edges:
        for seed in job.seeds:
            vector = by_kamis(graph, job.kamis_s, seed)
            yield Solution(f"KaMIS of {job.kamis_s:g} s, seed {seed}", vector)


def _proof(job: Job, graph: Graph, best: NDArray[np.int8]) -> Proof | None:
    if job.prove_s <= 0:
        return None
    if job.workload.density >= BRANCHING_FROM_DENSITY:
        return by_branching(graph, best, int(job.prove_s * BRANCHES_PER_S))
    return by_cp_sat(graph, best, job.prove_s)


@contextmanager
def engine(jobs: int | None, dask: str, connect_s: float = 10.0) -> Iterator[Executor]:
    """Open the executor of jobs: `jobs` processes of this computer (None: one a core),
    or the Dask cluster at an address, "tcp://host:8786".
    """
    if not dask:
        with _processes(jobs) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError(
            "Dask is not installed", path="--dask", try_next="pip install distributed"
        ) from error
    try:
        client = Client(dask, timeout=connect_s)
    except OSError as error:
        raise ConfigError(
            f"no Dask scheduler at {dask}", path="--dask", evidence=str(error)
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=connect_s)
        except TimeoutError as error:
            raise ConfigError(
                f"the Dask cluster at {dask} has no workers",
                path="--dask",
                evidence=f"none came within {connect_s:g} s",
                try_next=f"dask worker {dask}",
            ) from error
        with client.get_executor(pure=False) as pool:
            yield pool


@contextmanager
def _processes(jobs: int | None) -> Iterator[Executor]:
    """Open a pool of processes; an exception in its use kills them at once."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, initializer=_leave_signals)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        raise
    else:
        pool.shutdown()


def _leave_signals() -> None:
    """Leave Ctrl-C, which a terminal sends to every process, to the parent; let TERM
    end this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class _JobDone:
    """A line of the journal."""

    job: str
    target: Target


class CampaignJournal:
    """Finished jobs of a campaign, one JSON line each; the job of a line that a crash
    cut off is repeated.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def done(self) -> dict[str, Target]:
        """Read the results by the key of their job."""
        jobs = {}
        if not self._path.exists():
            return {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                entry = typed.from_json(_JobDone, json.loads(line), str(self._path))
            except (DataError, ValueError):
                continue
            jobs[entry.job] = entry.target
        return jobs

    def add(self, job: Job, target: Target) -> None:
        """Keep a result."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                # A newline first: the line before may have been cut off.
                file.write("\n" + json.dumps(typed.to_json(_JobDone(job.key, target))))
        except OSError as error:
            raise storage_error(error, self._path) from error


def campaign(
    jobs: Iterable[Job], journal: CampaignJournal, pool: Executor
) -> Iterator[tuple[Job, Target]]:
    """Yield each job with its result: jobs of the journal first, the others as they
    finish.

    When a job fails, waiting jobs are cancelled, running ones are kept, and then its
    error is raised.
    """
    done = journal.done()
    waiting = {}
    for job in jobs:
        if job.key in done:
            yield job, done[job.key]
        else:
            waiting[pool.submit(run, job)] = job
    failures = []
    try:
        for future in as_completed(waiting):
            if future.cancelled():
                continue
            if (failure := future.exception()) is not None:
                failures.append(failure)
                for other in waiting:
                    other.cancel()
                continue
            target = future.result()
            journal.add(waiting[future], target)
            yield waiting[future], target
    except GeneratorExit:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except OSError as error:
        raise DataError("the journal cannot be written", evidence=str(error)) from error
    if failures:
        raise failures[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Improve a table of targets; return the exit code."""
    options = _options().parse_args(arguments)
    path = options.table
    selection = Selection(
        tuple(options.nodes), tuple(options.density), tuple(options.problem_seed)
    )
    wanted = selection.workloads()
    old = targets.read(path) if path.exists() else Targets(0, {})
    known = {**targets.read().rows, **old.rows}
    unproven = [workload for workload in wanted if not _is_proven(known.get(workload))]
    jobs = [_job(workload, options, known.get(workload)) for workload in unproven]
    shipped = [known[key] for key in wanted if key in known and key not in old.rows]
    journal = Path(f"{path}.partial")
    results = []
    with engine(options.jobs, options.dask) as pool:
        for job, target in campaign(jobs, CampaignJournal(journal), pool):
            results.append(target)
            print(f"{len(results):>4} of {len(jobs)}  {job.workload}: {target.cost}")
    new = old.improved(shipped + results)
    if new is not old:
        targets.write(new, path)
    journal.unlink(missing_ok=True)
    print(f"{path}: version {new.version}")
    return 0


def _job(workload: Workload, options: argparse.Namespace, known: Target | None) -> Job:
    return Job(
        workload=workload,
        search_s=options.search,
        kamis_s=options.kamis,
        prove_s=options.prove,
        seeds=options.solver_seeds,
        known=known,
    )


def _is_proven(target: Target | None) -> bool:
    return target is not None and target.proven


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description="Improve a table of QUBO targets.")
    options.add_argument("--table", type=Path, default=targets.SHIPPED)
    options.add_argument("--nodes", type=int, action="append", default=[])
    options.add_argument("--density", type=float, action="append", default=[])
    options.add_argument("--problem-seed", type=int, action="append", default=[])
    options.add_argument("--search", type=float, default=5.0, help="seconds a seed")
    options.add_argument("--kamis", type=float, default=0.0, help="seconds a seed")
    options.add_argument("--prove", type=float, default=0.0, help="seconds a workload")
    options.add_argument(
        "--solver-seeds", type=solver_seeds, default=(1,), help="as 1,5-9"
    )
    options.add_argument("--jobs", type=int, help="processes; one a core by default")
    options.add_argument("--dask", default="", help="a cluster: tcp://HOST:8786")
    return options


if __name__ == "__main__":
    # A polite kill ends the processes of the pool as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
