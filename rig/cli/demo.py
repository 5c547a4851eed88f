# SPDX-License-Identifier: Apache-2.0
"""`rig demo`: a run without any hardware."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.options import sessions_option, wide_option
from rig.cli.run import Shown, run_bench
from rig.files.shipped import DEMO


@click.command()
@click.option(
    "--bench",
    type=click.Path(path_type=Path),
    default=DEMO,
    help="Another bench than the built-in virtual one.",
)
@sessions_option
@wide_option
def demo(bench: Path, sessions: Path, wide: bool) -> int:
    """Run acoustic scene classification, five trials, without any hardware."""
    return run_bench(bench, (), None, sessions, Shown(wide=wide))
