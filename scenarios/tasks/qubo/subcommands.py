# SPDX-License-Identifier: Apache-2.0
"""The commands of `rig qubo`: the table of targets, made, verified and shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from functools import partial
from itertools import product
from pathlib import Path

import click
from rich.markup import escape

from rig.cli.terminal import Terminal
from rig.errors import ConfigError, DataError
from rig.store import session_folder
from rig.store.session_folder import SessionFolder
from scenarios.tasks.qubo import largest as sizes_of
from scenarios.tasks.qubo import official as officials_of
from scenarios.tasks.qubo import overview, tabu
from scenarios.tasks.qubo import rescore as scores
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.campaign import CampaignJournal, Job, campaign, engine
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.official import READS, RESTARTS, Officials
from scenarios.tasks.qubo.targets import GRID, Target, Targets

_OUT = Terminal()
#: More seeds of a search are a slip of the hand.
SEEDS_MAX = 1000
_path = click.Path(path_type=Path)


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
                f"{text!r}: over {SEEDS_MAX} seeds", path="--solver-seeds", try_next="several calls"
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
    "--table", "path", type=_path, default=table.SHIPPED, help="Another table than the shipped one."
)
@click.option(
    "--verify",
    is_flag=True,
    help="Only evaluate every stored vector on its regenerated graph; with --official: of that "
    "file.",
)
@click.option(
    "--show", is_flag=True, help="Only print the table: official, best known, proven, cell by cell."
)
@click.option(
    "--official",
    type=_path,
    help="File of official costs, in NeuroBench's form; the published ones by default.",
)
@click.option(
    "--method",
    type=click.Choice(["local-search", "dwave-tabu"]),
    default="local-search",
    help="What to make: best known vectors, or the official costs that --official FILE lacks "
    "(below 50 nodes by proof).",
)
@click.option(
    "--reads", type=click.IntRange(1), default=READS, show_default=True, help="Reads of dwave-tabu."
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
@click.option("--kamis", "kamis_s", default=0.0, help="Seconds of KaMIS as well, from each seed.")
@click.option("--prove", "prove_s", default=0.0, help="Seconds to try a proof a workload.")
@click.option(
    "--solver-seeds",
    "solver_seeds",
    callback=lambda _context, _option, text: solver_seeds(text),
    default="1",
    show_default=True,
    metavar="LIST",
    help="Seeds of the search, as 1,5-9: each searches again; the one that found a vector is in "
    "its method.",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes; one a core by default.")
@click.option(
    "--dask", default="", metavar="ADDRESS", help="Run on a Dask cluster instead: tcp://HOST:8786."
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
    """Look for better solutions of workloads and keep them, or make official costs; stopped and
    called again, it goes on.

    The shipped table has the published workloads. A table of your own may have any: official seeds,
    other sizes and densities.
    """
    if method == "dwave-tabu" and not (show or verify):
        return _make_official(
            official,
            _workloads(sizes, densities, problems),
            (reads, restarts, solver_seeds),
            jobs,
            dask,
        )
    if show:
        _OUT.print(
            overview.markdown(table.read(path), _officials(official)),
            end="",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return 0
    if verify and official is not None:
        return _verify_official(officials_of.read(official), (sizes, densities, problems))
    wanted = _wanted(path, sizes, densities, problems)
    if verify:
        whole = not (sizes or densities or problems) and path.resolve() == table.SHIPPED.resolve()
        return _verify(
            table.read(path), partial(_is_of, (sizes, densities, problems)), GRID if whole else ()
        )
    if official is not None:
        how = "--method dwave-tabu makes official costs, --show and --verify look at them"
        raise ConfigError(
            f"{official} has no part in a local search", path="--official", try_next=how
        )
    old = table.read(path) if path.exists() else Targets(0, {})
    # What the shipped table knows is to be beaten, also where the table is another.
    known = {**table.read().rows, **old.rows}
    times = (search_s, kamis_s, prove_s, solver_seeds)
    todo = [
        Job(workload, *times, known.get(workload))
        for workload in wanted
        if not _is_proven(known.get(workload))
    ]
    journal = Path(f"{path}.partial")
    found = [
        known[workload] for workload in wanted if workload in known and workload not in old.rows
    ]
    done = 0
    with engine(jobs, dask) as pool:
        for job, target in campaign(todo, CampaignJournal(journal), pool):
            found.append(target)
            done += 1
            _OUT.print(
                f"{done:>4} of {len(todo)}  {job.workload}: "
                f"{_news(target, known.get(job.workload))}",
                highlight=False,
            )
    new = old.improved(found)
    if new is not old:
        table.write(new, path)
    journal.unlink(missing_ok=True)
    _OUT.print(
        f"{escape(str(path))}: version "
        f"{new.version}{'' if new is not old else ', nothing better was found'}",
        soft_wrap=True,
    )
    return 0


@click.command()
@click.argument("session", type=_path)
@click.option(
    "--targets",
    "path",
    type=_path,
    default=table.SHIPPED,
    help="Another table than the shipped one.",
)
@click.option(
    "--official",
    type=_path,
    help="File of official costs, in NeuroBench's form; the published ones by default.",
)
@click.option(
    "--keep",
    type=_path,
    metavar="TABLE",
    help="Keep what beats its target: a table of your own, made where there is none.",
)
def rescore(session: Path, path: Path, official: Path | None, keep: Path | None) -> int:
    """Evaluate every stored vector of a session again, against the present targets; raw files stay
    as they are.
    """
    known = table.read(path)
    officials = _officials(official)
    folder = SessionFolder(session)
    folder.refuse_other()
    try:
        vectors = list(scores.rescored(session, known, officials))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(
            f"a file of {session} was damaged",
            evidence=repr(error),
            try_next=f"rig check {session}",
        ) from error
    content = scores.content(vectors, known, path, officials)
    session_folder.write_text(session / scores.RESCORED, session_folder.json_text(content))
    folder.record_derived(scores.RESCORED)
    by_workload: dict[Workload, list[scores.Vector]] = {}
    for vector in vectors:
        by_workload.setdefault(vector.workload, []).append(vector)
    for workload, ones in by_workload.items():
        _OUT.print(_rescored(workload, ones), highlight=False, soft_wrap=True)
    for vector in vectors:
        if vector.fault or vector.stored not in (None, vector.cost):
            said = vector.fault or f"costs {vector.cost}, stored as {vector.stored}"
            _OUT.print(
                f"[red]{escape(vector.part)}, step {vector.step}[/]: {escape(said)}", soft_wrap=True
            )
    better = scores.kept(vectors, f"session {session.resolve().name}")
    _OUT.print(
        f"{len(vectors)} vectors against targets version {known.version}: "
        f"{escape(str(session / scores.RESCORED))}",
        soft_wrap=True,
    )
    if keep is not None:
        _keep(better, known, keep)
    elif better:
        _OUT.print(
            f"{len(better)} workloads have a better vector than any known: --keep TABLE makes them "
            "targets"
        )
    return 0


@click.command()
@click.argument("bench", type=_path)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=V",
    help="Override a key of the bench file; may be repeated.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, 1000, min_open=True),
    default=1.0,
    show_default=True,
    help="Seconds a search.",
)
@click.option(
    "--edges-max",
    type=click.IntRange(1),
    default=12_500_000,
    show_default=True,
    help="No graph with more edges is tried.",
)
@click.option("--out", type=_path, help="Where the evidence goes; largest-BENCH.json by default.")
def largest(
    bench: Path, overrides: tuple[str, ...], timeout_s: float, edges_max: int, out: Path | None
) -> int:
    """Find the largest workloads of 1 % and of 100 % density that a bench's device loads and solves
    better than cost 0.
    """
    if math.isnan(timeout_s):
        raise ConfigError("nan seconds", path="--timeout", try_next="above 0, to 1000")
    out = out or Path(f"largest-{bench.stem}.json")
    every: list[sizes_of.Try] = []
    found: dict[str, tuple[float, sizes_of.Largest]] = {}
    with sizes_of.Prober(bench, overrides, timeout_s) as prober:
        info = prober.info
        _OUT.print(
            f"{escape(info.name)}{', simulated' if info.simulated else ''}: sizes are doubled, "
            "then bisected",
            soft_wrap=True,
        )

        def tell(one: sizes_of.Try) -> None:
            every.append(one)
            said = f"cost {one.cost}" if one.good else f"{one.outcome}: {one.detail}"
            _OUT.print(
                f"  {one.nodes:>6} nodes {100 * one.density:>4g} % {one.edges:>9} edges  {said}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            # Kept at once: a search may be stopped.
            session_folder.write_text(
                out, session_folder.json_text(sizes_of.content(info, timeout_s, found, every))
            )

        for name, density in sizes_of.SERIES.items():
            found[name] = (density, sizes_of.series(prober, density, edges_max, tell))
    session_folder.write_text(
        out, session_folder.json_text(sizes_of.content(info, timeout_s, found, every))
    )
    for name, (density, one) in found.items():
        more = (
            ""
            if one.limit is None
            else f" or more: larger graphs have over {edges_max} edges (--edges-max)"
        )
        _OUT.print(f"{name} = {one.nodes} nodes at {100 * density:g} %{more}", highlight=False)
    _OUT.print(f"evidence: {escape(str(out))}", soft_wrap=True)
    return 0 if all(one.nodes for _, one in found.values()) else 1


def _wanted(
    path: Path, sizes: Sequence[int], densities: Sequence[float], problems: Sequence[int]
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
            try_next=f"one of {', '.join(map(str, table.NODES))} nodes; or a table of your own, "
            "which may have any: --table FILE",
        )
    return wanted


def _workloads(
    sizes: Sequence[int], densities: Sequence[float], problems: Sequence[int]
) -> list[Workload]:
    cells = product(sizes or table.NODES, densities or table.DENSITIES, problems or table.SEEDS)
    return [Workload(*cell) for cell in cells]


def _officials(path: Path | None) -> Officials:
    return officials_of.shipped(table.read()) if path is None else officials_of.read(path)


def _make_official(
    path: Path | None,
    wanted: Sequence[Workload],
    how: tuple[int, int, Sequence[int]],
    jobs: int | None,
    dask: str,
) -> int:
    """Make the official costs that a file lacks, each kept when it is done; stopped and called
    again, it goes on.
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
        waiting = [pool.submit(tabu.make, workload, reads, restarts, seeds[0]) for workload in todo]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                one = future.result()
                rows[one.workload] = one
                officials_of.write(rows.values(), path)
                source = one.made.source if one.made else ""
                _OUT.print(
                    f"{done:>4} of {len(todo)}  {one.workload}: {one.cost}, {source}",
                    highlight=False,
                    soft_wrap=True,
                )
        finally:
            for future in waiting:
                future.cancel()
    _OUT.print(
        f"{path}: {len(todo)} costs made, {len(rows)} in all; how: {officials_of.side(path)}",
        soft_wrap=True,
    )
    return 0


