# SPDX-License-Identifier: Apache-2.0
"""`rig scan`: what is attached, and the lines of a bench file that name it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from rig.bench.scan import EMPTY, FOUND, MISSING, ONBOARD, PROBLEM, ScanRow, is_empty, is_well
from rig.bench.scan import scan as look
from rig.cli.printed.terminal import Terminal, escape, escape_lines
from rig.errors import BenchError

_MARKS = {FOUND: "[green]found[/]", PROBLEM: "[red]problem[/]", MISSING: "[dim]not installed[/]"}
_WIDTH = 80


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def scan(as_json: bool) -> int:
    """List attached instruments and serial ports, with the lines for a bench file; exit code 3 if
    something is wrong.
    """
    rows = look()
    console = Terminal()
    if as_json:
        console.out(json.dumps([asdict(row) for row in rows], indent=2), highlight=False)
    else:
        show(console, rows)
    return 0 if is_well(rows) else BenchError.exit_code


def show(console: Terminal, rows: Sequence[ScanRow]) -> None:
    """Print the table, what to copy into a bench file, and what is wrong; an empty desk says what
    to look at.
    """
    if rows:
        console.print(_table(rows, min(console.width, _WIDTH)))
    usable = [row for row in rows if row.setting and row.state == FOUND]
    if usable:
        console.print("[bold]for the bench file[/] (rig probe BENCH then says whether it works)")
        for row in usable:
            console.print(f"[dim]# {escape(row.name)}[/]", soft_wrap=True)
            console.print(escape_lines(row.setting), soft_wrap=True, highlight=False)
    for row in rows:
        if row.state == PROBLEM:
            console.print(
                f"[red]{escape(row.kind)}, {escape(row.name)}[/]: {escape(row.problem)}",
                soft_wrap=True,
                highlight=False,
            )
            if row.try_next:
                console.print(f"  try: {escape(row.try_next)}", soft_wrap=True, highlight=False)
    for row in rows:
        if row.state == MISSING:
            console.print(
                f"to look for {escape(row.kind)}: {escape(row.try_next)}",
                soft_wrap=True,
                highlight=False,
            )
    if is_empty(rows):
        if any(row.kind == ONBOARD for row in rows):
            console.print("on-board ports are there whether or not anything is connected")
            console.print("[bold]no instrument and no USB port can be seen[/]; what to look at:")
        else:
            console.print("[bold]nothing is attached that can be seen[/]; what to look at:")
        for hint in EMPTY:
            console.print(f"  {escape(hint)}", soft_wrap=True, highlight=False)
        console.print("rig demo runs without any hardware")
    else:
        console.print(
            "Is something missing here? Look at cables, power, the group dialout, and udev rules.",
            soft_wrap=True,
        )


def _table(rows: Sequence[ScanRow], width: int) -> Table:
    table = Table(box=SIMPLE_HEAD, width=width)
    table.add_column("kind", no_wrap=True)
    table.add_column("what", overflow="fold", ratio=1)
    table.add_column("serial", overflow="fold")
    table.add_column("state", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row.kind), escape(row.name), escape(row.serial) or "-", _MARKS[row.state]
        )
    return table
