# SPDX-License-Identifier: Apache-2.0
"""`rig resume`: go on with a session that was cut off."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import (
    PrintedForm,
    explain_option,
    json_option,
    refuse_idle,
    session_argument,
    wide_option,
)


@click.command(cls=LateCommand, modules=["rig.cli.run_bench"])
@session_argument
@wide_option
@json_option
@explain_option
def resume(path: Path, wide: bool, as_json: bool, explain: bool) -> int:
    """Resume a session that was cut off, where it stopped; the bench must be the
    same."""
    from rig.cli.run_bench import resume_session

    if as_json:
        refuse_idle("beside --json", "wide")
    return resume_session(
        path, PrintedForm(wide=wide, as_json=as_json, explain=explain)
    )
