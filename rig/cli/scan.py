# SPDX-License-Identifier: Apache-2.0
"""`rig scan`: attached instruments, and the lines of a bench file that name them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console

from rig.bench.scan import (
    EMPTY,
    FOUND,
    MISSING,
    ONBOARD,
    PROBLEM,
    ScanRow,
    is_empty,
    is_well,
)
from rig.bench.scan import scan as look
from rig.cli.printed.terminal import Terminal, escape, escape_lines, say
from rig.errors import BenchError

_COLOURS = {FOUND: "bold green", PROBLEM: "bold red", MISSING: "bold"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def scan(as_json: bool) -> int:
    """List attached instruments and serial ports, with the lines for a bench file.

    The exit code is 3 if something is wrong.
    """
    rows = look()
    console = Terminal()
    if as_json:
        console.out(
            json.dumps([asdict(row) for row in rows], indent=2), highlight=False
        )
    else:
        show(console, rows)
    return 0 if is_well(rows) else BenchError.exit_code


def show(console: Terminal, rows: Sequence[ScanRow]) -> None:
    """Print the table, the lines to copy into a bench file, and the problems; for an
    empty desk, print the usual causes.
    """
    for state in (PROBLEM, FOUND, MISSING):
        alike = [row for row in rows if row.state == state]
        if alike:
            say(console, f"[{_COLOURS[state]}]{state}[/]")
        for row in alike:
            _print_row(console, row, max(len(row.kind) for row in rows))
    usable = [row for row in rows if row.setting and row.state == FOUND]
    if usable:
        say(
            console,
            "[bold]for the bench file[/] (rig probe BENCH then says whether it works)",
        )
        for row in usable:
            console.print(
                f"[dim]# {escape(row.name)}[/]", soft_wrap=True, highlight=False
            )
            console.print(escape_lines(row.setting), soft_wrap=True, highlight=False)
    if is_empty(rows):
        if any(row.kind == ONBOARD for row in rows):
            say(
                console, "on-board ports are there whether or not anything is connected"
            )
            say(
                console,
                "[bold]no instrument and no USB port can be seen[/]; what to look at:",
            )
        else:
            say(
                console,
                "[bold]nothing is attached that can be seen[/]; what to look at:",
            )
        for hint in EMPTY:
            say(console, escape(hint), "  ")
        say(console, "next: rig demo runs without any hardware")
    else:
        say(
            console,
            "Is something missing here? Look at cables, power, the group dialout, and"
            " udev rules.",
        )


def _print_row(console: Console, row: ScanRow, width: int) -> None:
    """Print an instrument with its serial number, its problem and the remedy."""
    serial = f", serial number {row.serial}" if row.serial else ""
    problem = f": {row.problem}" if row.problem else ""
    name = "" if row.state == MISSING else row.name
    lead = f"  {escape(f'{row.kind:<{width}}')}  "
    if name:
        say(console, escape(f"{name}{serial}{problem}"), lead)
        lead = " " * (width + 4)
    if row.try_next:
        say(
            console,
            escape(row.try_next),
            f"{lead}try: " if row.state == PROBLEM else lead,
        )