def _verify_official(officials: Officials, of: Sequence[Sequence[float]]) -> int:
    rows = [row for row in officials.rows.values() if _named(of, row.workload)]
    findings = [row.check() for row in rows if row.made is not None]
    for finding in findings:
        if not finding.ok:
            _OUT.print(f"[red]wrong[/] {finding.name}: {finding.detail}", soft_wrap=True)
    right = sum(finding.ok for finding in findings)
    _OUT.print(
        f"official targets: {right} of {len(findings)} vectors cost what the table says; "
        f"{len(rows) - len(findings)} are costs without vectors, not verified",
        soft_wrap=True,
    )
    return 0 if right == len(findings) else 1


def _named(filters: Sequence[Sequence[float]], workload: Workload) -> bool:
    """Return whether a workload is of the sizes, densities and seeds named; none named: of all."""
    parts = (workload.nodes, workload.density, workload.seed)
    return all(not named or part in named for named, part in zip(filters, parts, strict=True))


def _is_of(filters: Sequence[Sequence[float]], target: Target) -> bool:
    return _named(filters, target.workload)


def _is_proven(target: Target | None) -> bool:
    return target is not None and target.proven


def _news(new: Target, old: Target | None) -> str:
    before = "" if old is None else " target beaten" if new.cost < old.cost else " as before"
    return f"{new.cost}{before}{', proven' if new.proven else ''}"


