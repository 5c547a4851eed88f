# SPDX-License-Identifier: Apache-2.0
"""Messages between a worker and the rig: the start, the requests, the answers.

Each is a line of JSON and as many bytes after it as its `bytes` says. Both ends import
this file: it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from sut_backends.workers.inside.search import Order
from sut_backends.workers.inside.stream import Signal


@dataclass(frozen=True)
class WorkerStart:
    """Start of a worker: the routine's `entry` and its arguments, a core (-1: any) and
    the threads of numerical libraries."""

    entry: str
    arguments: Mapping[str, Any]
    core: int
    threads: int


@dataclass(frozen=True)
class WorkerAbout:
    """Description of a worker that has opened its routine; `details` are the routine's
    own."""

    python: str
    numpy: str
    cores: list[int]
    overhead_ns: float
    phases: int
    searches: bool
    details: dict[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """All but the routine's own, by name."""
        return {
            name: value for name, value in asdict(self).items() if name != "details"
        }


@dataclass(frozen=True)
class Refusal:
    """Reason for the failure of a request or of the start: `refused` if intended,
    `missing` is the module that is not there."""

    error: str
    refused: bool
    python: str = ""
    missing: str | None = None


@dataclass(frozen=True)
class LoadRequest:
    """Bytes for a slot."""

    op: ClassVar[str] = "load"
    slot: int


@dataclass(frozen=True)
class RunRequest:
    """Phases over slots; of a batch all phases of each."""

    op: ClassVar[str] = "run"
    slots: Sequence[int]
    repeat: int
    batch: bool


@dataclass(frozen=True)
class SolveRequest:
    """A search of a slot."""

    op: ClassVar[str] = "solve"
    slot: int
    order: Order


@dataclass(frozen=True)
class StreamRequest:
    """A signal to play; its windows for which there are no slots follow once it has
    started."""

    op: ClassVar[str] = "stream"
    signal: Signal


Request = LoadRequest | RunRequest | SolveRequest | StreamRequest


@dataclass(frozen=True)
class Done:
    """Result of a request: marks (phase, CLOCK_MONOTONIC in ns), the time at which each
    threshold of a search was known (ns), and the faults of a stream."""

    marks: Sequence[tuple[int, int]] = ()
    known: Sequence[int] = ()
    faults: Sequence[str] = field(default=())


def request_json(request: Request) -> dict[str, Any]:
    """Convert a request to JSON."""
    return {"op": request.op, **asdict(request)}


def request_of(content: Mapping[str, Any]) -> Request:
    """Read a request from JSON; raises ValueError for one that is not known."""
    match content:
        case {"op": LoadRequest.op, "slot": slot}:
            return LoadRequest(slot)
        case {"op": RunRequest.op, "slots": slots, "repeat": repeat, "batch": batch}:
            return RunRequest(slots, repeat, batch)
        case {"op": SolveRequest.op, "slot": slot, "order": order}:
            return SolveRequest(slot, Order(**order))
        case {"op": StreamRequest.op, "signal": signal}:
            return StreamRequest(Signal(**signal))
    raise ValueError(f"no such request: {content}")


def done_of(content: Mapping[str, Any]) -> Done | Refusal:
    """Read the result of a request from JSON."""
    return Refusal(**content) if "error" in content else Done(**content)


def about_of(content: Mapping[str, Any]) -> WorkerAbout | Refusal:
    """Read a worker's description at its start from JSON."""
    return Refusal(**content) if "error" in content else WorkerAbout(**content)
