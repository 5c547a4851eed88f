# SPDX-License-Identifier: Apache-2.0
"""`rig plan`: the steps of a trial."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from rig.cli.labels import print_labels
from rig.cli.options import bench_argument, set_option
from rig.cli.terminal import Terminal
from rig.kinds import registry as kinds
from rig.results import labels
from rig.session import planning

_OUT = Terminal()


@click.command()
@bench_argument
@set_option
@click.option(
    "--trial",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The trial whose plan is shown.",
)
@click.option("--all", "whole", is_flag=True, help="Show every step.")
def plan(bench: Path, overrides: tuple[str, ...], trial: int, whole: bool) -> None:
    """Print the steps of a trial; no device is touched."""
    scenario, task, resolved = planning.open_plan(bench, overrides)
    steps = planning.steps(scenario, task, planning.trial_seed(resolved.bench.seed, trial))
    shown = steps if whole else steps[:12]
    for number, step in enumerate(shown, start=1):
        _OUT.print(f"{number:>6}  {escape(kinds.of(step).describe(step))}", highlight=False)
    if len(shown) < len(steps):
        _OUT.print(f"   ...  {len(steps) - len(shown)} more steps (--all)")
    totals = (
        kind.total([step for step in steps if kinds.of(step) is kind]) for kind in kinds.known()
    )
    of_trial = ", ".join(filter(None, totals))
    _OUT.print(f"a trial: {of_trial}; {resolved.bench.trials} trials")
    print_labels(_OUT, labels.of_task({"samples": len(task)} | task.provenance()))
