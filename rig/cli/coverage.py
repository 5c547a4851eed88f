# SPDX-License-Identifier: Apache-2.0
"""`rig coverage`: which cells of a grid are done, failed or missing, in sessions that
finished and in those that were cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rig.cli.exit_codes import FAIL
from rig.cli.options import EXISTING_FOLDER
from rig.cli.printed.coverage_table import print_coverage
from rig.cli.printed.labels import of_session, print_labels
from rig.cli.printed.terminal import Terminal
from rig.errors import DataError
from rig.model import grid
from rig.model.grid import Covered
from rig.results import changed, results
from rig.results.labels import Label
from rig.store.session_folder import SessionFolder, damage_named


@click.command()
@click.argument(
    "paths",
    metavar="SESSION...",
    nargs=-1,
    required=True,
    type=EXISTING_FOLDER,
)
def coverage(paths: tuple[Path, ...]) -> int:
    """Show which cells of a grid are done, failed or missing. With several sessions,
    each cell is shown as in the session that has most of it.

    The exit code is 1 if a cell is not done, or a session was changed after its run.
    """
    out = Terminal()
    cells = grid.united(_cells(path) for path in paths)
    marked: list[Label] = []
    for path in paths:
        marked += [label for label in of_session(path) if label not in marked]
    print_labels(out, marked)
    print_coverage(out, cells)
    is_changed = any(label.text == changed.CHANGED for label in marked)
    done = all(cell.state == grid.DONE for cell in cells)
    return 0 if done and not is_changed else FAIL


def _cells(path: Path) -> Sequence[Covered]:
    folder = SessionFolder(path)
    folder.refuse_other()
    trials = range(1, folder.events()[0].trials + 1)
    with damage_named(path):
        context = results.Context.of(folder)
        cells = grid.summed(
            results.survey_of(context, folder.trial(number)) for number in trials
        )
    if not cells:
        raise DataError(
            f"the scenario of {path} is no grid of cells",
            try_next="a session of [scenario.optimization]",
        )
    return cells
