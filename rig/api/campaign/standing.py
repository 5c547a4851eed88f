# SPDX-License-Identifier: Apache-2.0
"""How the cells of a grid stand, read from the session folders alone."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from rig.api.archive.listing import RUNNING, Listed, Listing
from rig.api.backends import runs
from rig.api.campaign.grid import GridCell
from rig.api.sessions.session import Session
from rig.bench import config
from rig.bench.parts import open_task
from rig.errors import DAMAGE, RigError
from rig.store.session_folder import SessionFolder

Facts = Mapping[str, Any]


class CellStatus(StrEnum):
    """How a cell stands."""

    DONE = "done"
    FAILED = "failed"
    CUT_OFF = "cut off"
    RUNNING = "running"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class CellStanding:
    """How a cell stands: its session where there is one, `reason` the first line of the
    error of one that failed, `note` why a session of its name does not count.
    """

    cell: GridCell
    state: CellStatus
    row: Listed | None = None
    reason: str = ""
    note: str = ""

    @property
    def session(self) -> Path | None:
        """The folder of its session."""
        return None if self.row is None else self.row.path


@dataclass(frozen=True, slots=True)
class Survey:
    """All cells of a grid in a folder; `others` are its sessions of no cell."""

    rows: tuple[CellStanding, ...]
    others: tuple[str, ...] = ()

    def of(self, *states: CellStatus) -> list[CellStanding]:
        """Return the cells that stand so."""
        return [row for row in self.rows if row.state in states]

    @property
    def left(self) -> list[GridCell]:
        """The cells that are to run, in their order: all but those that are done or
        that another process runs.
        """
        ended = (CellStatus.DONE, CellStatus.RUNNING)
        return [row.cell for row in self.rows if row.state not in ended]


class CampaignFacts:
    """The facts of models and data of the cells' tasks as they are now; each task is
    opened once.
    """

    def __init__(self) -> None:
        self._known: dict[str, Facts] = {}

    def __call__(self, cell: GridCell) -> Facts:
        """Return the facts of a cell's task; none where it does not open."""
        resolved = config.parsed(cell.text, Path.cwd())
        choice = repr(resolved.task)
        if choice not in self._known:
            self._known[choice] = {}
            # Its session says why it does not open.
            with suppress(RigError, OSError):
                self._known[choice] = runs.facts_of(open_task(resolved)[0])
        return self._known[choice]


def survey(
    cells: Sequence[GridCell], root: Path, facts: Callable[[GridCell], Facts]
) -> Survey:
    """Read how the cells stand in a folder of sessions.

    A session is a cell's if its bench text is the cell's to the letter; it counts where
    it is as its run left it, and the task has the facts that it had.
    """
    by_text: dict[str, list[Listed]] = {}
    by_name: dict[str, list[Listed]] = {}
    for row in Listing(root).rows() if root.is_dir() else ():
        by_name.setdefault(row.bench, []).append(row)
        with suppress(RigError, OSError):
            text = SessionFolder(row.path).bench_text()
            by_text.setdefault(text, []).append(row)
    standings = []
    used: set[Path] = set()
    for cell in cells:
        same_text = by_text.get(cell.text, [])
        standing = _standing(cell, same_text, facts)
        used |= {row.path for row in same_text}
        if standing.state is CellStatus.MISSING and not standing.note:
            of_name = [
                row for row in by_name.get(cell.name, []) if row not in same_text
            ]
            if of_name:
                reason = _differing(of_name[0], cell)
                standing = CellStanding(cell, CellStatus.MISSING, note=reason)
        standings.append(standing)
    every = chain.from_iterable(by_name.values())
    others = sorted(row.name for row in every if row.path not in used)
    return Survey(tuple(standings), tuple(others))


def _standing(
    cell: GridCell, rows: Sequence[Listed], facts: Callable[[GridCell], Facts]
) -> CellStanding:
    """Return how a cell stands by its sessions, the newest first."""
    note = ""
    for row in rows:
        if row.status != "success":
            continue
        try:
            if runs.is_as_left(Session(row.path), facts(cell)):
                return CellStanding(cell, CellStatus.DONE, row)
            note = f"{row.name} does not count: it was changed after its run"
            if not row.changed:
                note = f"{row.name} does not count: its model or data are other ones"
        except (RigError, OSError, *DAMAGE) as error:
            cause = error.cause if isinstance(error, RigError) else str(error)
            note = f"{row.name} does not count: {_first_line(cause)}"
    open_ones = [row for row in rows if row.status != "success"]
    for row in open_ones:
        if row.status == RUNNING:
            return CellStanding(cell, CellStatus.RUNNING, row)
    for row in open_ones:
        if row.status == "fail":
            return CellStanding(cell, CellStatus.FAILED, row, _first_line(row.reason))
        if row.resumable:
            return CellStanding(cell, CellStatus.CUT_OFF, row)
    return CellStanding(cell, CellStatus.MISSING, note=note)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _differing(row: Listed, cell: GridCell) -> str:
    """Return in words which settings a session of the cell's name had otherwise."""
    remark = f"{row.name} does not count: its bench text is another one"
    try:
        before = tomllib.loads(SessionFolder(row.path).bench_text())
    except (RigError, OSError, ValueError):
        return remark
    keys = list(_differences(before, tomllib.loads(cell.text)))
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return f"{remark} ({', '.join(keys[:3])}{more})" if keys else remark


def _differences(
    before: Mapping[str, Any], now: Mapping[str, Any], above: str = ""
) -> Sequence[str]:
    keys: list[str] = []
    for key in dict.fromkeys((*before, *now)):
        one, other = before.get(key), now.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            keys += _differences(one, other, f"{above}{key}.")
        elif one != other:
            keys.append(f"{above}{key}")
    return keys
