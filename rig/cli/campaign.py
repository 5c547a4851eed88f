# SPDX-License-Identifier: Apache-2.0
"""`rig campaign`: a grid of benches, models, settings and repetitions as sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import FILE, refuse_idle, to_write

_OF_RUNS = ("jobs", "scheduler")


@click.command(cls=LateCommand, modules=["rig.cli.run_campaign"])
@click.argument("path", metavar="GRID.toml", type=FILE)
@click.option(
    "--to",
    type=FILE,
    metavar="FOLDER",
    help="Where the sessions are kept [default: sessions/GRID].",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Sessions at a time; a board or instrument has one.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    default="",
    help="Run them on the workers of this Dask scheduler.",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Refuse a grid of more cells.",
)
@click.option("--status", is_flag=True, help="Run none; show how the cells stand.")
@click.option(
    "--table", is_flag=True, help="Run none; show the results by the grid's axes."
)
@click.option(
    "--csv",
    "csv_file",
    type=FILE,
    metavar="FILE",
    callback=to_write,
    help="Write that table, too.",
)
def campaign(
    path: Path, to: Path | None, status: bool, table: bool, **words: Any
) -> int:
    """Run each cell of a grid as a session: benches, models, settings, repetitions.

    Cells that are done are not run again, and one that was cut off is resumed: after
    any end the same command goes on. All cells run in random order, fixed by the grid's
    seed. rig docs CAMPAIGN explains GRID.toml.

    The exit code is 1 if a cell is not done, or a verdict is FAIL or INVALID, and 4 if
    one is NOT TESTED.
    """
    from rig.cli import run_campaign

    root = to or Path("sessions") / path.stem
    call = run_campaign.CampaignCall(path=path, root=root, **words)
    if status or table:
        refuse_idle("beside --status and --table", *_OF_RUNS)
        return run_campaign.show(call, status=status, as_table=table)
    if call.scheduler:
        refuse_idle("beside --scheduler", "jobs")
    return run_campaign.run(call)
