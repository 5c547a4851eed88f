# SPDX-License-Identifier: Apache-2.0
"""A campaign for better targets: one job a workload, on all cores or on a cluster, kept
in a journal so that it can go on later.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError, storage_error
from rig.files import typed
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.kamis import by_kamis
from scenarios.tasks.qubo.proof import Proof, by_branching, by_cp_sat
from scenarios.tasks.qubo.reference import Solver
from scenarios.tasks.qubo.targets import Target, packed

#: From this density up branch and bound proves faster than CP-SAT, measured at 100 and
#: 250 nodes.
BRANCHING_FROM_DENSITY = 0.08
BRANCHES_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """A campaign's job for one workload: search this long from each of `seeds`, KaMIS
    as well or not, and try this long to prove it.

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
        """Return what identifies the job in a journal: all but the known solution."""
        return json.dumps(dataclasses.asdict(self) | {"known": None}, sort_keys=True)


def run(job: Job) -> Target:
    """Do a job; return the best solution found, which may be the known one. The
    vector's cost is evaluated, not trusted.
    """
    graph = generate(job.workload)
    known = job.known
    best, method = (
        (known.vector, known.method)
        if known
        else (np.zeros(graph.nodes, np.int8), "none")
    )
    for name, vector in _candidates(job, graph):
        if cost(graph, vector) < cost(graph, best):
            best = vector
            method = name
    proof = _proof(job, graph, best)
    if proof is not None:
        better = cost(graph, proof.vector) < cost(graph, best)
        method = (
            proof.method
            if better
            else f"{method}, proven by {proof.method}"
            if proof.proven
            else method
        )
        best = proof.vector
    return Target(
        nodes=graph.nodes,
        density=job.workload.density,
        seed=job.workload.seed,
        graph=graph.sha256,
        cost=cost(graph, best),
        proven=proof is not None and proof.proven,
        method=method,
        date=datetime.now(UTC).date().isoformat(),
        published=None,
        solution=packed(best),
    )


def _candidates(job: Job, graph: Graph) -> Iterator[tuple[str, NDArray[np.int8]]]:
    if job.search_s > 0:
        solver = Solver(graph)
        for seed in job.seeds:
            solver.start(seed)
            yield (
                f"local search of {job.search_s:g} s, seed {seed}",
                solver.search(job.search_s).vector,
            )
    if job.kamis_s > 0 and graph.edges:
        for seed in job.seeds:
            yield (
                f"KaMIS of {job.kamis_s:g} s, seed {seed}",
                by_kamis(graph, job.kamis_s, seed),
            )


def _proof(job: Job, graph: Graph, best: NDArray[np.int8]) -> Proof | None:
    if job.prove_s <= 0:
        return None
    if job.workload.density >= BRANCHING_FROM_DENSITY:
        return by_branching(graph, best, int(job.prove_s * BRANCHES_PER_S))
    return by_cp_sat(graph, best, job.prove_s)


@contextmanager
def engine(jobs: int | None, dask: str, connect_s: float = 10.0) -> Iterator[Executor]:
    """Open where jobs run: `jobs` processes here (None: one a core), or the Dask
    cluster at an address, "tcp://host:8786".
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
    """Open so many processes; what ends their use early ends them, whatever they are
    at."""
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
    """Let Ctrl-C, which a terminal sends to all, be the parent's alone; TERM ends this
    process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class _JobDone:
    """A line of the journal."""

    job: str
    target: Target


class CampaignJournal:
    """The finished jobs of a campaign, one JSON line each; a line that was cut off by a
    crash is done again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def done(self) -> dict[str, Target]:
        """Return the results by the key of their job."""
        jobs = {}
        for line in (
            self._path.read_text(encoding="utf-8").splitlines()
            if self._path.exists()
            else []
        ):
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
    """Yield each job with its result, those in the journal first, the others as they
    are finished and kept.

    When a job fails, what has not begun is called off, what is under way is kept first,
    and then its error is raised.
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
