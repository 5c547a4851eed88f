# SPDX-License-Identifier: Apache-2.0
"""Coverage of a plan: the cells that are done, failed or missing, in a session that
finished or in one that was cut off. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from rig.files import typed

DONE = "done"
FAILED = "failed"
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Covered:
    """One cell of a plan, `what` of a `workload`: the numbers of times that it was
    asked for and done, and the reasons of its failures.
    """

    workload: str
    what: str
    asked: int
    done: int = 0
    failures: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Done, failed or missing: a failed cell was tried as often as asked, and not
        always done.
        """
        if self.done >= self.asked:
            return DONE
        return FAILED if self.done + len(self.failures) >= self.asked else MISSING


def summed(parts: Iterable[Sequence[Covered]]) -> list[Covered]:
    """Sum the cells of several trials."""
    sums: dict[tuple[str, str], Covered] = {}
    for cell in chain.from_iterable(parts):
        none_yet = replace(cell, asked=0, done=0, failures=())
        have = sums.get((cell.workload, cell.what), none_yet)
        asked = have.asked + cell.asked
        done = have.done + cell.done
        failures = have.failures + cell.failures
        sums[cell.workload, cell.what] = replace(
            have,
            asked=asked,
            done=done,
            failures=failures,
        )
    return list(sums.values())


def united(sessions: Iterable[Sequence[Covered]]) -> list[Covered]:
    """Take each cell from the session where most of it is done."""
    united_cells: dict[tuple[str, str], Covered] = {}
    for cell in chain.from_iterable(sessions):
        have = united_cells.get((cell.workload, cell.what))
        if have is None or _rank(cell) > _rank(have):
            united_cells[cell.workload, cell.what] = cell
    return list(united_cells.values())


def _rank(cell: Covered) -> tuple[bool, int]:
    return cell.state == DONE, cell.done


@dataclass(frozen=True, slots=True)
class CellState:
    """One cell as results.json has it: with its state, and each reason of a failure
    once.
    """

    workload: str
    what: str
    asked: int
    done: int
    failures: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of cells done, failed and missing, and the cells."""

    done: int
    failed: int
    missing: int
    cells: tuple[CellState, ...]

    @classmethod
    def of(cls, cells: Sequence[Covered]) -> Coverage:
        """Count cells by their state."""
        states = Counter(cell.state for cell in cells)
        rows = []
        for cell in cells:
            failures = tuple(dict.fromkeys(cell.failures))
            rows.append(typed.like(CellState, cell, failures=failures))
        return cls(states[DONE], states[FAILED], states[MISSING], tuple(rows))
