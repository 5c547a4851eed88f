# SPDX-License-Identifier: Apache-2.0
"""`rig qubo inspect` and `rig qubo search`: the content of a problem's file, and the
best vector that the firmware's search finds on this computer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from rig.cli import exit_codes
from rig.cli.options import FiniteNumber, FiniteRange, to_write
from rig.cli.printed.terminal import Terminal, escape, say
from rig.store import session_folder
from rig.units import plural
from scenarios.tasks.qubo import problem_file, problem_wire, reference
from scenarios.tasks.qubo.command_parts import FILE
from scenarios.tasks.qubo.problem import CUT, KINDS, QuadraticProblem
from scenarios.tasks.qubo.problem_file import FORMATS, ProblemFile, ReadingOptions
from scenarios.tasks.qubo.reference import COST_MIN, FoundVector, Solver
from scenarios.tasks.qubo.targets_command import solver_seeds

SCHEMA = "neurorig-vector-1"


def reading_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of reading a file; the command gets them as `options`."""

    @click.option("--kind", type=click.Choice(KINDS), help="What is searched for.")
    @click.option("--format", "form", type=click.Choice(list(FORMATS)))
    @click.option(
        "--sense", type=click.Choice(["min", "max"]), help="Of a qubo; min by default."
    )
    @click.option(
        "--complement", is_flag=True, help="The pairs that are no edges are the edges."
    )
    @functools.wraps(command)
    def with_options(
        kind: str | None,
        form: str | None,
        sense: str | None,
        complement: bool,
        **rest: Any,
    ) -> int:
        options = ReadingOptions(
            kind=kind or "",
            format=form or "",
            sense=sense or "",
            complement=complement,
        )
        return command(options=options, **rest)

    return with_options


@click.command()
@click.argument("file", type=FILE)
@reading_options
def inspect(file: Path, options: ReadingOptions) -> int:
    """Print the form of a file of a problem, its oddities, and the memory that a
    device needs.
    """
    problem_read = problem_file.read(file, options)
    _print_file(file, problem_read)
    wire = problem_wire.encode(problem_read.problem)
    say(
        Terminal(),
        f"a device needs {reference.memory_b(wire)} bytes of memory for it"
        f" (NR_QUBO_MEMORY_B), and {len(wire)} in a slot (NR_QUBO_SLOT_B)",
    )
    return 0


@click.command()
@click.argument("file", type=FILE)
@reading_options
@click.option(
    "--seconds",
    type=FiniteRange(0, 86_400, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds of search, from each seed.",
)
@click.option(
    "--solver-seeds",
    "seeds",
    callback=lambda _context, _option, text: solver_seeds(text),
    default="1",
    show_default=True,
    metavar="LIST",
    help="Seeds of the search, as 1,5-9.",
)
@click.option("--target", type=FiniteNumber(), help="Stop a search at this value.")
@click.option(
    "--out", type=FILE, callback=to_write, help="Keep the best vector, as JSON."
)
def search(
    file: Path,
    options: ReadingOptions,
    seconds: float,
    seeds: Sequence[int],
    target: float | None,
    out: Path | None,
) -> int:
    """Search a problem on one core of this computer by the firmware's own search, and
    print the value of the best vector, evaluated again.

    The exit code is 1 if no search reaches the target.
    """
    problem_read = problem_file.read(file, options)
    problem = problem_read.problem
    _print_file(file, problem_read)
    aim = COST_MIN if target is None else problem.cost_of(target, "--target")
    solver = Solver(problem_wire.encode(problem))
    best: FoundVector | None = None
    for seed in seeds:
        solver.start(seed)
        latest = solver.search(seconds, aim)
        value = problem.value(problem.cost(latest.vector))
        say(
            Terminal(),
            f"seed {seed}: {problem.measure} {value:.10g}",
        )
        if best is None or latest.cost < best.cost:
            best = latest
            if out is not None:
                content = _content(
                    problem_read, best, f"search of {seconds:g} s, seed {seed}"
                )
                session_folder.write_text(out, session_folder.json_text(content))
    if target is None:
        return 0
    is_reached = best is not None and best.cost <= aim
    verdict = "reached" if is_reached else "not reached"
    say(Terminal(), f"target {problem.measure} {target:.10g}: {verdict}")
    return 0 if is_reached else exit_codes.FAIL


def _print_file(file: Path, problem_read: ProblemFile) -> None:
    problem = problem_read.problem
    say(
        Terminal(),
        f"{escape(file.name)}: {problem_read.format}, {problem.kind} of"
        f" {plural(problem.nodes, 'node')} and {plural(problem.edges, 'edge')},"
        f" {_weights(problem)}",
    )
    for note in problem_read.notes:
        say(Terminal(), f"  {escape(note)}")


def _weights(problem: QuadraticProblem) -> str:
    """Describe the weights, and the way back to the file's numbers."""
    if not problem.weighted:
        sizes = [1 / problem.scale]
        if problem.kind == CUT:
            signs = np.unique(np.sign(problem.quadratic))[::-1]
            sizes = [sign / problem.scale for sign in signs.tolist()]
        listed = " and ".join(f"{size:g}" for size in sizes)
        return f"weights {listed}" if listed else "no weights"
    counted = f", counted in units of 1/{problem.scale}" if problem.scale > 1 else ""
    return f"weighted{counted}"


def _content(
    problem_read: ProblemFile, best: FoundVector, method: str
) -> dict[str, Any]:
    problem = problem_read.problem
    return {
        "schema": SCHEMA,
        "file_sha256": problem_read.sha256,
        "kind": problem.kind,
        problem.measure: problem.value(problem.cost(best.vector)),
        "method": method,
        "vector": "".join(map(str, best.vector.tolist())),
    }
