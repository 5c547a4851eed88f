# SPDX-License-Identifier: Apache-2.0
"""`rig report`: the page of a session."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.exit_codes import FAIL
from rig.cli.lazy import LateCommand
from rig.cli.options import session_argument


@click.command(cls=LateCommand, modules=["rig.check.check"])
@session_argument
def report(path: Path) -> int:
    """Write the session's report, one HTML page; warn if the session was changed
    since."""
    from rig.api.report import write_report
    from rig.check.check import check
    from rig.cli.printed.terminal import Terminal, escape, print_line
    from rig.store.event_file import mend
    from rig.store.session_folder import (
        PARTIAL_SUFFIX,
        READ_ONLY_TRY,
        REPORT,
        SessionFolder,
        refuse_unwritable,
    )

    SessionFolder(path).refuse_other()
    SessionFolder(path).refuse_unfinished()
    refuse_unwritable(path, READ_ONLY_TRY)
    mend(SessionFolder(path))
    checked = check(path, is_report_new=True)
    # The report is made again: changes of the old one do not count.
    written = (REPORT, REPORT + PARTIAL_SUFFIX)
    changed = [
        one for one in checked.findings if not one.ok and one.name not in written
    ]
    # Trials that the check has hashed and reduced are used as they are.
    trials = () if changed else checked.trials
    page = write_report(path, hashed=not changed, trials=trials)
    Terminal().print(escape(str(page)), soft_wrap=True)
    if changed:
        warning = (
            f"[red]the session was changed since it was measured[/] ({len(changed)}"
            f" findings): rig check {escape(str(path))}"
        )
        print_line(Terminal(stderr=True), warning, 2)
    return FAIL if changed else 0
