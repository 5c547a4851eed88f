# SPDX-License-Identifier: Apache-2.0
"""A system under test on a line that speaks the shim protocol, and its restarts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from rig.errors import (
    ConfigError,
    DeadlineError,
    DeviceLost,
    DeviceRestarted,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.recount import Recount, WireBlock
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion
from rig.model.steps import Load, Step, Stream
from sut_backends.lines.line import DutLine
from sut_backends.shim.console import ShimDecoder
from sut_backends.shim.recount import recounted
from sut_backends.uart.connect import LinkSettings, enter
from sut_backends.uart.dut import Dut
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.self_test import SelfTested, self_test
from sut_backends.uart.text_client import TextClient

Guard = Callable[[], AbstractContextManager[None]]


class ShimSut(Backend):
    """Do steps on the DUT at an open line, which it owns.

    A DUT that restarts is entered again, gets the samples back that it had
    acknowledged, and the interrupted step is repeated from its beginning: the window of
    a query is lost then, and the edges it had made are a problem of the trial. Each
    completion states how many restarts there were since the one before. A DUT that
    restarts twice in one step is lost.

    Every conversation runs inside a context of `guard`; `find` enters the DUT, now and
    after each restart. Raises as `find` does, and then closes the line.
    """

    def __init__(
        self,
        line: DutLine,
        settings: LinkSettings,
        *,
        simulated: bool,
        guard: Guard = nullcontext,
        find: Callable[[DutLine, LinkSettings], Dut] = enter,
    ) -> None:
        self.line = line
        self._settings = settings
        self._simulated = simulated
        self._guard = guard
        self._find = find
        self._closed = False
        self._left_in_a_step = False
        # samples that the DUT has acknowledged, least recently used first
        self._samples: dict[int, bytes] = {}
        # since the last completion: restarts, and retransmissions before them
        self._restarts = 0
        self._unreported = 0
        try:
            with guard():
                self._dut = find(line, settings)
            _refuse_simulation(self._dut.info, simulated)
        except BaseException:
            line.close()
            raise
        self._slots = max(self._dut.info.slots, 1)

    @staticmethod
    def decoder() -> ShimDecoder:
        """Return a decoder that puts the shim protocol into words."""
        return ShimDecoder()

    @staticmethod
    def recount(blocks: Sequence[WireBlock]) -> Recount:
        """Decode a log of the line."""
        return recounted(blocks)

    @property
    def info(self) -> SutInfo:
        """The device's report about itself."""
        return dataclasses.replace(self._dut.info, simulated=self._simulated)

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step over the line, and once more where a restart interrupted it."""
        try:
            with self._guard():
                return self._do(step, payloads)
        except KeyboardInterrupt:
            self._left_in_a_step = True
            raise

    def self_test(self) -> SelfTested | None:
        """Let the DUT test itself; None in the text layer, which has no self-test.
        Raise SutError where the firmware has none.
        """
        if not isinstance(self._dut, FramedDut):
            return None
        with self._guard():
            return self_test(self._dut)

    def close(self) -> None:
        """Leave the DUT in the text layer if it still listens, and close the port.

        A DUT that was left in the middle of a step may not listen for minutes: the next
        host calls it to attention.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if not self._left_in_a_step:
                self._dut.leave()
        except RigError:
            with suppress(RigError):
                TextClient(self.line, self._settings.timeout_s).attention(0.0)
        finally:
            self.line.close()

    def _do(self, step: Step, payloads: Sequence[bytes]) -> Completion:
        if isinstance(step, Stream):
            return self._reported(self._stream(step, payloads))
        if isinstance(step, Load):
            self._samples.pop(step.index, None)
            completion = self._repeated(step, payloads)
            self._remember(step.index, payloads[0])
            return completion
        for index in step.samples_named:
            if index in self._samples:
                self._samples[index] = self._samples.pop(index)
        return self._reported(self._repeated(step, payloads))

    def _remember(self, index: int, payload: bytes) -> None:
        self._samples[index] = payload
        while len(self._samples) > self._slots:
            del self._samples[next(iter(self._samples))]

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream once: a signal cannot be continued after a restart. The
        scenario loads its samples again after it.
        """
        self._samples.clear()
        try:
            return self._dut.do(step, windows)
        except (DeadlineError, RemoteProtocolError) as error:
            if not self._dut.forgotten():
                raise
            raise DeviceRestarted(
                "the DUT restarted in the middle of a stream",
                evidence=f"{error.cause}; {error.evidence}",
                try_next="look at its supply, its reset line and its watchdog",
            ) from error

    def _repeated(self, step: Step, payloads: Sequence[bytes]) -> Completion:
        try:
            return self._dut.do(step, payloads)
        except DeviceRestarted as error:
            self._resume(error)
        except (DeadlineError, RemoteProtocolError) as error:
            if not self._dut.forgotten():
                raise
            self._resume(error)
        try:
            return self._dut.do(step, payloads)
        except DeviceRestarted as error:
            raise DeviceLost(
                "the DUT restarted twice in one step",
                evidence=error.evidence,
                try_next=error.try_next,
            ) from error

    def _resume(self, error: RigError) -> None:
        """Enter the DUT again after `error`, and load its samples again."""
        before = self._dut.info
        self._unreported += self._dut.unreported_retransmissions
        try:
            self._dut = self._find(self.line, self._settings)
            for index, payload in self._samples.items():
                self._dut.do(Load(index), [payload])
        except RigError as failure:
            evidence = f"{error.evidence or error.cause}; then: {failure.cause}"
            raise DeviceLost(
                "the DUT restarted and does not come back",
                evidence=evidence,
                try_next=failure.try_next,
            ) from failure
        self._restarts += 1
        _refuse_another(before, self._dut.info)

    def _reported(self, completion: Completion) -> Completion:
        """Return a completion that also counts restarts and the retransmissions before
        them.
        """
        if not (self._restarts or self._unreported):
            return completion
        restarts = self._restarts
        retransmissions = completion.retransmissions + self._unreported
        self._restarts = 0
        self._unreported = 0
        return dataclasses.replace(
            completion, retransmissions=retransmissions, restarts=restarts
        )


def _refuse_simulation(info: SutInfo, simulated: bool) -> None:
    if info.simulated and not simulated:
        raise ConfigError(
            f"{info.name} says that it is simulated, the bench file does not",
            path="sut.uart.simulated",
            try_next="simulated = true, and every page says so",
        )


def _refuse_another(before: SutInfo, after: SutInfo) -> None:
    changed = []
    for name in ("name", "firmware", "task", "model", "tick_hz"):
        earlier = getattr(before, name)
        now = getattr(after, name)
        if earlier != now:
            changed.append(f"{name}: {earlier!r}, now {now!r}")
    if changed:
        raise RemoteProtocolError(
            "the DUT restarted as another one",
            evidence="; ".join(changed),
            try_next="start the session again",
        )
