# SPDX-License-Identifier: Apache-2.0
"""What provenance.json says of the task: its workloads with their targets, and where
these are from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rig.files import typed
from rig.store.session_folder import PROVENANCE
from scenarios.tasks.qubo.graph import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFacts:
    """A workload: its graph, by its hash, and both targets; None where there is none.

    Before there were two targets a session had the best known one alone, as `target`.
    """

    name: str
    nodes: int
    density: float
    seed: int
    edges: int
    graph_sha256: str
    official: int | None = None
    official_source: str = ""
    best_known: int | None = None
    target: int | None = typed.optional()
    proven: bool = False
    best_known_method: str = ""
    best_known_date: str = ""
    parameters: dict[str, Any]
    more: dict[str, Any] = typed.rest()

    @property
    def workload(self) -> Workload:
        """Return what its graph is made of."""
        return Workload(self.nodes, self.density, self.seed)

    @property
    def best(self) -> int | None:
        """The cost of the best vector known, also in a session of before."""
        return self.best_known if self.target is None else self.target


@dataclass(frozen=True, slots=True)
class QuboFacts:
    """The task's part of provenance.json, as far as it is read again."""

    workloads: tuple[WorkloadFacts, ...]
    targets: str = ""
    targets_version: int | None = None
    official_targets: str = ""
    more: dict[str, Any] = typed.rest()


def of(task: Mapping[str, Any]) -> QuboFacts:
    """Read a session's facts of its workloads; raise DataError."""
    return typed.from_json(QuboFacts, dict(task), f"{PROVENANCE}, task")
