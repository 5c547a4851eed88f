# SPDX-License-Identifier: Apache-2.0
"""Costs that searches found, compared with the official and the best known ones: rows
of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Compared:
    """The costs found in all trials' searches of one workload, with one set of
    parameters.

    Without a `workload` they are those of its whole cell. `search` is a time-out
    ("10ms") or "target". Costs and gaps are means over the searches; `lowest` is the
    least cost of all, None for a cell, whose workloads have targets of their own. A
    target that is not known for every workload is None, and so is the gap to it. A gap
    below 0 means that the target is beaten.
    """

    cell: str
    workload: str
    search: str
    searches: int
    official: float | None
    best_known: float | None
    measured: float
    lowest: int | None
    gap: float | None
    gap_best_known: float | None


#: Where there are more rows, those of the last way to search (longest, or to a target)
#: are shown.
ROWS_MAX = 14
HEAD = (
    "searched", "by", "searches", "official", "best known", "measured", "lowest", "gap",
    "gap to best known",
)  # fmt: skip
MEANING = (
    "gap: to the official target, below 0 where it is beaten; means over searches;"
    " without searches that are not valid"
)


def shown(row: Compared) -> tuple[str, ...]:
    """Format a row for a reader; HEAD names its columns."""
    costs = map(_cost, (row.official, row.best_known, row.measured, row.lowest))
    gaps = map(_percent, (row.gap, row.gap_best_known))
    return (row.workload or row.cell, row.search, str(row.searches), *costs, *gaps)


def of_cells(rows: Sequence[Compared]) -> list[Compared]:
    """Select the rows of whole cells; where they are many, those of the last way to
    search.
    """
    cells = [row for row in rows if not row.workload]
    return (
        cells
        if len(cells) <= ROWS_MAX
        else list({row.cell: row for row in cells}.values())
    )


def _cost(cost: float | None) -> str:
    return (
        "–" if cost is None else f"{cost:.0f}" if cost == round(cost) else f"{cost:.2f}"
    )


def _percent(gap: float | None) -> str:
    return "–" if gap is None else f"{100 * gap:.2f} %"
