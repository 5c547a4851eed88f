# SPDX-License-Identifier: Apache-2.0
"""`rig bundle`: one zip file with the information that remote support needs."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from rig.api.support import bundle as support
from rig.bench.scan import scan
from rig.cli.options import to_write
from rig.cli.printed.terminal import Terminal, escape, print_line, print_table
from rig.units import bytes_text


@click.command()
@click.argument(
    "session",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=False,
)
@click.option(
    "--bench",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A bench file.",
)
@click.option("--serials", is_flag=True, help="Keep the serial numbers of instruments.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=to_write,
    default=Path("neurorig-support.zip"),
    show_default=True,
    help="Where to write it.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="Say what it would hold; write nothing."
)
def bundle(
    session: Path | None, bench: Path | None, serials: bool, out: Path, only_list: bool
) -> None:
    """Write a support bundle: versions, bench file, what is attached, how a session
    went.

    Passwords, keys, home folders, names of users and computers are taken out, and
    serial numbers unless you keep them. No trace and no data are in it. Look before you
    send it.
    """
    console = Terminal()
    made = support.collect(session, bench, keep_serials=serials, scan=scan)
    written = None if only_list else made.write(out)
    size_b = sum(file.size_b for file in made.files)
    holds = f"{len(made.files)} files, {bytes_text(size_b)}"
    said = f"wrote {written}: {holds}; look before you send it"
    if written is None:
        said = f"nothing was written; it would hold {holds}"
    print_line(console, escape(said), 2)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for file in made.files:
        table.add_row(
            f"  {escape(file.name)}", bytes_text(file.size_b), escape(file.what)
        )
    print_table(console, table)
