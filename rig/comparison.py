# SPDX-License-Identifier: Apache-2.0
"""Costs that searches found, beside the official and the best known ones: rows of results.json, of the report and the terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Compared:
    """What the searches of one workload found in one way, in all trials; without a `workload`: those of its whole cell.

    `search` is a time-out ("10ms") or "target". Costs and gaps are means over the searches, of a cell also over its workloads;
    `lowest` is the least cost of all (of a cell None: its workloads have targets of their own). A target that is not known for
    every workload is None, and so is the gap to it. A gap below 0 means that the target is beaten.
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
