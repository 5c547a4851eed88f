# SPDX-License-Identifier: Apache-2.0
"""`rig resume`: go on with a session that was cut off."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.options import session_argument
from rig.cli.printed.progress import RunProgress
from rig.cli.printed.terminal import Terminal
from rig.cli.run import finish
from rig.session import session


@click.command()
@session_argument
def resume(path: Path) -> int:
    """Go on with a session that was cut off, where it stopped; the bench must be the same."""
    with RunProgress(Terminal()) as progress:
        result = session.resume(path, (progress,))
    return finish(result)
