# SPDX-License-Identifier: Apache-2.0
"""The command that looks for better solutions, makes official costs, shows and verifies
both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import click

from rig.cli.options import refuse_idle
from rig.cli.printed.terminal import escape, say
from rig.errors import ConfigError, DataError
from scenarios.tasks.qubo import official as officials_of
from scenarios.tasks.qubo import overview, tabu
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.campaign import CampaignJournal, Job, campaign, engine
from scenarios.tasks.qubo.command_parts import FILE, OUT, officials_in
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.official import READS, RESTARTS, Officials
from scenarios.tasks.qubo.targets import GRID, Target, Targets

#: More seeds of a search are a slip of the hand.
SEEDS_MAX = 1000


def solver_seeds(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as "1,5-9"."""
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not (
            low.isdecimal()
            and (high.isdecimal() or not dash)
            and int(low) <= int(high or low) < 2**32
        ):
            raise ConfigError(
                f"{text!r} is no list of seeds",
                path="--solver-seeds",
                try_next="numbers and ranges, as 1,5-9",
            )
        found += range(int(low), min(int(high or low), int(low) + SEEDS_MAX) + 1)
        if len(found) > SEEDS_MAX:
            raise ConfigError(
                f"{text!r}: over {SEEDS_MAX} seeds",
                path="--solver-seeds",
                try_next="several calls",
            )
    if len(set(found)) < len(found):
        raise ConfigError(
            f"{text!r} names one twice",
            path="--solver-seeds",
            try_next="numbers and ranges, as 1,5-9",
        )
    return tuple(found)


