# SPDX-License-Identifier: Apache-2.0
"""`rig report`: the page of a session."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from rig.check.check import check
from rig.cli.main import FALSE
from rig.cli.options import session_argument
from rig.cli.terminal import Terminal
from rig.errors import DataError


@click.command()
@session_argument
def report(path: Path) -> int:
    """Write the session's report: one HTML page; say so when the session was changed since."""
    Terminal().print(escape(str(write(path))), soft_wrap=True)
    changed = [finding for finding in check(path).findings if not finding.ok]
    if changed:
        Terminal(stderr=True).print(
            f"[red]the session was changed since it was measured[/] ({len(changed)} findings): rig "
            f"check {escape(str(path))}",
            soft_wrap=True,
        )
    return FALSE if changed else 0


def write(folder: Path) -> Path:
    """Write the report of a session; raises DataError where a file of it is damaged."""
    # Here, because it brings matplotlib: half a second that the other commands need not wait for.
    from rig.report.report import write_report

    try:
        return write_report(folder)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise DataError(
            f"a file of {folder} was damaged", evidence=repr(error), try_next=f"rig check {folder}"
        ) from error
