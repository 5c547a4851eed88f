# SPDX-License-Identifier: Apache-2.0
"""`rig run`: all trials of a bench file."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import (
    PrintedForm,
    bench_argument,
    explain_option,
    json_option,
    refuse_idle,
    sessions_option,
    set_option,
    wide_option,
)


@click.command(cls=LateCommand, modules=["rig.cli.run_bench"])
@bench_argument
@set_option
@click.option(
    "--trials",
    type=click.IntRange(1),
    help="Number of trials, instead of the bench file's.",
)
@sessions_option
@wide_option
@json_option
@explain_option
@click.option(
    "--witness",
    is_flag=True,
    help=(
        "Print the session's first hash before the first trial, and add it to"
        " witness.txt beside the sessions."
    ),
)
def run(
    bench: Path,
    overrides: tuple[str, ...],
    trials: int | None,
    sessions: Path,
    wide: bool,
    as_json: bool,
    explain: bool,
    witness: bool,
) -> int:
    """Run all trials of a bench file; print the verdict and the results."""
    from rig.cli.run_bench import run_bench

    if as_json:
        refuse_idle("beside --json", "wide")
    form = PrintedForm(wide=wide, as_json=as_json, explain=explain)
    return run_bench(bench, overrides, trials, sessions, form, witness=witness)
