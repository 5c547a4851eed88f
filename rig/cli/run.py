# SPDX-License-Identifier: Apache-2.0
"""`rig run`: all trials of a bench file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rig.api.report import write_report
from rig.cli.main import FALSE
from rig.cli.options import bench_argument, sessions_option, set_option
from rig.cli.printed.progress import RunProgress
from rig.cli.printed.result_tables import print_results
from rig.cli.printed.terminal import Terminal, escape
from rig.session import session
from rig.store.session_folder import SessionFolder

_OUT = Terminal()


@click.command()
@bench_argument
@set_option
@click.option(
    "--trials", type=click.IntRange(1), help="Another number of trials than the bench file's."
)
@sessions_option
def run(bench: Path, overrides: tuple[str, ...], trials: int | None, sessions: Path) -> int:
    """Run all trials of a bench file; print the results and the verdict."""
    return run_bench(bench, overrides, trials, sessions)


def run_bench(bench: Path, overrides: Sequence[str], trials: int | None, sessions: Path) -> int:
    """Run all trials and print what came of them; return the exit code."""
    with session.open_bench(bench, overrides) as opened, RunProgress(_OUT) as progress:
        result = opened.run(trials, sessions, (progress,))
    return finish(result)


def finish(result: session.SessionResult) -> int:
    """Print the results, write the report, and return the exit code."""
    print_results(_OUT, result.results)
    # Its traces were hashed when they were closed, or when the session was resumed.
    path = write_report(result.folder, hashed=True, trials=result.trials)
    _OUT.print(f"report {escape(str(path))}", soft_wrap=True)
    _OUT.print(f"chain {SessionFolder(result.folder).journal().head}", soft_wrap=True)
    return 0 if result.ok else FALSE