@click.command()
@click.option(
    "--table",
    "path",
    type=FILE,
    default=table.SHIPPED,
    help="Another table than the shipped one.",
)
@click.option(
    "--verify",
    is_flag=True,
    help=(
        "Only evaluate every stored vector on its regenerated graph; with --official:"
        " of that file."
    ),
)
@click.option(
    "--show",
    is_flag=True,
    help="Only print the table: official, best known, proven, cell by cell.",
)
@click.option(
    "--official",
    type=FILE,
    help="File of official costs, in NeuroBench's form; the published ones by default.",
)
@click.option(
    "--method",
    type=click.Choice(["local-search", "dwave-tabu"]),
    default="local-search",
    help=(
        "What to make: best known vectors, or the official costs that --official FILE"
        " lacks (below 50 nodes by proof)."
    ),
)
@click.option(
    "--reads",
    type=click.IntRange(1),
    default=READS,
    show_default=True,
    help="Reads of dwave-tabu.",
)
@click.option(
    "--restarts",
    type=click.IntRange(0),
    default=RESTARTS,
    show_default=True,
    help="Restarts of a read of dwave-tabu.",
)
@click.option(
    "--nodes",
    "sizes",
    type=click.IntRange(1),
    multiple=True,
    help="Only workloads of this size; may be repeated.",
)
@click.option(
    "--density",
    "densities",
    type=click.FloatRange(0),
    multiple=True,
    help="Only of this density (0.05); may be repeated.",
)
@click.option(
    "--problem-seed",
    "problems",
    type=int,
    multiple=True,
    help="Only of this seed; may be repeated.",
)
@click.option(
    "--search",
    "search_s",
    default=5.0,
    show_default=True,
    help="Seconds of local search, from each seed; 0: none.",
)
@click.option(
    "--kamis", "kamis_s", default=0.0, help="Seconds of KaMIS as well, from each seed."
)
@click.option(
    "--prove", "prove_s", default=0.0, help="Seconds to try a proof a workload."
)
@click.option(
    "--solver-seeds",
    "solver_seeds",
    callback=lambda _context, _option, text: solver_seeds(text),
    default="1",
    show_default=True,
    metavar="LIST",
    help=(
        "Seeds of the search, as 1,5-9: each searches again; the one that found a"
        " vector is in its method."
    ),
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes; one a core by default."
)
@click.option(
    "--dask",
    default="",
    metavar="ADDRESS",
    help="Run on a Dask cluster instead: tcp://HOST:8786.",
)
def targets(
    path: Path,
    verify: bool,
    show: bool,
    official: Path | None,
    method: str,
    reads: int,
    restarts: int,
    sizes: tuple[int, ...],
    densities: tuple[float, ...],
    problems: tuple[int, ...],
    search_s: float,
    kamis_s: float,
    prove_s: float,
    solver_seeds: tuple[int, ...],
    jobs: int | None,
    dask: str,
) -> int:
    """Look for better solutions of workloads and keep them, or make official costs;
    stopped and called again, it goes on.

    The shipped table has the published workloads. A table of your own may have any:
    official seeds, other sizes and densities.
    """
    searching = ("search_s", "kamis_s", "prove_s")
    if show or verify:
        beside = "beside --show" if show else "beside --verify"
        refuse_idle(
            beside,
            "method",
            "reads",
            "restarts",
            "solver_seeds",
            "jobs",
            "dask",
            *searching,
        )
        if show:
            refuse_idle(beside, "verify")
        elif official is not None:
            refuse_idle("beside --verify --official", "path")
    elif method == "dwave-tabu":
        refuse_idle("with --method dwave-tabu", "path", *searching)
    else:
        refuse_idle("without --method dwave-tabu", "reads", "restarts")
    if dask:
        refuse_idle("beside --dask", "jobs")
    if method == "dwave-tabu" and not (show or verify):
        return _make_official(
            official,
            _workloads(sizes, densities, problems),
            (reads, restarts, solver_seeds),
            jobs,
            dask,
        )
    if show:
        OUT.print(
            overview.markdown(
                _of(table.read(path), (sizes, densities, problems)),
                officials_in(official),
            ),
            end="",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return 0
    if verify and official is not None:
        return _verify_official(
            officials_of.read(official), (sizes, densities, problems)
        )
    wanted = _wanted(path, sizes, densities, problems)
    if verify:
        whole = (
            not (sizes or densities or problems)
            and path.resolve() == table.SHIPPED.resolve()
        )
        return _verify(
            table.read(path),
            partial(_is_of, (sizes, densities, problems)),
            GRID if whole else (),
        )
    if official is not None:
        how = (
            "--method dwave-tabu makes official costs, --show and --verify look at them"
        )
        raise ConfigError(
            f"{official} has no part in a local search", path="--official", try_next=how
        )
    return _search(path, wanted, (search_s, kamis_s, prove_s, solver_seeds), jobs, dask)


def _search(
    path: Path,
    wanted: Sequence[Workload],
    times: tuple[float, float, float, tuple[int, ...]],
    jobs: int | None,
    dask: str,
) -> int:
    """Look for better solutions of workloads, and keep those that are; `times` are
    those of a search, of KaMIS and of a proof, and the seeds of the solver.
    """
    old = table.read(path) if path.exists() else Targets(0, {})
    # What the shipped table knows is to be beaten, also where the table is another.
    known = {**table.read().rows, **old.rows}
    todo = [
        Job(workload, *times, known.get(workload))
        for workload in wanted
        if not _is_proven(known.get(workload))
    ]
    journal = Path(f"{path}.partial")
    found = [
        known[workload]
        for workload in wanted
        if workload in known and workload not in old.rows
    ]
    done = 0
    with engine(jobs, dask) as pool:
        for job, target in campaign(todo, CampaignJournal(journal), pool):
            found.append(target)
            done += 1
            say(
                OUT,
                f"{done:>4} of {len(todo)}  {job.workload}: "
                f"{_news(target, known.get(job.workload))}",
            )
    new = old.improved(found)
    if new is not old:
        table.write(new, path)
    journal.unlink(missing_ok=True)
    say(
        OUT,
        f"{escape(str(path))}: version "
        f"{new.version}{'' if new is not old else ', nothing better was found'}",
    )
    return 0


def _wanted(
    path: Path,
    sizes: Sequence[int],
    densities: Sequence[float],
    problems: Sequence[int],
) -> list[Workload]:
    wanted = _workloads(sizes, densities, problems)
    unknown = [workload for workload in wanted if workload not in GRID]
    if unknown and path.resolve() == table.SHIPPED.resolve():
        first = unknown[0]
        size = (
            f"the published grid has no workload of {first.nodes} nodes"
            if first.nodes not in table.NODES
            else ""
        )
        raise ConfigError(
            size or f"the published grid has no workload of {first}",
            path="--nodes" if size else "--density, --problem-seed",
            try_next=(
                f"one of {', '.join(map(str, table.NODES))} nodes; or a table of your"
                " own, which may have any: --table FILE"
            ),
        )
    return wanted


def _workloads(
    sizes: Sequence[int], densities: Sequence[float], problems: Sequence[int]
) -> list[Workload]:
    cells = product(
        sizes or table.NODES, densities or table.DENSITIES, problems or table.SEEDS
    )
    return [Workload(*cell) for cell in cells]


def _make_official(
    path: Path | None,
    wanted: Sequence[Workload],
    how: tuple[int, int, Sequence[int]],
    jobs: int | None,
    dask: str,
) -> int:
    """Make the official costs that a file lacks, each kept when it is done; stopped and
    called again, it goes on.
    """
    if path is None:
        raise ConfigError(
            "no file for the official costs",
            path="--official",
            try_next="--official my-official.csv",
        )
    reads, restarts, seeds = how
    if len(seeds) > 1:
        raise ConfigError(
            "dwave-tabu takes one seed for all its reads",
            path="--solver-seeds",
            try_next="--reads has their number",
        )
    rows = dict(officials_of.read(path).rows) if path.exists() else {}
    todo = [workload for workload in wanted if workload not in rows]
    with engine(jobs, dask) as pool:
        waiting = [
            pool.submit(tabu.make, workload, reads, restarts, seeds[0])
            for workload in todo
        ]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                one = future.result()
                rows[one.workload] = one
                officials_of.write(rows.values(), path)
                source = one.made.source if one.made else ""
                say(
                    OUT,
                    f"{done:>4} of {len(todo)}  {one.workload}: {one.cost}, {source}",
                )
        finally:
            for future in waiting:
                future.cancel()
    say(
        OUT,
        f"{path}: {len(todo)} costs made, {len(rows)} in all; how:"
        f" {officials_of.side(path)}",
    )
    return 0


def _verify_official(officials: Officials, of: Sequence[Sequence[float]]) -> int:
    rows = [row for row in officials.rows.values() if _named(of, row.workload)]
    findings = [row.check() for row in rows if row.made is not None]
    for finding in findings:
        if not finding.ok:
            say(OUT, f"[red]wrong[/] {finding.name}: {finding.detail}")
    right = sum(finding.ok for finding in findings)
    say(
        OUT,
        f"official targets: {right} of {len(findings)} vectors cost what the table"
        f" says; {len(rows) - len(findings)} are costs without vectors, not verified",
    )
    return 0 if right == len(findings) else 1


def _named(filters: Sequence[Sequence[float]], workload: Workload) -> bool:
    """Return whether a workload is of the sizes, densities and seeds named; none named:
    of all."""
    parts = (workload.nodes, workload.density, workload.seed)
    return all(
        not named or part in named for named, part in zip(filters, parts, strict=True)
    )


def _of(read: Targets, filters: Sequence[Sequence[float]]) -> Targets:
    """Return the rows of the workloads that are named; raise DataError where there are
    none."""
    rows = {each: row for each, row in read.rows.items() if _named(filters, each)}
    if not rows:
        raise DataError(
            "the table has no such workload",
            try_next="rig qubo targets --show lists all",
        )
    return replace(read, rows=rows)


def _is_of(filters: Sequence[Sequence[float]], target: Target) -> bool:
    return _named(filters, target.workload)


def _is_proven(target: Target | None) -> bool:
    return target is not None and target.proven


def _news(new: Target, old: Target | None) -> str:
    before = (
        "" if old is None else " target beaten" if new.cost < old.cost else " as before"
    )
    return f"{new.cost}{before}{', proven' if new.proven else ''}"


def _verify(
    read: Targets, wanted: Callable[[Target], bool], due: Sequence[Workload]
) -> int:
    rows = [target for target in read.rows.values() if wanted(target)]
    wrong = 0
    for target in rows:
        finding = target.check()
        wrong += not finding.ok
        if not finding.ok:
            say(OUT, f"[red]wrong[/] {escape(f'{finding.name}: {finding.detail}')}")
    proven = sum(target.proven for target in rows)
    better = sum(
        target.published is not None and target.cost < target.published
        for target in rows
    )
    missing = len(set(due) - {target.workload for target in rows})
    say(
        OUT,
        f"targets version {read.version}: {len(rows) - wrong} of {len(rows)} vectors"
        f" cost what the table says; {better} beat the published cost, {proven} proven"
        " (proofs are not repeated here)"
        + (
            f"; {missing} workloads of the published grid are missing"
            if missing
            else ""
        ),
    )
    return 1 if wrong or missing or not rows else 0
