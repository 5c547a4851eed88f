# SPDX-License-Identifier: Apache-2.0
"""`rig demo`: a run without any hardware."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import FILE, PrintedForm, sessions_option, wide_option
from rig.files.shipped import DEMO


@click.command(cls=LateCommand, modules=["rig.cli.run_bench"])
@click.option(
    "--bench",
    type=FILE,
    default=DEMO,
    help="Bench file to run instead of the built-in virtual one.",
)
@sessions_option
@wide_option
def demo(bench: Path, sessions: Path, wide: bool) -> int:
    """Run acoustic scene classification, five trials, without any hardware."""
    from rig.cli.run_bench import run_bench

    return run_bench(bench, (), None, sessions, PrintedForm(wide=wide))
