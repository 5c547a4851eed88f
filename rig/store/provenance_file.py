# SPDX-License-Identifier: Apache-2.0
"""The content of provenance.json as frozen dataclasses: how a session came about.

What a plug-in says besides of itself or its data is free: a backend and a driver put it into the
`details` of their info, and of a task's provenance `details` holds every key that TaskFacts does
not name; in the file these stand beside the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rig import typed
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.store.session_folder import PROVENANCE, SessionFolder


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The computer on which the rig ran."""

    system: str
    machine: str
    node: str
    cpus: int | None


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """The limit of the error of the device's own clock, where no monitor checks it, and who says
    so.
    """

    limit_ppm: float
    source: str


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task's statements about its data and model; docs/RESULTS.md lists which of it becomes a
    label of the results.

    `phases` are those that the device marks. `samples` of the `test_samples` of the data are
    measured, `subset` says which. `names` are those of the samples, where they are workloads to
    search.
    """

    name: str
    phases: tuple[str, ...]
    samples: int
    source: str = ""
    official: bool = False
    unofficial: str = ""
    statement: str = ""
    subset: str = ""
    test_samples: int | None = None
    model: str = ""
    names: tuple[str, ...] = ()
    targets_meaning: str = ""
    details: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class Provenance:
    """All of provenance.json.

    `stored` is its tree as it was read, which results.json repeats.
    """

    created_utc: str
    neurorig: str
    revision: str
    bench_sha256: str
    python: str
    packages: dict[str, str]
    host: HostFacts
    simulated: bool
    sut: SutInfo
    monitors: dict[str, MonitorInfo]
    task: TaskFacts
    metadata: dict[str, Any]
    device_clock: DeviceClock | None = typed.optional()
    stored: dict[str, Any] = typed.verbatim()


def from_json(tree: Any) -> Provenance:
    """Return the provenance that a JSON tree is; raise DataError."""
    return typed.from_json(Provenance, tree, PROVENANCE)


def read(folder: SessionFolder) -> Provenance:
    """Read a session's provenance; raise DataError."""
    return from_json(folder.provenance())