def _keep(better: Sequence[Target], known: Targets, path: Path) -> None:
    old = table.read(path) if path.exists() else known
    new = old.improved(better)
    if new is old:
        _OUT.print(f"nothing beats its target: {escape(str(path))} stays as it is", soft_wrap=True)
        return
    table.write(new, path)
    _OUT.print(
        f"{escape(str(path))}: version {new.version}, {len(better)} better vectors kept as proof",
        soft_wrap=True,
    )


def _rescored(workload: Workload, ones: Sequence[scores.Vector]) -> str:
    costs = [vector.cost for vector in ones if vector.cost is not None]
    if not costs:
        return f"{workload}: {len(ones)} vectors, none of use"
    best = min(
        (vector for vector in ones if vector.cost is not None), key=lambda vector: vector.cost or 0
    )
    was, now = (_stands(best, pair) for pair in (best.before, best.after))
    beaten = (
        " [green]best known beaten[/]" if best.beats and best.after.best_known is not None else ""
    )
    return f"{workload}: {len(ones)} vectors, best {best.cost}; was {was}; now {now}{beaten}"


def _stands(vector: scores.Vector, pair: scores.Pair) -> str:
    """Return both targets with the gap of a vector to each."""
    named = (("official", pair.official), ("best known", pair.best_known))
    return ", ".join(
        f"no {name}" if cost is None else f"{name} {cost}, gap {_percent(vector.gap(cost))}"
        for name, cost in named
    )


def _percent(gap: float | None) -> str:
    return "undefined" if gap is None else f"{100 * gap:.2f} %"


def _verify(read: Targets, wanted: Callable[[Target], bool], due: Sequence[Workload]) -> int:
    rows = [target for target in read.rows.values() if wanted(target)]
    wrong = 0
    for target in rows:
        finding = target.check()
        wrong += not finding.ok
        if not finding.ok:
            _OUT.print(
                f"[red]wrong[/] {escape(f'{finding.name}: {finding.detail}')}", soft_wrap=True
            )
    proven = sum(target.proven for target in rows)
    better = sum(target.published is not None and target.cost < target.published for target in rows)
    missing = len(set(due) - {target.workload for target in rows})
    _OUT.print(
        f"targets version {read.version}: {len(rows) - wrong} of {len(rows)} vectors cost what the "
        "table says; "
        f"{better} beat the published cost, {proven} proven (proofs are not "
        "repeated here)"
        + (f"; {missing} workloads of the published grid are missing" if missing else ""),
        soft_wrap=True,
    )
    return 1 if wrong or missing or not rows else 0
