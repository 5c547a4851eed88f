# SPDX-License-Identifier: Apache-2.0
"""`rig probe`: test the bench step by step, name what is wrong and what to try."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click
from rich.markup import escape

from rig.bench.probe import probe as probe_bench
from rig.cli.options import bench_argument, set_option
from rig.cli.terminal import Terminal
from rig.errors import BenchError


@click.command()
@bench_argument
@set_option
def probe(bench: Path, overrides: tuple[str, ...]) -> int:
    """Power the device, talk to it, and say what is wrong and what to try."""
    out = Terminal()
    good = True
    # Closed also where printing fails: then the supply goes off.
    with closing(probe_bench(bench, overrides)) as rows:
        for row in rows:
            good = good and row.ok
            out.print(
                f"{'[green]ok[/]    ' if row.ok else '[red]failed[/]'} "
                f"{escape(f'{row.name}: {row.detail}')}",
                soft_wrap=True,
            )
            if row.try_next:
                out.print(f"       try: {escape(row.try_next)}", soft_wrap=True)
    return 0 if good else BenchError.exit_code
