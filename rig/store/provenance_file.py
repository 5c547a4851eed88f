# SPDX-License-Identifier: Apache-2.0
"""The content of provenance.json as frozen dataclasses: how a session came about.

What a plug-in says besides of itself or its data is free: a backend and a driver put it
into the `details` of their info, and of a task's provenance `details` holds every key
that TaskFacts does not name; in the file these stand beside the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rig.files import typed
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.store.session_folder import PROVENANCE, SessionFolder

#: What `uart_log` says of logs that begin with the opening of the line, and show every
#: answer.
WHOLE = "whole"
#: What must be the same for a session to go on.
_OF_BENCH = ("neurorig", "revision", "bench_sha256", "task")
_OF_SUT = ("name", "kind", "model", "firmware", "tick_hz")
_OF_MONITOR = ("name", "kind", "serial", "sample_hz", "edge_hz")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The computer on which the rig ran."""

    system: str
    machine: str
    node: str
    cpus: int | None


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """The limit of the error of the device's own clock, where no monitor checks it, and
    who says so.
    """

    limit_ppm: float
    source: str


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task's statements about its data and model; docs/reference/RESULTS.md lists
    which of it becomes a label of the results.

    `phases` are those that the device marks. `samples` of the `test_samples` of the
    data are measured, `subset` says which. `names` are those of the samples, where they
    are workloads to search. `stored` is all of it as it was read.
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
    stored: dict[str, Any] = typed.verbatim()


@dataclass(frozen=True, slots=True)
class Provenance:
    """All of provenance.json.

    `interleaved`: the trials took turns at each sample, in one recording. `uart_log`:
    "whole" where the logs of the line have every answer; sessions of before have
    shortened ones. `revision_unknown` is why the revision could not be read; it is then
    empty. `stored` is its tree as it was read, which results.json repeats.
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
    interleaved: bool = typed.optional(False)
    uart_log: str = typed.optional("")
    revision_unknown: str = typed.optional("")
    stored: dict[str, Any] = typed.verbatim()


def from_json(tree: Any) -> Provenance:
    """Return the provenance that a JSON tree is; raise DataError."""
    return typed.from_json(Provenance, tree, PROVENANCE)


def read(folder: SessionFolder) -> Provenance:
    """Read a session's provenance; raise DataError."""
    return from_json(folder.provenance())


def changed(before: Provenance, now: Provenance) -> list[str]:
    """Return the differences between a bench and its description when the session
    began: the rig, the task, the device, the instruments.

    Properties that differ each time a device is opened (its link, its measured values)
    do not count.
    """
    parts: list[tuple[str, tuple[str, ...], Any, Any]] = [
        ("", _OF_BENCH, before, now),
        ("sut", _OF_SUT, before.sut, now.sut),
    ]
    for rail, monitor in before.monitors.items():
        part = f"monitor {rail}".strip()
        parts.append((part, _OF_MONITOR, monitor, now.monitors.get(rail)))
    for rail, monitor in before.monitors.items():
        part = f"monitor {rail}".strip()
        accuracy = getattr(now.monitors.get(rail), "accuracy", None)
        parts.append((part, ("calibration",), monitor.accuracy, accuracy))
    changes = []
    for part, keys, old, new in parts:
        for key in keys:
            was, value = _value(old, key), _value(new, key)
            if key == "revision" and _is_unknown(before, now):
                continue
            if was != value:
                changes.append(f"{part} {key}: {value!r}, was {was!r}".strip())
    return changes


def _is_unknown(*states: Provenance) -> bool:
    """Whether a revision could not be read, so that no change is known."""
    return any(state.revision_unknown for state in states)


def _value(part: Any, key: str) -> Any:
    """Return a field as the file has it; None of a part that is not there."""
    value = getattr(part, key, None)
    return value.stored if isinstance(value, TaskFacts) else value
