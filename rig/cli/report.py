# SPDX-License-Identifier: Apache-2.0
"""`rig report`: the page of a session."""

from __future__ import annotations

from pathlib import Path

import click

from rig.api.report import write_report
from rig.check.check import check
from rig.cli.main import FALSE
from rig.cli.options import session_argument
from rig.cli.terminal import Terminal, escape


@click.command()
@session_argument
def report(path: Path) -> int:
    """Write the session's report: one HTML page; say so when the session was changed since."""
    Terminal().print(escape(str(write_report(path))), soft_wrap=True)
    changed = [finding for finding in check(path, is_report_new=True).findings if not finding.ok]
    if changed:
        Terminal(stderr=True).print(
            f"[red]the session was changed since it was measured[/] ({len(changed)} findings): rig "
            f"check {escape(str(path))}",
            soft_wrap=True,
        )
    return FALSE if changed else 0
