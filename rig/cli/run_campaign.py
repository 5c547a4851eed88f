# SPDX-License-Identifier: Apache-2.0
"""The cells of a campaign with progress, how they stand, and their table."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from rig.api.campaign import grid as grids
from rig.api.campaign import local, table
from rig.api.campaign.campaign import Campaign
from rig.api.campaign.cell_process import CellNews
from rig.api.campaign.grid import Grid, GridCell
from rig.api.campaign.local import CellEvent, Hear
from rig.api.campaign.standing import CellStatus, Survey
from rig.cli import exit_codes
from rig.cli.printed.campaign_screens import CampaignProgress, print_status
from rig.cli.printed.campaign_table import print_rows
from rig.cli.printed.terminal import Terminal, escape, print_line
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.store.session_folder import refuse_unwritable, write_text

_Engine = Callable[[Sequence[GridCell], Hear, Stop], None]
_PLACES = "another folder: rig campaign GRID --to FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCall:
    """A call of the command: the grid, the folder of the sessions, the largest number
    of cells, and the file of the table.
    """

    path: Path
    root: Path
    most: int
    csv_file: Path | None = None

    @property
    def again(self) -> str:
        """The command that goes on."""
        words = ("rig", "campaign", str(self.path), "--to", str(self.root))
        return shlex.join(words)


@dataclass(slots=True)
class _Ended:
    """A subscriber that keeps which sessions were stopped, for the notes of Ctrl-C."""

    stopped: list[CellNews] = field(default_factory=list)

    def __call__(self, event: CellEvent) -> None:
        """Hear one event."""
        if event.news is not None and event.news.stopped:
            self.stopped.append(event.news)


def run(call: CampaignCall, jobs: int, scheduler: str) -> int:
    """Run the cells that are left; print how all stand, and return the exit code."""
    grid = grids.read(call.path)
    cells = grids.cells(grid, call.most)
    refuse_unwritable(call.root, _PLACES)
    campaign = Campaign.of(cells, call.root, build=True)
    out = Terminal()
    with campaign.locked():
        before = campaign.survey()
        left = campaign.left(before)
        kept = len(before.of(CellStatus.DONE))
        stands = f"{len(left)} to run, {kept} done"
        said = f"{len(before.rows)} cells into {call.root}: {stands}"
        print_line(out, escape(said), 2)
        ended = _Ended()
        try:
            if left:
                _run(campaign, before, _engine(jobs, scheduler, campaign), out, ended)
        except KeyboardInterrupt as error:
            _note(error, ended, call)
            raise
        found = campaign.survey()
    print_status(out, found)
    _write(call.csv_file, grid, found)
    print_line(out, escape(_next(found, call)), 6)
    return _code(found)


def _run(
    campaign: Campaign, before: Survey, engine: _Engine, out: Terminal, ended: _Ended
) -> None:
    left = campaign.left(before)
    stop = Stop()
    with (
        stopped_by_signals(stop),
        CampaignProgress(out, len(before.rows), len(before.rows) - len(left)) as shown,
    ):
        hear = _both(shown, ended)
        engine(left, hear, stop)


def _engine(jobs: int, scheduler: str, campaign: Campaign) -> _Engine:
    """Return what runs cells: processes of this computer, or workers of a scheduler."""
    if not scheduler:
        return lambda cells, hear, stop: local.run(
            cells, campaign.order, jobs, hear, stop
        )
    # Imported here: it is an extra.
    from rig.api.campaign import dask_hosts

    hosts = dask_hosts.DaskHosts(scheduler, campaign.root)
    return lambda cells, hear, stop: hosts.run(cells, campaign.order, hear, stop)


def _both(
    first: Callable[[CellEvent], None], second: Callable[[CellEvent], None]
) -> Callable[[CellEvent], None]:
    def hear(event: CellEvent) -> None:
        first(event)
        second(event)

    return hear


def _note(error: KeyboardInterrupt, ended: _Ended, call: CampaignCall) -> None:
    """Add the notes of a stopped campaign."""
    notes = list(chain.from_iterable(news.notes for news in ended.stopped))
    for note in notes or ["the supply is off"]:
        error.add_note(note)
    error.add_note(f"all sessions in {call.root} are kept")
    error.add_note(f"try: {call.again}, which goes on")


def show(call: CampaignCall, *, status: bool, as_table: bool) -> int:
    """Print how the cells stand, and their table; return the exit code."""
    grid = grids.read(call.path)
    found = Campaign.of(grids.cells(grid, call.most), call.root).survey()
    out = Terminal()
    if status or not as_table:
        print_status(out, found)
    if as_table:
        print_rows(out, grid, table.rows(grid, found))
    _write(call.csv_file, grid, found)
    return _code(found)


def _write(csv_file: Path | None, grid: Grid, found: Survey) -> None:
    if csv_file is not None:
        write_text(csv_file, table.csv_text(grid, table.rows(grid, found)))


def _next(found: Survey, call: CampaignCall) -> str:
    if len(found.of(CellStatus.DONE)) == len(found.rows):
        return f"next: {call.again} --table"
    return f"next: {call.again}, which runs the rest"


def _code(found: Survey) -> int:
    done = found.of(CellStatus.DONE)
    if len(done) < len(found.rows):
        return exit_codes.FAIL
    outcomes = [row.row.verdict for row in done if row.row is not None]
    return exit_codes.of_outcomes(one for one in outcomes if one is not None)
