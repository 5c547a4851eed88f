# SPDX-License-Identifier: Apache-2.0
"""`rig bundle`: what somebody needs who helps from afar, as one zip."""

from __future__ import annotations

from pathlib import Path

import click

from rig.api.support import bundle as support
from rig.bench.scan import scan
from rig.cli.options import to_write
from rig.cli.printed.terminal import Terminal, escape
from rig.units import bytes_text


@click.command()
@click.argument(
    "session", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False
)
@click.option(
    "--bench", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A bench file."
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
@click.option("--list", "only_list", is_flag=True, help="Say what it would hold; write nothing.")
def bundle(
    session: Path | None, bench: Path | None, serials: bool, out: Path, only_list: bool
) -> None:
    """Write a support bundle: versions, bench file, what is attached, how a session went.

    Passwords, keys, home folders, names of users and computers are taken out, and serial numbers
    unless you keep them. No trace and no data are in it. Look before you send it.
    """
    console = Terminal()
    made = support.collect(session, bench, keep_serials=serials, scan=scan)
    for file in made.files:
        console.print(
            f"  {escape(file.name):<28} {bytes_text(file.size_b):>8}  {escape(file.what)}",
            soft_wrap=True,
            highlight=False,
        )
    if only_list:
        console.print("nothing was written")
        return
    console.print(escape(f"wrote {made.write(out)}"), soft_wrap=True)
