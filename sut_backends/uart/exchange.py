# SPDX-License-Identifier: Apache-2.0
"""The loop that drives a ShimLink over a line: reads, writes, looks at the clock, and
turns failures into named errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rig.errors import (
    DeadlineError,
    DeviceRestarted,
    RemoteProtocolError,
    RigError,
    SutError,
)
from sut_backends.lines.line import DutLine
from sut_backends.shim.burst import Burst
from sut_backends.shim.frame import Frame
from sut_backends.shim.link import ShimLink, Transfer
from sut_backends.shim.messages import (
    ERROR_MEANING,
    BaudMessage,
    MessageKind,
    Payload,
    RefusalMessage,
)
from sut_backends.shim.request import REPEATS_MAX, Request, SilentWindow

_READ_MAX_S = 1.0
_SWITCH_ATTEMPTS = 2  # a lost STATUS costs one
_PINGS = 5
_BACK_S = 0.6
_Reply = TypeVar("_Reply", bound=Payload)


class Switch(NamedTuple):
    """Result of a change of the line rate: the rate in use, and why it is not the one
    asked for."""

    baud: int
    refusal: str = ""


class FrameExchange:
    """Drive one transfer after the other to its end."""

    def __init__(
        self, line: DutLine, link: ShimLink, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.line = line
        self.link = link
        self._clock = clock

    @property
    def now_s(self) -> float:
        """The time by the host's clock."""
        return self._clock()

    def ask(
        self,
        kind: MessageKind,
        payload: bytes = b"",
        *,
        expect: MessageKind = MessageKind.STATUS,
        silence: SilentWindow | None = None,
        repeats_max: int = REPEATS_MAX,
    ) -> bytes:
        """Send one request; return the payload of its answer, which must be of kind
        `expect`.

        Raise SutError when the DUT refuses, DeadlineError or RemoteProtocolError when
        it does not answer, DeviceRestarted when it says so.
        """
        request = self.link.request(kind, payload, silence, repeats_max)
        self._drive(request)
        return _accepted(request.answer, kind, expect)

    def fetch(
        self,
        request: Payload,
        reply: type[_Reply],
        *,
        silence: SilentWindow | None = None,
        repeats_max: int = REPEATS_MAX,
    ) -> _Reply:
        """Send one request and read its answer as a `reply`; raise as `ask` does, and
        RemoteProtocolError for an answer that is none.
        """
        answer = self.ask(
            request.kind,
            request.pack(),
            expect=reply.kind,
            silence=silence,
            repeats_max=repeats_max,
        )
        try:
            return reply.unpack(answer)
        except ValueError as error:
            raise RemoteProtocolError(
                f"an answer of the DUT cannot be read: {error}"
            ) from error

    def stream(
        self, requests: Sequence[tuple[MessageKind, bytes]], fragile: bool = False
    ) -> bool:
        """Send requests without waiting for answers in between, until all are there and
        the last is answered; raise as `ask` does.

        Return False where they were `fragile` and most of them broke: shorter ones may
        get through.
        """
        stream = self.link.stream(requests, fragile)
        self._drive(stream)
        if stream.answer:
            _accepted(stream.answer, stream.asked, MessageKind.STATUS)
        return not stream.abandoned

    def burst(self) -> Burst:
        """Send as many full frames back to back as the DUT takes, which executes none
        of them; return how many it received.
        """
        burst = self.link.burst()
        self._drive(burst)
        return burst

    def switch_baud(self, baud: int) -> Switch:
        """Change the line rate of a DUT that can; stay at the old one where the new one
        does not work.
        """
        for _ in range(_SWITCH_ATTEMPTS):
            try:
                self.ask(MessageKind.BAUD, BaudMessage(baud).pack())
            except SutError as error:
                return Switch(self.line.baud, error.with_evidence)
            if self._moved(baud):
                return Switch(baud)
        return Switch(self.line.baud, f"no answer at {baud} baud")

    def _moved(self, baud: int) -> bool:
        old = self.line.baud
        status_s = time.monotonic()
        self._set_baud(baud)
        if self._answers():
            return True
        self._set_baud(old)
        time.sleep(max(status_s + _BACK_S - time.monotonic(), 0.0))
        if self._answers():
            return False
        raise DeadlineError(
            "answer after the change of the line rate",
            time.monotonic() - status_s,
            evidence=f"neither at {baud} nor at {old} baud on {self.line.name}",
            try_next="reset the DUT",
        )

    def _set_baud(self, baud: int) -> None:
        self.line.set_baud(baud)
        self.link.timeouts.baud = baud

    def _answers(self) -> bool:
        try:
            self.ask(
                MessageKind.PING, b"baud", expect=MessageKind.PONG, repeats_max=_PINGS
            )
        except (DeadlineError, RemoteProtocolError):
            # The DUT may not have received this number: the next PING carries it again.
            self.link.rewind()
            return False
        return True

    def _drive(self, transfer: Transfer) -> None:
        started_s = self._clock()
        received_b = self.link.received_b
        dropped = self.link.decoder.dropped
        while not transfer.finished:
            self._turn()
            if self.link.restarted:
                break
        if transfer.finished:
            self.link.end()
        if self.link.restarted:
            raise self._restarted()
        if transfer.failed:
            broken = self.link.decoder.dropped > dropped or bool(
                self.link.decoder.pending
            )
            raise self._silent(
                transfer,
                self._clock() - started_s,
                self.link.received_b - received_b,
                broken,
            )

    def _turn(self) -> None:
        # A time-out counts only after a read that began later returned no byte: where
        # this process was scheduled late, the answer is waiting in the system's buffer.
        now_s = self._clock()
        block = self.link.outgoing(now_s)
        if block:
            self.line.write(block)
        wait_s = min(max(self.link.wake_s - now_s, 0.0), _READ_MAX_S)
        block = self.line.read(wait_s)
        if block:
            self.link.feed(block, self._clock())
        else:
            self.link.expire(now_s)

    @property
    def _evidence(self) -> str:
        heard = (self.link.decoder.dropped_tail + self.link.decoder.pending)[-80:]
        counts = (
            f"{self.link.decoder.dropped} broken frames received and "
            f"{self.link.retransmissions} retransmitted in this session"
        )
        return (
            f"{counts}; last bytes that were no frame: {heard!r}" if heard else counts
        )

    def _restarted(self) -> DeviceRestarted:
        heard = f"it says what it says in the text layer only; {self._evidence}"
        return DeviceRestarted(
            "the DUT restarted",
            evidence=heard,
            try_next="look at its supply, its reset line and its watchdog",
        )

    def _silent(
        self, transfer: Transfer, waited_s: float, received_b: int, broken: bool
    ) -> RigError:
        where = f"{self.line.name} at {self.line.baud} baud"
        evidence = (
            f"{received_b} bytes received on {where} meanwhile, retransmitted "
            f"{transfer.repeats} times; {self._evidence}"
        )
        try_next = (
            "look at the DUT's supply and wiring; a slower line rate if frames break"
        )
        if isinstance(transfer, Request) and transfer.try_next:
            try_next = f"{transfer.try_next}; else {try_next}"
        if broken:
            cause = f"no {transfer.awaited} within {waited_s:.3g} s, only broken frames"
            return RemoteProtocolError(
                cause, evidence=evidence, try_next=try_next, see="bytes-are-lost"
            )
        return DeadlineError(
            transfer.awaited,
            waited_s,
            evidence=evidence,
            try_next=try_next,
            see="no-answer",
        )


def _accepted(answer: Frame | None, asked: MessageKind, expect: MessageKind) -> bytes:
    if answer is not None and answer.kind == MessageKind.ERROR:
        raise _refused(asked.name, answer)
    if answer is None or answer.kind != expect:
        raise RemoteProtocolError(
            f"{asked.name} was answered by message {answer.kind if answer else 0:#04x},"
            f" not {expect.name}"
        )
    return answer.payload


def _refused(what: str, answer: Frame) -> SutError:
    try:
        refusal = RefusalMessage.unpack(answer.payload)
    except ValueError as error:
        raise RemoteProtocolError(
            f"{what}: the DUT's ERROR cannot be read: {error}"
        ) from error
    meaning = ERROR_MEANING.get(refusal.code, "unknown code")
    evidence = f"error {refusal.code}, detail {refusal.detail}" + (
        f": {refusal.text}" if refusal.text else ""
    )
    return SutError(
        f"the DUT refused {what}: {meaning}", code=refusal.code, evidence=evidence
    )
