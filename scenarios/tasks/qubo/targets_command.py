# SPDX-License-Identifier: Apache-2.0
"""`rig qubo targets`: verifies and shows the tables of targets, and improves them by
local search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import click

from rig.cli.options import FiniteRange, refuse_idle
from rig.cli.printed.terminal import Terminal, escape, say
from rig.errors import ConfigError, DataError
from scenarios.tasks.qubo import official as officials_of
from scenarios.tasks.qubo import overview
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.command_parts import (
    official_option,
    officials_in,
    table_option,
)
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.improve import improvements
from scenarios.tasks.qubo.official import Official, Officials
from scenarios.tasks.qubo.targets import GRID, Target, Targets

#: More seeds than this are taken for a typing error.
SEEDS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Selection:
    """Workloads named on the command line; an empty part selects every value of it."""

    sizes: tuple[int, ...]
    densities: tuple[float, ...]
    seeds: tuple[int, ...]

    def __contains__(self, workload: Workload) -> bool:
        in_sizes = not self.sizes or workload.nodes in self.sizes
        in_densities = not self.densities or workload.density in self.densities
        in_seeds = not self.seeds or workload.seed in self.seeds
        return in_sizes and in_densities and in_seeds

    @property
    def everything(self) -> bool:
        """Whether no workload is left out."""
        return not (self.sizes or self.densities or self.seeds)

    def workloads(self) -> list[Workload]:
        """List the workloads; parts that are not named are those of the published
        grid."""
        sizes = self.sizes or table.NODES
        densities = self.densities or table.DENSITIES
        cells = product(sizes, densities, self.seeds or table.SEEDS)
        return [Workload(*cell) for cell in cells]


def solver_seeds(text: str) -> tuple[int, ...]:
    """Parse a list of seeds such as "1,5-9"."""
    seeds: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise _seeds_error(f"{text!r} is no list of seeds")
        first = int(low)
        last = int(high or low)
        if not first <= last < 2**32:
            raise _seeds_error(f"{text!r} is no list of seeds")
        seeds += range(first, min(last, first + SEEDS_MAX) + 1)
        if len(seeds) > SEEDS_MAX:
            raise _seeds_error(f"{text!r}: over {SEEDS_MAX} seeds", "several calls")
    if len(set(seeds)) < len(seeds):
        raise _seeds_error(f"{text!r} names one twice")
    return tuple(seeds)


def _seeds_error(
    cause: str, try_next: str = "numbers and ranges, as 1,5-9"
) -> ConfigError:
    return ConfigError(cause, path="--solver-seeds", try_next=try_next)


@click.command()
@table_option("--table")
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
@official_option
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
    type=FiniteRange(0),
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
    type=FiniteRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds of local search, from each seed.",
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
def targets(
    path: Path,
    verify: bool,
    show: bool,
    official: Path | None,
    sizes: tuple[int, ...],
    densities: tuple[float, ...],
    problems: tuple[int, ...],
    search_s: float,
    solver_seeds: tuple[int, ...],
) -> int:
    """Look for better solutions of workloads by local search, and keep them at once.

    The shipped table has the published workloads. A table of your own may have any:
    official seeds, other sizes and densities.
    """
    selection = Selection(sizes, densities, problems)
    if show:
        refuse_idle("beside --show", "verify", "search_s", "solver_seeds")
        return _show(path, selection, official)
    if verify:
        refuse_idle("beside --verify", "search_s", "solver_seeds")
        if official is None:
            return _verify(path, selection)
        refuse_idle("beside --verify --official", "path")
        return _verify_official(officials_of.read(official), selection)
    if official is not None:
        raise ConfigError(
            f"{official} has no part in a local search",
            path="--official",
            try_next="--show and --verify look at official costs",
        )
    return _search(path, selection, search_s, solver_seeds)


def _show(path: Path, selection: Selection, official: Path | None) -> int:
    every = table.read(path)
    rows = {key: row for key, row in every.rows.items() if key in selection}
    if not rows:
        raise DataError(
            "the table has no such workload",
            try_next="rig qubo targets --show lists all",
        )
    text = overview.markdown(replace(every, rows=rows), officials_in(official))
    Terminal().print(text, end="", highlight=False, markup=False, soft_wrap=True)
    return 0


def _search(
    path: Path, selection: Selection, search_s: float, seeds: Sequence[int]
) -> int:
    """Search workloads that are not proven, and write each better row at once: a
    stopped command loses only the search under way, from one seed.
    """
    workloads = selection.workloads()
    _refuse_unpublished(path, workloads)
    file = _TargetFile(path)
    # A table of a user's own is never worse than the shipped one.
    known = {**table.read().rows, **file.targets.rows}
    for number, workload in enumerate(workloads, start=1):
        before = known.get(workload)
        if before is not None:
            file.improve(before)
            if before.proven:
                continue
        for target in improvements(workload, search_s, seeds, before):
            file.improve(target)
        news = _news(file.targets.rows[workload], before)
        say(Terminal(), f"{number:>4} of {len(workloads)}  {workload}: {news}")
    unchanged = "" if file.is_changed else ", nothing better was found"
    version = file.targets.version
    say(Terminal(), f"{escape(str(path))}: version {version}{unchanged}")
    return 0


class _TargetFile:
    """A table of targets and its file, which has each better row at once. A command
    makes one version, however many rows it improves.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.targets = table.read(path) if path.exists() else Targets(0, {})
        self._next = self.targets.version + 1

    @property
    def is_changed(self) -> bool:
        """Whether a row was improved."""
        return self.targets.version == self._next

    def improve(self, target: Target) -> None:
        """Write a row where it is better than the present one."""
        improved = self.targets.improved([target])
        if improved is not self.targets:
            self.targets = replace(improved, version=self._next)
            table.write(self.targets, self._path)


