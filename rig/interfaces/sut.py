# SPDX-License-Identifier: Apache-2.0
"""The system under test, as a backend drives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rig.model.completion import Completion
from rig.model.origin import Origin, Origins, of_part
from rig.model.steps import Step

#: SutInfo.clock where ticks are those of the host.
HOST_CLOCK = "CLOCK_MONOTONIC"


#: How the firmware of a served device begins (`rig serve`), before the version.
SERVED_BY = "served by neurorig "


@dataclass(frozen=True, slots=True)
class SutInfo:
    """Description of a SUT.

    `batch_max` is how many samples it can process in one window, 0 where it knows no
    batches. `solves` and `streams`: it can do Solve and Stream steps; `thresholds_max`
    is how many it can mark in one search. `sync_hold_s` is the length of a SYNC pulse,
    0 where it is not known; `marks_phases` is False where phases cannot be marked apart
    (the text layer marks only start and end). `clock` is the host's clock that the
    ticks count, "CLOCK_MONOTONIC", where the SUT is the host itself: then tick 0 is
    that clock's 0; empty for a device with a timer of its own; "edges" for one that
    only pulses SYNC (rig/timebase/edge_clock.py): the ticks are then the host's
    microseconds and tell no more than which edge is which. `origins`: what its times
    and energies are; None: measured, or simulated where `simulated` says so.
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
    origins: Origins | None = None

    @property
    def image(self) -> str:
        """The firmware without the name of a server that passes the device on."""
        if not self.firmware.startswith(SERVED_BY):
            return self.firmware
        _, _, image = self.firmware.removeprefix(SERVED_BY).partition(" ")
        return image

    @property
    def times_of_host_simulator(self) -> bool:
        """Whether times are the running times of a simulator of the device on this
        host: they are simulated, and the host's clock counted them. Such a time is
        neither the device's nor an emulator's virtual time: it changes with the load of
        the host. False for a program whose system under test is the host, as its times
        are measured.
        """
        time = self.origins.time if self.origins else of_part(self.simulated)
        return time is Origin.SIMULATED and self.clock == HOST_CLOCK


class SystemUnderTest(Protocol):
    """A device that a backend drives; raises SutError, DeadlineError, ProtocolError or
    DeviceLost, and no other error.
    """

    @property
    def info(self) -> SutInfo:
        """Description of the device as it reports it."""

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do one step and return the device's report; LocalProtocolError for a step
        that it cannot do.

        A Load brings its one payload into device memory, checked end to end, and has no
        marks; it stays there as it is until the next one takes its place, however often
        it is queried. Idle has two marks, Sync one for each pulse, a Query one at the
        start of each phase (or of the batch) and END. A Solve begins with a mark 1, has
        REACHED + i where thresholds are reached, and END; its output is the task's. A
        Stream, whose windows are `payloads`, has STREAM where its first sample is
        played, for each window 1, 2, ... at its phases and DECIDED after them, and
        END; its output is those of the windows, joined, all of one length.
        """

    def close(self) -> None:
        """Leave the device ready for any host; closing twice is allowed."""
