# SPDX-License-Identifier: Apache-2.0
"""A DUT that restarts is entered again, gets the samples back that it had acknowledged,
and goes on with the step it was in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from rig.errors import (
    DeadlineError,
    DeviceLost,
    DeviceRestarted,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion
from rig.model.steps import Load, Step, Stream
from sut_backends.uart.layer import ProtocolLayer


class ResumingLayer:
    """Stand in front of a layer that `enter` gives, now and after each restart.

    A step that a restart broke is done again from its beginning: the window of a query
    is lost then, and the edges it had made are the trial's problem. Each completion
    says how many restarts there were since the one before. A DUT that restarts twice in
    one step is lost.
    """

    def __init__(self, enter: Callable[[], ProtocolLayer]) -> None:
        self._enter = enter
        self.layer = enter()
        self._slots = max(self.layer.info.slots, 1)
        # what was acknowledged, least recently used first
        self._samples: dict[int, bytes] = {}
        self._restarts = 0
        # frames retransmitted to a DUT that restarted before the next completion
        self._untold = 0

    @property
    def info(self) -> SutInfo:
        """Return what the DUT says of itself."""
        return self.layer.info

    @property
    def untold_retransmissions(self) -> int:
        """Return how many frames were retransmitted since the last completion."""
        return self._untold + self.layer.untold_retransmissions

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step, and once more where a restart broke it."""
        if isinstance(step, Stream):
            return self._told(self._stream(step, payloads))
        if isinstance(step, Load):
            self._samples.pop(step.index, None)
            completion = self._done(step, payloads)
            self._remember(step.index, payloads[0])
            return completion
        for index in step.samples_named:
            if index in self._samples:
                self._samples[index] = self._samples.pop(index)
        return self._told(self._done(step, payloads))

    def forgotten(self) -> bool:
        """Return whether the DUT forgot its session."""
        return self.layer.forgotten()

    def leave(self) -> None:
        """Take the DUT to the text layer at the first line rate."""
        self.layer.leave()

    def _remember(self, index: int, payload: bytes) -> None:
        self._samples[index] = payload
        while len(self._samples) > self._slots:
            del self._samples[next(iter(self._samples))]

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream, once: a signal that a restart interrupts cannot be gone on
        with. Samples are loaded again after it.
        """
        self._samples.clear()
        try:
            return self.layer.do(step, windows)
        except (DeadlineError, RemoteProtocolError) as error:
            if not self.layer.forgotten():
                raise
            raise DeviceRestarted(
                "the DUT restarted in the middle of a stream",
                evidence=f"{error.cause}; {error.evidence}",
                try_next="look at its supply, its reset line and its watchdog",
            ) from error

    def _done(self, step: Step, payloads: Sequence[bytes]) -> Completion:
        try:
            return self.layer.do(step, payloads)
        except (DeviceRestarted, DeadlineError, RemoteProtocolError) as error:
            if not isinstance(error, DeviceRestarted) and not self.layer.forgotten():
                raise
            self._resume(error)
        try:
            return self.layer.do(step, payloads)
        except DeviceRestarted as error:
            raise DeviceLost(
                "the DUT restarted twice in one step",
                evidence=error.evidence,
                try_next=error.try_next,
            ) from error

    def _resume(self, error: RigError) -> None:
        before = self.layer.info
        self._untold += self.layer.untold_retransmissions
        try:
            self.layer = self._enter()
            for index, payload in self._samples.items():
                self.layer.do(Load(index), [payload])
        except RigError as failure:
            evidence = f"{error.evidence or error.cause}; then: {failure.cause}"
            raise DeviceLost(
                "the DUT restarted and does not come back",
                evidence=evidence,
                try_next=failure.try_next,
            ) from failure
        self._restarts += 1
        _refuse_another(before, self.layer.info)

    def _told(self, completion: Completion) -> Completion:
        if not (self._restarts or self._untold):
            return completion
        restarts = self._restarts
        self._restarts = 0
        untold = self._untold
        self._untold = 0
        return dataclasses.replace(
            completion,
            retransmissions=completion.retransmissions + untold,
            restarts=restarts,
        )


def _refuse_another(before: SutInfo, after: SutInfo) -> None:
    names = ("name", "firmware", "task", "model", "tick_hz")
    changed = [
        f"{name}: {getattr(before, name)!r}, now {getattr(after, name)!r}"
        for name in names
    ]
    changed = [
        change
        for name, change in zip(names, changed, strict=True)
        if getattr(before, name) != getattr(after, name)
    ]
    if changed:
        raise RemoteProtocolError(
            "the DUT restarted as another one",
            evidence="; ".join(changed),
            try_next="start the session again",
        )
