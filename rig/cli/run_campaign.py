# SPDX-License-Identifier: Apache-2.0
"""The cells of a campaign with progress, how they stand, and their table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.api.campaign import grid as grids
from rig.api.campaign import local, table
from rig.api.campaign.campaign import Campaign, locked
from rig.api.campaign.grid import Grid, GridCell
from rig.api.campaign.local import CellEvent
from rig.api.campaign.standing import CellStatus, Survey
from rig.cli import exit_codes
from rig.cli.printed.campaign_screens import CampaignProgress, print_status
from rig.cli.printed.campaign_table import print_rows
from rig.cli.printed.terminal import Terminal, escape, print_line
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.store.session_folder import refuse_unwritable, write_text

_PLACES = "another folder: rig campaign GRID --to FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCall:
    """A call of the command: the grid, the folder of the sessions, the largest number
    of cells, the file of the table, how many sessions run at a time, and the address of
    a scheduler that runs them instead.
    """

    path: Path
    root: Path
    most: int
    csv_file: Path | None
    jobs: int
    scheduler: str

    @property
    def command(self) -> str:
        """The command for this grid and this folder."""
        words = ("rig", "campaign", str(self.path), "--to", str(self.root))
        return shlex.join(words)

    @property
    def again(self) -> str:
        """The command that goes on."""
        if self.scheduler:
            return f"{self.command} --scheduler {shlex.quote(self.scheduler)}"
        return f"{self.command} --jobs {self.jobs}" if self.jobs > 1 else self.command


def run(call: CampaignCall) -> int:
    """Run the cells that are left; print how all stand, and return the exit code."""
    grid = grids.read(call.path)
    cells = grids.cells(grid, call.most)
    refuse_unwritable(call.root, _PLACES)
    out = Terminal()
    with locked(call.root):
        campaign = Campaign.of(cells, call.root, build=True)
        before = campaign.survey()
        left = before.left
        done = len(before.of(CellStatus.DONE))
        stands = f"{len(left)} to run, {done} done"
        head = f"{len(before.rows)} cells into {call.root}: {stands}"
        print_line(out, escape(head), 2)
        if left:
            progress = CampaignProgress(
                out, len(before.rows), len(before.rows) - len(left)
            )
            _run(call, campaign, left, progress)
        after = campaign.survey()
    print_status(out, after)
    _write(call.csv_file, grid, after)
    print_line(out, escape(_next(after, call)), 6)
    return _code(after)


def _run(
    call: CampaignCall,
    campaign: Campaign,
    left: Sequence[GridCell],
    progress: CampaignProgress,
) -> None:
    """Run cells in processes of this computer, or on workers of a scheduler; raise
    Stopped with notes on the rest.
    """
    notes: list[str] = []

    def hear(event: CellEvent) -> None:
        progress(event)
        if event.news is not None:
            notes.extend(event.news.notes)

    stop = Stop()
    try:
        with stopped_by_signals(stop), progress:
            if call.scheduler:
                # Imported here: it is an extra.
                from rig.api.campaign.dask_hosts import DaskHosts

                hosts = DaskHosts(call.scheduler, campaign.root)
                hosts.run(left, campaign.order, hear, stop)
            else:
                local.run(left, campaign.order, call.jobs, hear, stop)
    except KeyboardInterrupt as error:
        for note in notes or ["the supply is off"]:
            error.add_note(note)
        error.add_note(f"all sessions in {call.root} are kept")
        error.add_note(f"try: {call.again}, which goes on")
        raise


def show(call: CampaignCall, *, status: bool, as_table: bool) -> int:
    """Print how the cells stand, and their table; return the exit code."""
    grid = grids.read(call.path)
    survey = Campaign.of(grids.cells(grid, call.most), call.root).survey()
    out = Terminal()
    if status or not as_table:
        print_status(out, survey)
    if as_table:
        print_rows(out, grid, table.rows(grid, survey))
    _write(call.csv_file, grid, survey)
    return _code(survey)


def _write(csv_file: Path | None, grid: Grid, survey: Survey) -> None:
    if csv_file is not None:
        write_text(csv_file, table.csv_text(grid, table.rows(grid, survey)))


def _next(survey: Survey, call: CampaignCall) -> str:
    if len(survey.of(CellStatus.DONE)) == len(survey.rows):
        return f"next: {call.command} --table"
    return f"next: {call.again}, which runs the rest"


def _code(survey: Survey) -> int:
    done = survey.of(CellStatus.DONE)
    if len(done) < len(survey.rows):
        return exit_codes.FAIL
    outcomes = [row.row.verdict for row in done if row.row is not None]
    return exit_codes.of_outcomes(filter(None, outcomes))
