# SPDX-License-Identifier: Apache-2.0
"""The system under test: what a backend implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rig.model.completion import Completion

if TYPE_CHECKING:
    from rig.model.steps import Query, Solve, Stream


@dataclass(frozen=True, slots=True)
class SutInfo:
    """What a SUT is.

    `batch_max` is how many samples it can process in one window, 0 where it knows no batches.
    `solves` and `streams`: it can do Solve and Stream steps (Solving, Streaming); `thresholds_max`
    is how many it can mark in one search. `sync_hold_s` is the length of a SYNC pulse, 0 where it
    is not known; `marks_phases` is False where phases cannot be marked apart (the text layer marks
    only start and end). `clock` is the host's clock that the ticks count, "CLOCK_MONOTONIC", where
    the SUT is the host itself: then tick 0 is that clock's 0; empty for a device with a timer of
    its own; "edges" for one that only pulses SYNC (rig/timebase/edge_clock.py): the ticks are then
    the host's microseconds and tell no more than which edge is which.
    """

    name: str
    kind: str
    simulated: bool
    tick_hz: int
    task: str
    model: str = ""
    firmware: str = ""
    link: str = ""
    slots: int = 1
    batch_max: int = 0
    solves: bool = False
    thresholds_max: int = 0
    streams: bool = False
    slot_bytes: int = 0
    has_sync_line: bool = True
    sync_hold_s: float = 0.0
    marks_phases: bool = True
    clock: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class SystemUnderTest(Protocol):
    """Five methods; each raises SutError, DeadlineError, ProtocolError or DeviceLost, and nothing
    else.
    """

    @property
    def info(self) -> SutInfo:
        """Return what the device said of itself."""

    def load(self, index: int, payload: bytes) -> None:
        """Bring `payload` into device memory as sample `index`, checked end to end."""

    def idle(self, duration_s: float) -> Completion:
        """Stay configured and ready for `duration_s`; two marks."""

    def sync(self) -> Completion:
        """Give one SYNC burst; one mark a pulse."""

    def run(self, query: Query) -> Completion:
        """Process the loaded samples of `query`; a mark at the start of each phase, or of the
        batch, and one at the end.
        """

    def close(self) -> None:
        """Leave the device as a stranger would like to find it; closing twice is allowed."""


@runtime_checkable
class Solving(Protocol):
    """What a SUT offers besides that can search a workload by itself; raises as a SystemUnderTest
    does.
    """

    def solve(self, step: Solve) -> Completion:
        """Search the loaded workload: a mark 1 at the start, REACHED + i at thresholds, END;
        `output` is the task's.
        """


@runtime_checkable
class Streaming(Protocol):
    """What a SUT offers besides that can listen to a signal while it answers; raises as a
    SystemUnderTest does.
    """

    def stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play the stream, whose windows as payloads are `windows`.

        A mark STREAM where its first sample is played; for each window 1, 2, ... at its phases and
        DECIDED behind them; END. The `output` is those of the windows, joined, all of one length.
        """
