# SPDX-License-Identifier: Apache-2.0
"""`rig site`: a static site of sessions, for a browser without a network."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.options import EXISTING_FOLDER, FILE
from rig.cli.printed.terminal import Terminal, escape, print_line

_KB = 1000
_MB = 1e6


@click.command()
@click.argument(
    "places",
    metavar="SESSIONS...",
    nargs=-1,
    required=True,
    type=EXISTING_FOLDER,
)
@click.option(
    "--to", type=FILE, required=True, metavar="FOLDER", help="Folder of the site."
)
@click.option(
    "--title", default="Results", show_default=True, help="Title of the first page."
)
@click.option(
    "--no-check",
    "unchecked",
    is_flag=True,
    help="Do not recompute the numbers of each session; the pages say so.",
)
@click.option(
    "--full", is_flag=True, help="Write every sample, for views that are close."
)
@click.option(
    "--whole-sessions",
    is_flag=True,
    help="Offer each whole session with its traces as a zip file.",
)
@click.option(
    "--trace-kb",
    type=click.IntRange(1, 100_000),
    default=96,
    show_default=True,
    help="Size of the traces of a session, in kB; longer ones have wider columns.",
)
def site(
    places: tuple[Path, ...],
    to: Path,
    title: str,
    unchecked: bool,
    full: bool,
    whole_sessions: bool,
    trace_kb: int,
) -> None:
    """Write a site of sessions, or of folders of sessions: leaderboards with intervals
    and filters, and a page for each session with its numbers, its trace and what rig
    check found.

    Open FOLDER/index.html in a browser: it needs no server and no network. A site that
    is there is replaced.
    """
    # Imported here: the help does without matplotlib.
    from rig.api.site.site import SiteOptions, write_site

    out = Terminal()
    options = SiteOptions(
        title=title,
        checked=not unchecked,
        full=full,
        whole_sessions=whole_sessions,
        traces_b=trace_kb * _KB,
    )
    made = write_site(
        places, to, options, lambda path: print_line(out, f" {escape(path.name)}", 1)
    )
    count = len(made.sessions)
    said = f"{count} session{'s' * (count != 1)}"
    print_line(out, f" [bold]{said}[/], {made.size_b / _MB:.1f} MB", 1)
    for path in made.without_results:
        print_line(out, f" [yellow]{escape(path.name)} has no results[/]", 1)
    print_line(out, f" site   {escape(str(made.path / 'index.html'))}", 8)
