# SPDX-License-Identifier: Apache-2.0
"""The commands of `rig qubo`: the table of targets, made, verified and shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rig.cli.exit_codes import FAIL
from rig.cli.options import FiniteRange, to_write
from rig.cli.printed.labels import of_session, print_labels
from rig.cli.printed.terminal import Terminal, escape, say
from rig.results import changed
from rig.store import session_folder
from rig.store.event_file import write_derived
from rig.store.session_folder import SessionFolder
from scenarios.tasks.qubo import largest as sizes_of
from scenarios.tasks.qubo import rescore as scores
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.command_parts import (
    FILE,
    official_option,
    officials_in,
    table_option,
)
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.targets import Target, Targets


@click.command()
@click.argument("session", type=FILE)
@table_option("--targets")
@official_option
@click.option(
    "--keep",
    type=FILE,
    callback=to_write,
    metavar="TABLE",
    help="Keep what beats its target: a table of your own, made where there is none.",
)
def rescore(session: Path, path: Path, official: Path | None, keep: Path | None) -> int:
    """Evaluate every stored vector of a session again, against the present targets; raw
    files stay as they are.
    """
    known = table.read(path)
    officials = officials_in(official)
    folder = SessionFolder(session)
    folder.refuse_other()
    with session_folder.damage_named(session):
        vectors = list(scores.rescored(session, known, officials))
    content = scores.content(vectors, known, path, officials)
    write_derived(folder, scores.RESCORED, session_folder.json_text(content))
    marked = of_session(session)
    print_labels(Terminal(), marked)
    by_workload: dict[Workload, list[scores.Vector]] = {}
    for vector in vectors:
        by_workload.setdefault(vector.workload, []).append(vector)
    for workload, ones in by_workload.items():
        say(Terminal(), _rescored(workload, ones))
    for vector in vectors:
        if vector.fault or vector.stored not in (None, vector.cost):
            detail = vector.fault or f"costs {vector.cost}, stored as {vector.stored}"
            say(
                Terminal(),
                f"[red]{escape(vector.part)}, step {vector.step}[/]: {escape(detail)}",
            )
    better = scores.kept(vectors, f"session {session.resolve().name}")
    say(
        Terminal(),
        f"{len(vectors)} vectors against targets version {known.version}: "
        f"{escape(str(session / scores.RESCORED))}",
    )
    if keep is not None:
        _keep(better, known, keep)
    elif better:
        say(
            Terminal(),
            f"{len(better)} workloads have a better vector than any known: --keep TABLE"
            " makes them targets",
        )
    return FAIL if any(label.text == changed.CHANGED for label in marked) else 0


@click.command()
@click.argument("bench", type=FILE)
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
    type=FiniteRange(0, 1000, min_open=True),
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
@click.option(
    "--out",
    type=FILE,
    callback=to_write,
    help="Where the evidence goes; largest-BENCH.json by default.",
)
def largest(
    bench: Path,
    overrides: tuple[str, ...],
    timeout_s: float,
    edges_max: int,
    out: Path | None,
) -> int:
    """Find the largest workloads of 1 % and of 100 % density that a bench's device
    loads and solves better than cost 0.
    """
    out = out or Path(f"largest-{bench.stem}.json")
    every: list[sizes_of.Try] = []
    by_duration: dict[str, tuple[float, sizes_of.Largest]] = {}
    with sizes_of.Prober(bench, overrides, timeout_s) as prober:
        info = prober.info
        say(
            Terminal(),
            f"{escape(info.name)}{', simulated' if info.simulated else ''}: sizes are"
            " doubled, then bisected",
        )

        def keep() -> None:
            content = sizes_of.content(info, timeout_s, by_duration, every)
            session_folder.write_text(out, session_folder.json_text(content))

        def tell(one: sizes_of.Try) -> None:
            every.append(one)
            outcome = f"cost {one.cost}" if one.good else f"{one.outcome}: {one.detail}"
            Terminal().print(
                f"  {one.nodes:>6} nodes {100 * one.density:>4g} % {one.edges:>9} edges"
                f"  {outcome}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            # Kept at once: a search may be stopped.
            keep()

        for name, density in sizes_of.SERIES.items():
            by_duration[name] = (
                density,
                sizes_of.series(prober, density, edges_max, tell),
            )
    keep()
    for name, (density, one) in by_duration.items():
        more = (
            ""
            if one.limit is None
            else f" or more: larger graphs have over {edges_max} edges (--edges-max)"
        )
        say(Terminal(), f"{name} = {one.nodes} nodes at {100 * density:g} %{more}")
    say(Terminal(), f"evidence: {escape(str(out))}")
    return 0 if all(one.nodes for _, one in by_duration.values()) else 1


def _keep(better: Sequence[Target], known: Targets, path: Path) -> None:
    old = table.read(path) if path.exists() else known
    new = old.improved(better)
    if new is old:
        say(Terminal(), f"nothing beats its target: {escape(str(path))} stays as it is")
        return
    table.write(new, path)
    say(
        Terminal(),
        f"{escape(str(path))}: version {new.version}, {len(better)} better vectors kept"
        " as proof",
    )


def _rescored(workload: Workload, ones: Sequence[scores.Vector]) -> str:
    with_cost = [vector for vector in ones if vector.cost is not None]
    if not with_cost:
        return f"{workload}: {len(ones)} vectors, none of use"
    best = min(with_cost, key=lambda vector: vector.cost or 0)
    was, now = (_stands(best, pair) for pair in (best.before, best.after))
    beaten = (
        " [green]best known beaten[/]"
        if best.beats and best.after.best_known is not None
        else ""
    )
    return (
        f"{workload}: {len(ones)} vectors, best {best.cost}; was {was}; now"
        f" {now}{beaten}"
    )


def _stands(vector: scores.Vector, pair: scores.Pair) -> str:
    """Return both targets with the gap of a vector to each."""
    named = (("official", pair.official), ("best known", pair.best_known))
    texts = []
    for name, cost in named:
        if cost is None:
            texts.append(f"no {name}")
        else:
            texts.append(f"{name} {cost}, gap {_percent(vector.gap(cost))}")
    return ", ".join(texts)


def _percent(gap: float | None) -> str:
    return "undefined" if gap is None else f"{100 * gap:.2f} %"
