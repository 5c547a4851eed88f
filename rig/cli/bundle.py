# SPDX-License-Identifier: Apache-2.0
"""`rig bundle`: one zip file with the information that remote support needs."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from rig.api.support import bundle as support
from rig.bench.scan import scan
from rig.cli.options import EXISTING_FILE, EXISTING_FOLDER, FILE, to_write
from rig.cli.printed.terminal import Terminal, escape, print_line, print_table
from rig.errors import ConfigError
from rig.units import bytes_text, plural


@click.command()
@click.argument(
    "session",
    type=EXISTING_FOLDER,
    required=False,
)
@click.option(
    "--bench",
    type=EXISTING_FILE,
    help="A bench file.",
)
@click.option("--serials", is_flag=True, help="Keep the serial numbers of instruments.")
@click.option(
    "--out",
    type=FILE,
    callback=to_write,
    default=Path("neurorig-support.zip"),
    show_default=True,
    help="File to write.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="List what it would hold; write nothing."
)
def bundle(
    session: Path | None, bench: Path | None, serials: bool, out: Path, only_list: bool
) -> None:
    """Write a support bundle: versions, a bench file, the attached instruments, and the
    course of a session.

    Passwords, keys, home folders, and names of users and computers are removed, and
    serial numbers unless you keep them. It holds no trace and no data. Look at it
    before you send it.
    """
    if out.exists() and not only_list:
        raise ConfigError(
            f"{out} is there already", path="--out", try_next="another name: --out FILE"
        )
    console = Terminal()
    made = support.collect(session, bench, keep_serials=serials, scan=scan)
    written = None if only_list else made.write(out)
    size_b = sum(file.size_b for file in made.files)
    holds = f"{plural(len(made.files), 'file')}, {bytes_text(size_b)}"
    summary = f"wrote {written}: {holds}; look before you send it"
    if written is None:
        summary = f"nothing was written; it would hold {holds}"
    print_line(console, escape(summary), 2)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for file in made.files:
        table.add_row(
            f"  {escape(file.name)}", bytes_text(file.size_b), escape(file.what)
        )
    print_table(console, table)
