# SPDX-License-Identifier: Apache-2.0
"""`rig bench`: list the example benches, and write one to start from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from rig.bench import examples
from rig.cli.lazy import LazyGroup
from rig.cli.options import FILE
from rig.cli.printed.terminal import Terminal, escape, print_rows, say


@click.group(cls=LazyGroup)
def bench() -> None:
    """List example benches, or write one to start from."""


@bench.command("list", short_help="List the example benches, and what is in each")
def list_() -> None:
    """List the example benches: device, energy monitor, scenario and task of each."""
    benches = examples.examples()
    out = Terminal()
    print_rows(
        out, "example benches", [(each.name, ", ".join(each.kinds)) for each in benches]
    )
    say(out, "next: rig bench new NAME writes one of them here")


@bench.command(short_help="Write an example bench to a file")
@click.argument("name")
@click.argument("file", required=False, type=FILE)
def new(name: str, file: Path | None) -> None:
    """Write the example bench NAME to FILE, by default NAME.toml in this folder."""
    name = name.removesuffix(".toml")
    file = file or Path(f"{name}.toml")
    examples.new(name, file)
    print_written(Terminal(), file, examples.steps(name, file))


def print_written(out: Terminal, file: Path, steps: Iterable[str]) -> None:
    """Print that a bench is written, and what to do with it."""
    say(out, f"{escape(str(file))} is written")
    for step in steps:
        say(out, escape(step), "next: ")
