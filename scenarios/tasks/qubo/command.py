# SPDX-License-Identifier: Apache-2.0
"""`rig qubo`: the table of targets, made, verified and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from rig.console import Terminal
from rig.errors import ConfigError
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.campaign import Job, Journal, campaign, engine
from scenarios.tasks.qubo.targets import GRID, Target, Targets

_OUT = Terminal()


@click.group()
def qubo() -> None:
    """Maximum independent sets as QUBO: the targets that results are compared with."""


@qubo.command()
@click.option("--table", "path", type=click.Path(path_type=Path), default=table.SHIPPED, help="Another table than the shipped one.")
@click.option("--verify", is_flag=True, help="Only evaluate every stored vector on its regenerated graph.")
@click.option("--nodes", "sizes", type=click.IntRange(1), multiple=True, help="Only workloads of this size; may be repeated.")
@click.option("--search", "search_s", default=5.0, show_default=True, help="Seconds of local search a workload; 0: none.")
@click.option("--kamis", "kamis_s", default=0.0, help="Seconds of KaMIS a workload as well.")
@click.option("--prove", "prove_s", default=0.0, help="Seconds to try a proof a workload.")
@click.option("--seed", default=1, show_default=True, help="Seed of the search.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; one a core unless told.")
@click.option("--dask", default="", metavar="ADDRESS", help="Run on a Dask cluster instead: tcp://HOST:8786.")
def targets(
    path: Path,
    verify: bool,
    sizes: tuple[int, ...],
    search_s: float,
    kamis_s: float,
    prove_s: float,
    seed: int,
    jobs: int | None,
    dask: str,
) -> int:
    """Look for better solutions of the published workloads and keep them; stopped and called again, it goes on."""
    unknown = set(sizes) - set(table.NODES)
    if unknown:
        cause = f"the published grid has no workload of {min(unknown)} nodes"
        raise ConfigError(cause, path="--nodes", try_next=f"one of {', '.join(map(str, table.NODES))}")
    if verify:
        return _verify(table.read(path), sizes)
    old = table.read(path) if path.exists() else Targets(0, {})
    known = old.rows
    wanted = [workload for workload in GRID if not sizes or workload.nodes in sizes]
    times = (search_s, kamis_s, prove_s, seed)
    todo = [Job(workload, *times, known.get(workload)) for workload in wanted if not _is_proven(known.get(workload))]
    journal = Path(f"{path}.partial")
    found = []
    with engine(jobs, dask) as pool:
        for job, target in campaign(todo, Journal(journal), pool):
            found.append(target)
            _OUT.print(f"{len(found):>4} of {len(todo)}  {job.workload}: {_news(target, known.get(job.workload))}", highlight=False)
    new = old.improved(found)
    if new is not old:
        table.write(new, path)
    journal.unlink(missing_ok=True)
    _OUT.print(f"{path}: version {new.version}{'' if new is not old else ', nothing better was found'}", soft_wrap=True)
    return 0


def _is_proven(target: Target | None) -> bool:
    return target is not None and target.proven


def _news(new: Target, old: Target | None) -> str:
    before = "" if old is None else " target beaten" if new.cost < old.cost else " as before"
    return f"{new.cost}{before}{', proven' if new.proven else ''}"


def _verify(read: Targets, sizes: Iterable[int]) -> int:
    rows = [target for target in read.rows.values() if not sizes or target.nodes in set(sizes)]
    counts: Counter[str] = Counter()
    for target in rows:
        finding = target.check()
        counts["right" if finding.ok else "wrong"] += 1
        counts["proven"] += target.proven
        counts["better"] += target.published is not None and target.cost < target.published
        if not finding.ok:
            _OUT.print(f"[red]wrong[/] {finding.name}: {finding.detail}", soft_wrap=True)
    missing = 0 if sizes else len(set(GRID) - {target.workload for target in rows})
    _OUT.print(
        f"targets version {read.version}: {counts['right']} of {len(rows)} vectors cost what the table says; "
        f"{counts['better']} beat the published cost, {counts['proven']} proven (proofs are not repeated here)"
        + (f"; {missing} workloads of the published grid are missing" if missing else ""),
        soft_wrap=True,
    )
    return 1 if counts["wrong"] or missing else 0
