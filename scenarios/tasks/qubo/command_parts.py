# SPDX-License-Identifier: Apache-2.0
"""Parts that the commands of QUBO share."""

from __future__ import annotations

from pathlib import Path

import click

from scenarios.tasks.qubo import official as officials_of
from scenarios.tasks.qubo import targets as table
from scenarios.tasks.qubo.official import Officials

FILE = click.Path(path_type=Path)


def officials_in(path: Path | None) -> Officials:
    """Return the official targets of a file; without one the published ones."""
    return (
        officials_of.shipped(table.read()) if path is None else officials_of.read(path)
    )
