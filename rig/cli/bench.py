# SPDX-License-Identifier: Apache-2.0
"""`rig bench`: list the example benches, and write one to start from."""

from __future__ import annotations

from pathlib import Path

import click

from rig.bench import examples
from rig.cli.lazy import LazyGroup
from rig.cli.printed.terminal import Terminal, escape, print_rows, say

_OUT = Terminal()


@click.group(cls=LazyGroup)
def bench() -> None:
    """List example benches, or write one to start from."""


@bench.command("list", short_help="List the example benches, and what is in each")
def list_() -> None:
    """List the example benches: device, energy monitor, scenario and task of each."""
    found = examples.examples()
    print_rows(_OUT, "example benches", [(each.name, ", ".join(each.kinds)) for each in found])
    _say("next: rig bench new NAME writes one of them here")


@bench.command(short_help="Write an example bench to a file")
@click.argument("name")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def new(name: str, file: Path | None) -> None:
    """Write the example bench NAME to FILE, by default NAME.toml in this folder."""
    name = name.removesuffix(".toml")
    file = file or Path(f"{name}.toml")
    examples.new(name, file)
    _say(f"{file} is written")
    for step in examples.steps(name, file):
        _say(f"next: {step}")


def _say(text: str) -> None:
    say(_OUT, escape(text))
