# SPDX-License-Identifier: Apache-2.0
"""Progress of a campaign, and how its cells stand."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from rig.api.backends.rows import Failure
from rig.api.campaign.local import CellEvent
from rig.api.campaign.standing import CellStanding, CellStatus, Survey
from rig.cli.printed.failures import print_failure
from rig.cli.printed.terminal import Terminal, escape, print_line

_COLOURS = {
    CellStatus.DONE: "green",
    CellStatus.FAILED: "red",
    CellStatus.CUT_OFF: "yellow",
    CellStatus.RUNNING: "cyan",
    CellStatus.MISSING: "yellow",
}
#: So many cells of one state, and sessions of no cell, are named.
_NAMED = 20


class CampaignProgress:
    """A subscriber that shows how many cells are done, and how far those are that
    run.
    """

    def __init__(self, console: Terminal, total: int, done: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._console = console
        self._total = total
        self._done = done
        self._tasks: dict[str, TaskID] = {}
        self._all = self._progress.add_task("cells", total=total, count="")
        self._count()

    def __enter__(self) -> CampaignProgress:
        self._console.goes_on = True
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: CellEvent) -> None:
        """Show one event."""
        name = event.cell.name
        news = event.news
        if news is None:
            task = self._progress.add_task(escape(name), total=1.0, count=event.host)
            self._tasks[name] = task
        elif not news.ended:
            self._progress.update(self._tasks[name], completed=news.share)
        else:
            if name in self._tasks:
                self._progress.remove_task(self._tasks.pop(name))
            self._done += not news.stopped
            self._count()
            self._say(name, event.host, news.failure, stopped=news.stopped)

    def _count(self) -> None:
        self._progress.update(
            self._all, completed=self._done, count=f"{self._done}/{self._total}"
        )

    def _say(
        self, name: str, host: str, failure: Failure | None, *, stopped: bool
    ) -> None:
        at = f" at {escape(host)}" if host else ""
        if stopped:
            print_line(self._console, f"  {escape(name)}{at}: stopped", 4)
        elif failure is None:
            print_line(self._console, f"  {escape(name)}{at}: [green]done[/]", 4)
        else:
            print_failure(self._console, failure, f"{escape(name)}{at}: [red]failed[/]")


def print_status(console: Terminal, survey: Survey) -> None:
    """Print how many cells stand how, and those that are not done with the reason."""
    counts = []
    for state in CellStatus:
        count = len(survey.of(state))
        if count or state in (CellStatus.DONE, CellStatus.FAILED, CellStatus.MISSING):
            counts.append(f"[{_COLOURS[state]}]{count} {state}[/]")
    cells = "cell" if len(survey.rows) == 1 else "cells"
    print_line(console, f"{len(survey.rows)} {cells}: {', '.join(counts)}", 2)
    for state in CellStatus:
        if state is CellStatus.DONE:
            continue
        rows = survey.of(state)
        for row in rows[:_NAMED]:
            print_line(console, _line(row), 4)
        if len(rows) > _NAMED:
            print_line(console, f"  and {len(rows) - _NAMED} more {state}")
    invalid = [row for row in survey.of(CellStatus.DONE) if _is_bad(row)]
    for row in invalid[:_NAMED]:
        assert row.row is not None
        outcome = f"{row.row.outcome}: {row.row.reason}" if row.row.reason else ""
        print_line(
            console, f"  [red]{escape(row.cell.name)}[/] {escape(outcome)}".rstrip(), 4
        )
    if survey.others:
        names = ", ".join(survey.others[:3])
        more_of = (
            f" and {len(survey.others) - 3} more" if len(survey.others) > 3 else ""
        )
        verb = "is" if len(survey.others) == 1 else "are"
        print_line(
            console,
            f"{len(survey.others)} other sessions there {verb} of no cell:"
            f" {escape(names)}{more_of}",
            2,
        )


def _line(row: CellStanding) -> str:
    colour = _COLOURS[row.state]
    where = "" if row.row is None else f" ({row.row.name})"
    reason = row.reason or row.note
    about = f": {reason}" if reason else ""
    return (
        f"  [{colour}]{row.state}[/] {escape(row.cell.name)}"
        f"{escape(where)}{escape(about)}"
    )


def _is_bad(row: CellStanding) -> bool:
    return row.row is not None and row.row.outcome in ("FAIL", "INVALID")
