# SPDX-License-Identifier: Apache-2.0
"""Sessions whose values over time are one history: of one bench, device, task, scenario
and monitor, all simulated or none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rig.api.archive.collected import Collected
from rig.api.archive.results_table import TableRow


@dataclass(frozen=True, slots=True)
class Series:
    """The facts that the sessions of a history have in common."""

    bench: str
    device: str
    task: str
    scenario: str
    monitor: str
    simulated: bool

    @classmethod
    def of(cls, session: Collected) -> Series:
        """Return the series of a session."""
        listed = session.listed
        simulated = session.results is not None and session.results.simulated
        return cls(
            bench=listed.bench,
            device=listed.device,
            task=listed.task,
            scenario=listed.scenario,
            monitor=listed.monitors,
            simulated=simulated,
        )

    @property
    def title(self) -> str:
        """Bench, device and monitor."""
        return f"{self.bench}: {self.device}, {self.monitor or 'no energy monitor'}"

    @property
    def about(self) -> str:
        """Task and scenario."""
        return f"{self.task}, {self.scenario}"


def by_series(rows: Iterable[TableRow]) -> dict[Series, list[TableRow]]:
    """Return the rows of each series, in their order."""
    groups: dict[Series, list[TableRow]] = {}
    for each in rows:
        groups.setdefault(Series.of(each.session), []).append(each)
    return groups
