# SPDX-License-Identifier: Apache-2.0
"""Real SYNC pulses around the steps of a backend: on RTS, DTR or a GPIO line of this
computer.

Backends report their marks when a step is over, too late for a pulse. Therefore one
pulse precedes the step and one follows it, and the marks are those of the pulses: the
phases of a query are one window, which includes the calls of the backend.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Protocol

from rig.errors import ConfigError, LocalProtocolError
from rig.host.stop import pause
from rig.interfaces.sut import SutInfo, SystemUnderTest
from rig.model.completion import BATCH, END, IDLE, SYNC, Completion, Mark
from rig.model.steps import Idle, Load, Query, Step, Sync
from sut_backends.served.capabilities import is_simulated
from sut_backends.shim.messages import SyncMessage

_TICK_HZ = 1_000_000_000
_PHASE = 1
#: A burst whose numbers the host does not state.
_PULSES = 8
_PERIOD_S = 0.005


class PulseLine(Protocol):
    """A line that is high at rest; `set` raises DeviceLost where it is gone."""

    @property
    def name(self) -> str:
        """The name of the line for messages."""

    def set(self, level: bool) -> None:
        """Drive the line high or low."""

    def close(self) -> None:
        """Release the line; closing twice is allowed."""


class PulsedSut:
    """A backend with a pulse on a line before and after each step.

    `worst_stamp_s` is the largest possible distance of a mark from its edge: half the
    time that setting the line took.
    """

    def __init__(self, sut: SystemUnderTest, line: PulseLine, hold_s: float) -> None:
        if is_simulated(sut.info):
            raise ConfigError(
                f"{sut.info.name} is simulated: a pulse in real time would say nothing"
                " of it",
                path="--sync",
                try_next="serve it without --sync; then there is no SYNC line",
            )
        self._sut = sut
        self._line = line
        self._hold_s = hold_s
        self.worst_stamp_s = 0.0
        line.set(True)

    @property
    def info(self) -> SutInfo:
        """The backend's report about itself, without the abilities that need
        marks inside of a step.
        """
        info = self._sut.info
        return dataclasses.replace(
            info,
            tick_hz=_TICK_HZ,
            solves=False,
            thresholds_max=0,
            streams=False,
            has_sync_line=True,
            sync_hold_s=self._hold_s,
            marks_phases=False,
            clock="",
            details={**info.details, "phases": 1, "knows_thresholds": False},
            firmware=f"{info.firmware}, SYNC around each step by {self._line.name}",
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step between two pulses; loads have none."""
        match step:
            case Load():
                return self._sut.do(step, payloads)
            case Idle():
                return self._between(IDLE, step)
            case Query():
                return self._between(BATCH if step.batch else _PHASE, step)
            case Sync():
                return self.burst(_PULSES, _PERIOD_S)
        raise LocalProtocolError(
            "marks inside of a step cannot be pulsed", try_next="no --sync"
        )

    def burst(self, count: int, period_s: float) -> Completion:
        """Give a burst of pulses."""
        marks: list[Mark] = []
        due_ns = time.monotonic_ns()
        for number in range(count):
            pause(max(due_ns - time.monotonic_ns(), 0) / _TICK_HZ)
            marks.append(self._pulse(SYNC))
            intervals = SyncMessage.intervals
            due_ns += round(intervals[number % len(intervals)] * period_s * _TICK_HZ)
        return Completion(tuple(marks), iterations=0)

    def close(self) -> None:
        """Close the backend, and release the line at rest."""
        try:
            self._sut.close()
        finally:
            self._line.close()

    def _between(self, phase: int, step: Step) -> Completion:
        begin = self._pulse(phase)
        pause(self._hold_s)  # high as long as it was low, even if the step is shorter
        completion = self._sut.do(step)
        end = self._pulse(END)
        return dataclasses.replace(completion, marks=(begin, end))

    def _pulse(self, phase: int) -> Mark:
        before_ns = time.monotonic_ns()
        self._line.set(False)
        after_ns = time.monotonic_ns()
        pause(self._hold_s)
        self._line.set(True)
        self.worst_stamp_s = max(
            self.worst_stamp_s, (after_ns - before_ns) / 2 / _TICK_HZ
        )
        return Mark(phase, (before_ns + after_ns) // 2)
