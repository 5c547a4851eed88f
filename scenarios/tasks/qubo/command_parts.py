# SPDX-License-Identifier: Apache-2.0
"""Parts that the commands of QUBO share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from scenarios.tasks.qubo import official as officials_of
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.official import Officials

FILE = click.Path(path_type=Path)
official_option = click.option(
    "--official",
    type=FILE,
    help="File of official costs, in NeuroBench's form; the published ones by default.",
)


def table_option(name: str) -> Callable[[Any], Any]:
    """Return the option of a table of targets, the parameter `path`."""
    return click.option(
        name,
        "path",
        type=FILE,
        default=table.SHIPPED,
        help="Another table than the shipped one.",
    )


def officials_in(path: Path | None) -> Officials:
    """Return the official targets of a file; without one the published ones."""
    return (
        officials_of.shipped(table.read()) if path is None else officials_of.read(path)
    )
