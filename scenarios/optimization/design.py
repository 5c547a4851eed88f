# SPDX-License-Identifier: Apache-2.0
"""Numbers of workloads and searches, and the intervals for which they are enough. Pure.

The numbers alone decide. An interval withheld after a look at the values would select
sessions: stated intervals would then hold the truth less often (30 to 95 % where three
costs above their bound were required).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rig.units import plural

#: Degrees of freedom below which an interval of a skewed mean is 3 to 100 times as wide
#: as the mean: of searches of the same workloads, and of workloads.
SEARCHES_LEAST = 4
WORKLOADS_LEAST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Numbers of the searches of a metric: workloads in each cell, solver seeds of
    each workload, and all searches, with trials that repeat a seed."""

    workloads: Mapping[str, int]
    seeds: Sequence[int]
    searches: int
    trials: int

    @property
    def searches_freedom(self) -> int:
        """The degrees of freedom within workloads."""
        return sum(self.seeds) - len(self.seeds)

    @property
    def workloads_freedom(self) -> int:
        """The degrees of freedom within cells."""
        return sum(self.workloads.values()) - len(self.workloads)

    @property
    def why_uneven(self) -> str:
        """Reason why a mean with equal weights of all workloads does not exist;
        empty where all were searched equally often."""
        same = len(set(self.seeds)) <= 1
        return (
            "" if same else "not known: not all workloads were searched equally often"
        )

    def why_not_same(self, least: int = 1) -> str:
        """Return why the scatter of searches is not known with so many degrees of
        freedom; empty where it is.
        """
        each = max(self.seeds, default=0)
        if each == 1 and self.trials > 1 and sum(self.seeds) < self.searches:
            return (
                "not known: every trial repeats the same search of each workload "
                "(reseed = false), so other solver seeds were not tried"
            )
        if each == 1:
            return (
                "not known: 1 search of each workload; more trials or attempts show"
                " what other solver seeds give"
            )
        if self.searches_freedom < least:
            return (
                f"not known: {each} searches of each of"
                f" {plural(len(self.seeds), 'workload')}; searches less workloads must"
                f" be {least} or more: more trials or attempts"
            )
        return ""

    def why_not_other(self, least: int = WORKLOADS_LEAST) -> str:
        """Return why the scatter of workloads is not known with so many degrees of
        freedom; empty where it is.
        """
        fewest = min(self.workloads.values(), default=0)
        cells = len(self.workloads)
        if fewest >= 2 and self.workloads_freedom >= least:
            return ""
        reason = f"not known: {plural(fewest, 'workload')} a cell"
        if cells > 1 and fewest >= 2:
            reason += f", {cells} cells"
        return (
            f"{reason}; two or more of each cell, and workloads less cells of {least}"
            " or more, show what other workloads give"
        )

    @property
    def same_units(self) -> str:
        """Return what counts as independent for the same workloads."""
        return (
            f"{max(self.seeds, default=0)} solver seeds of each of {self.other_units}"
        )

    @property
    def other_units(self) -> str:
        """Return what counts as independent for other workloads."""
        return plural(sum(self.workloads.values()), "workload")
