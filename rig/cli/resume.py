# SPDX-License-Identifier: Apache-2.0
"""`rig resume`: go on with a session that was cut off."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.kept_session import KeptSession
from rig.cli.options import (
    explain_option,
    json_option,
    refuse_idle,
    session_argument,
    wide_option,
)
from rig.cli.printed.progress import RunProgress
from rig.cli.run import Shown, finish
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.session import session


@click.command()
@session_argument
@wide_option
@json_option
@explain_option
def resume(path: Path, wide: bool, as_json: bool, explain: bool) -> int:
    """Go on with a session that was cut off, where it stopped; the bench must be the
    same."""
    if as_json:
        refuse_idle("beside --json", "wide")
    shown = Shown(wide=wide, as_json=as_json, explain=explain)
    console = shown.console
    stop = Stop()
    with KeptSession(path) as kept:
        with stopped_by_signals(stop), RunProgress(console) as progress:
            result = session.resume(path, (progress, kept), stop)
        return finish(result, shown, console)