def _refuse_unpublished(path: Path, workloads: Sequence[Workload]) -> None:
    """Raise ConfigError where a workload of another than the published grid would go
    into the shipped table.
    """
    if path.resolve() != table.SHIPPED.resolve():
        return
    unpublished = [workload for workload in workloads if workload not in GRID]
    if not unpublished:
        return
    first = unpublished[0]
    what = f"{first}"
    option = "--density, --problem-seed"
    if first.nodes not in table.NODES:
        what = f"{first.nodes} nodes"
        option = "--nodes"
    sizes = ", ".join(map(str, table.NODES))
    raise ConfigError(
        f"the published grid has no workload of {what}",
        path=option,
        try_next=(
            f"one of {sizes} nodes; or a table of your own, which may have any:"
            " --table FILE"
        ),
    )


def _verify_official(officials: Officials, selection: Selection) -> int:
    rows = [row for row in officials.rows.values() if row.workload in selection]
    made = [row for row in rows if row.made is not None]
    right = _count_right(made)
    say(
        Terminal(),
        f"official targets: {right} of {len(made)} vectors cost what the table"
        f" says; {len(rows) - len(made)} are costs without vectors, not verified",
    )
    return 0 if right == len(made) else 1


def _count_right(rows: Sequence[Target | Official]) -> int:
    """Check the vectors of a table, print the wrong ones, and count the others."""
    findings = [row.check() for row in rows]
    for finding in findings:
        if not finding.ok:
            detail = escape(f"{finding.name}: {finding.detail}")
            say(Terminal(), f"[red]wrong[/] {detail}")
    return sum(finding.ok for finding in findings)


def _news(new: Target, old: Target | None) -> str:
    if old is None:
        return f"{new.cost}"
    return f"{new.cost}{' target beaten' if new.cost < old.cost else ' as before'}"


def _verify(path: Path, selection: Selection) -> int:
    _refuse_unpublished(path, selection.workloads())
    whole = selection.everything and path.resolve() == table.SHIPPED.resolve()
    every = table.read(path)
    rows = [row for key, row in every.rows.items() if key in selection]
    right = _count_right(rows)
    better = sum(row.beats_published for row in rows)
    proven = sum(row.proven for row in rows)
    missing = len(set(GRID) - every.rows.keys()) if whole else 0
    gaps = f"; {missing} workloads of the published grid are missing" if missing else ""
    say(
        Terminal(),
        f"targets version {every.version}: {right} of {len(rows)} vectors"
        f" cost what the table says; {better} beat the published cost, {proven} proven"
        f" (proofs are not repeated here){gaps}",
    )
    return 1 if right < len(rows) or missing or not rows else 0
