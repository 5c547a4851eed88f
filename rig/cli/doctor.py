# SPDX-License-Identifier: Apache-2.0
"""`rig doctor`: whether this computer meets the needs of the rig, or of a bench."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from rig.bench.doctor.examination import examine
from rig.bench.doctor.row import DoctorRow, RowState
from rig.cli.options import FILE, json_option, sessions_option, set_option
from rig.cli.printed.terminal import Terminal, escape, print_see, say
from rig.errors import BenchError, ConfigError

_COLOURS = {
    RowState.OK: "bold green",
    RowState.MISSING: "bold",
    RowState.WRONG: "bold red",
}
_INDENT = " " * 10


@click.command()
@click.argument("bench", type=FILE, required=False)
@set_option
@sessions_option
@json_option
def doctor(
    bench: Path | None, overrides: tuple[str, ...], sessions: Path, as_json: bool
) -> int:
    """Examine this computer: ports and permissions, libraries, compilers, emulators,
    disk and clocks, each with what to do where it is missing or wrong.

    With a bench file only what that bench needs. No device is opened. The exit code is
    3 if something that is needed is missing or wrong.
    """
    if overrides and bench is None:
        raise ConfigError(
            "--set changes a bench file, and none is given",
            try_next="rig doctor BENCH --set A.B=V",
        )
    out = Terminal(stderr=as_json)
    rows: list[DoctorRow] = []
    for row in examine(bench, overrides, sessions):
        print_row(out, row, rows[-1].group if rows else "")
        rows.append(row)
    print_end(out, rows, bench)
    if as_json:
        Terminal().out(json.dumps(document(rows, bench), indent=1))
    return BenchError.exit_code if any(row.blocks for row in rows) else 0


def document(rows: Sequence[DoctorRow], bench: Path | None) -> dict[str, object]:
    """Return all rows as JSON holds them."""
    name = None if bench is None else str(bench)
    is_ok = not any(row.blocks for row in rows)
    return {"bench": name, "ok": is_ok, "rows": [asdict(row) for row in rows]}


def print_row(out: Terminal, row: DoctorRow, group_before: str) -> None:
    """Print a row after the name of its group, where that is new, and what to do."""
    if row.group != group_before:
        say(out, f"[bold]{escape(row.group)}[/]")
    word = f"  [{_COLOURS[row.state]}]{row.state}[/]" + " " * (8 - len(row.state))
    say(out, f"{escape(row.name)}: {escape(row.detail)}", word)
    if row.try_next:
        say(out, escape(row.try_next), f"{_INDENT}try: ")
        print_see(out, row.see, _INDENT)


def print_end(out: Terminal, rows: Sequence[DoctorRow], bench: Path | None) -> None:
    """Print which needs are not met, and the next step."""
    blocking = [row.name for row in rows if row.blocks]
    others = [
        row.name for row in rows if row.state is not RowState.OK and not row.blocks
    ]
    about = "this bench" if bench else "the rig"
    if blocking:
        say(out, f"{about} needs, missing or wrong: {_names(blocking)}")
    else:
        say(out, f"{about} has what it needs")
    if others:
        say(out, f"not needed, missing or wrong: {_names(others)}")
    if blocking:
        say(out, "what stands below missing and wrong, then rig doctor again", "next: ")
    elif bench is None:
        say(out, "rig doctor BENCH examines what one bench needs; rig scan", "next: ")
    else:
        say(out, f"rig probe {escape(str(bench))}", "next: ")


def _names(names: Sequence[str]) -> str:
    return escape(", ".join(dict.fromkeys(names)))
