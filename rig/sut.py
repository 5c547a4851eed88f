# SPDX-License-Identifier: Apache-2.0
"""The system under test (SUT): the interface every backend offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rig.plan import Query, Solve, Stream

END = 0x00
BATCH = 0x03
STREAM = 0x20
DECIDED = 0x21
IDLE = 0x40
SYNC = 0x50
#: Of a search: all its thresholds up to number 0, 1, ... are reached.
REACHED = 0x60


@dataclass(frozen=True, slots=True)
class Mark:
    """One SYNC pulse in the device's own time: the phase that begins, as docs/PROTOCOL.md section 4 numbers it, and the tick."""

    phase: int
    tick: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What the device says after a query, an idle time or a SYNC burst.

    `marks` are in device ticks; `output` is the task's; `retransmissions` counts frames repeated since the previous completion;
    `rx_in_window_b` are bytes the device received while it should have heard nothing; `iterations` is how many times it completed
    the last phase, over all samples of the query (0 after an idle time or a burst), as it counted them itself; None: it does not
    say. `restarts` counts how often the device restarted, and was brought back, since the previous completion. `faults` are what
    went wrong in a stream, in words. `known` are the ticks at which the device itself knew each of the first thresholds of a search
    reached, before their marks waited for SYNC; None: it does not tell. `refusal` says why the device did not take an optional
    load; then there is nothing else.
    """

    marks: tuple[Mark, ...]
    output: bytes = b""
    retransmissions: int = 0
    rx_in_window_b: int = 0
    iterations: int | None = None
    restarts: int = 0
    faults: tuple[str, ...] = ()
    refusal: str = ""
    known: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SutInfo:
    """What a SUT is.

    `batch_max` is how many samples it can process in one window, 0 where it knows no batches. `solves` and `streams`: it can do
    Solve and Stream steps (Solving, Streaming); `thresholds_max` is how many it can mark in one search.
    `sync_hold_s` is the length of a SYNC pulse, 0 where it is not known; `marks_phases` is False where phases cannot be marked
    apart (the text layer marks only start and end). `clock` is the host's clock that the ticks count, "CLOCK_MONOTONIC", where the
    SUT is the host itself: then tick 0 is that clock's 0; empty for a device with a timer of its own; "edges" for one that only
    pulses SYNC (rig/edge_clock.py): the ticks are then the host's microseconds and tell no more than which edge is which.
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
    """Five methods; each raises SutError, DeadlineError, ProtocolError or DeviceLost, and nothing else."""

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
        """Process the loaded samples of `query`; a mark at the start of each phase, or of the batch, and one at the end."""

    def close(self) -> None:
        """Leave the device as a stranger would like to find it; closing twice is allowed."""


@runtime_checkable
class Solving(Protocol):
    """What a SUT offers besides that can search a workload by itself; raises as a SystemUnderTest does."""

    def solve(self, step: Solve) -> Completion:
        """Search the loaded workload: a mark 1 at the start, REACHED + i at thresholds, END; `output` is the task's."""


@runtime_checkable
class Streaming(Protocol):
    """What a SUT offers besides that can listen to a signal while it answers; raises as a SystemUnderTest does."""

    def stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play the stream, whose windows as payloads are `windows`.

        A mark STREAM where its first sample is played; for each window 1, 2, ... at its phases and DECIDED behind them; END. The
        `output` is those of the windows, joined, all of one length.
        """
