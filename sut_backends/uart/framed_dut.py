# SPDX-License-Identifier: Apache-2.0
"""A DUT in the framed layer: docs/reference/PROTOCOL.md sections 4 to 6."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from rig.errors import (
    DeadlineError,
    DeviceRestarted,
    LocalProtocolError,
    RemoteProtocolError,
)
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion, Mark
from rig.model.steps import Idle, Load, Query, Solve, Step, Stream, Sync
from sut_backends.lines.line import DutLine
from sut_backends.shim import messages
from sut_backends.shim.capabilities import batch_max, facts_of, thresholds_max
from sut_backends.shim.link import ShimLink
from sut_backends.shim.messages import (
    CapsMessage,
    DoneMessage,
    Flag,
    MessageKind,
    More,
)
from sut_backends.shim.request import SilentWindow
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.dut import Pulses
from sut_backends.uart.exchange import FrameExchange, Switch
from sut_backends.uart.slots import FramedSlots, only_index
from sut_backends.uart.stream_feeder import Feed

_WINDOW_REQUEST_B = 64  # RUN, IDLE or SYNC and its ACK on the line
#: Guard of a DUT that takes GO. It passes only when the GO is lost; half of it is for a
#: host that stood still.
_GUARD_WITH_GO_S = 0.25
_PINGS = 4  # enough for the deviation of the round trip to settle
#: Repeats of TEXT. Few are enough: the next host's `name%` does the same.
_LEAVE_REPEATS = 4
_REMEMBER_REPEATS = 3
_US_PER_S = 1_000_000
_U32_MAX = 2**32 - 1
_LONGER = "a longer limit_s, or a smaller repeat"
_PULSES = Pulses()
#: Ticks of a turn of a 32-bit timer. Firmware that extends it only when it reads it
#: loses the turns that pass within a window.
_TURN_TICKS = 2**32
#: A window counts as having lost a turn if it lasted so much longer by the host's clock
#: than by its ticks. The margin is for lost frames, which delay its end.
_TURN_SHARE = 0.9
_TURN_MIN_S = 30.0

_WindowRequest = (
    messages.RunMessage
    | messages.BatchMessage
    | messages.OptimizeMessage
    | messages.IdleMessage
    | messages.SyncMessage
)


class FramedDut:
    """Turn steps into messages, and DONE into a Completion, which counts the frames
    retransmitted since the one before.

    `caps` is the answer to HELLO and `slots` are the DUT's; both are set by `hello`.
    The DUT is left at `first_baud`; 0: at the present rate.
    """

    caps: CapsMessage
    slots: FramedSlots

    def __init__(
        self,
        exchange: FrameExchange,
        pulses: Pulses = _PULSES,
        first_baud: int = 0,
    ) -> None:
        self.exchange = exchange
        self._pulses = pulses
        self._first_baud = first_baud
        self._notes: dict[str, Any] = {}
        self._reported = 0  # retransmissions in completions so far

    @classmethod
    def enter(
        cls,
        line: DutLine,
        pulses: Pulses,
        *,
        timeout_s: float,
        first_baud: int,
        frame_baud: int,
        nonce: int,
    ) -> FramedDut:
        """Open a session with a DUT that has just answered `frame 1`, and change to
        `frame_baud` (0: no change).
        """
        timeouts = RetransmissionTimeouts(line.baud, timeout_s)
        exchange = FrameExchange(line, ShimLink(timeouts))
        dut = cls(exchange, pulses, first_baud)
        dut.hello(nonce)
        if frame_baud and frame_baud != line.baud:
            switch = dut.switch_baud(frame_baud)
            if switch.refusal:
                dut._notes["frame_baud_refused"] = f"{frame_baud}: {switch.refusal}"
        dut._notes["round_trip_s"] = round(timeouts.round_trip_s or 0.0, 6)
        dut._notes["guard_s"] = round(dut._line_guard_s, 6)
        return dut

    def hello(self, nonce: int) -> CapsMessage:
        """Open a session, read the DUT's capabilities, and measure the round trip. The
        last byte of the nonce becomes a `%`.
        """
        nonce = nonce & ~0xFF | ord("%")
        caps = self.exchange.fetch(messages.HelloMessage(nonce), CapsMessage)
        is_answer = caps.nonce == nonce and caps.protocol == messages.PROTOCOL
        is_usable = caps.window and caps.slots and caps.tick_hz
        if not (is_answer and is_usable and caps.max_payload_b >= 16):
            raise RemoteProtocolError(
                "the DUT's CAPS makes no sense", evidence=repr(caps)
            )
        self.caps = caps
        self.slots = FramedSlots(self.exchange, caps)
        self.exchange.link.establish(min(caps.window, 32), caps.max_payload_b)
        for number in range(_PINGS):
            self.ping(bytes([number]))
        return caps

    def ping(self, content: bytes = b"") -> None:
        """Check that the DUT returns `content`."""
        answer = self.exchange.ask(MessageKind.PING, content, expect=MessageKind.PONG)
        if answer != content:
            raise RemoteProtocolError(
                "PONG differs from PING", evidence=f"{answer!r}, not {content!r}"
            )

    def switch_baud(self, baud: int) -> Switch:
        """Change the line rate; stay at the old one where the new one does not work."""
        if not self.caps.flags & Flag.BAUD:
            return Switch(
                self.exchange.line.baud, "the DUT cannot change its line rate"
            )
        return self.exchange.switch_baud(baud)

    def leave(self) -> None:
        """Take the DUT to the text layer at the first line rate."""
        if self._first_baud not in (0, self.exchange.line.baud):
            self.switch_baud(self._first_baud)
        self.exchange.ask(MessageKind.TEXT, repeats_max=_LEAVE_REPEATS)

    @property
    def info(self) -> SutInfo:
        """The identity and capabilities that CAPS states."""
        caps = self.caps
        line = self.exchange.line
        details = {
            "layer": "framed",
            "protocol": caps.protocol,
            "baud": line.baud,
            "window": caps.window,
            "max_payload_b": caps.max_payload_b,
            "output_b": caps.output_b,
            "phases": caps.phases,
            "sync_pin": caps.sync_pin,
            "mark_blocks": Flag.MARK_NONBLOCKING not in caps.flags,
            "load_checked": True,
            "knows_thresholds": More.KNEW in caps.more,
        }
        if More.STATEFUL in caps.more:
            details |= {"stateful": True}
        return SutInfo(
            kind="uart",
            simulated=More.SIMULATED in caps.more,
            link=f"{line.name}, {line.baud} baud, framed",
            **facts_of(caps),
            sync_hold_s=(self.hold_us or caps.hold_min_us) / 1e6,
            details=details | self._notes,
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Send the messages of a step, and return the device's report."""
        match step:
            case Load():
                self.slots.load(step.index, payloads[0])
                return Completion(())
            case Idle():
                return self._idle(step.duration_s)
            case Sync():
                return self._sync()
            case Query():
                return self._query(step)
            case Solve():
                return self._search(step)
            case Stream():
                return self._stream(step, payloads)
            case _:
                raise LocalProtocolError(
                    f"the shim protocol has no message for a step of kind {step.kind!r}"
                )

    def _idle(self, duration_s: float) -> Completion:
        duration_us = round(duration_s * _US_PER_S)
        if not 0 <= duration_us <= _U32_MAX:
            raise LocalProtocolError(
                f"an idle time of {duration_s} s does not fit into 32 bits of"
                " microseconds"
            )
        request = messages.IdleMessage(duration_us, self.guard_us, self.hold_us)
        return self._completion(self.window(request, duration_s + self._grace_s))

    def _sync(self) -> Completion:
        """Request one SYNC burst, shortened to the number of marks the DUT keeps."""
        count = min(self._pulses.count, self.caps.marks_max)
        period_us = self._pulses.period_us
        pattern = messages.SyncMessage.intervals
        burst_us = sum(
            period_us * pattern[number % len(pattern)] for number in range(count)
        )
        request = messages.SyncMessage(count, period_us, self.guard_us, self.hold_us)
        limit_s = burst_us / _US_PER_S + self._grace_s
        return self._completion(self.window(request, limit_s))

    def _query(self, query: Query) -> Completion:
        """Process the sample of `query`, or all samples of a batch."""
        request: _WindowRequest
        if query.batch:
            samples_max = batch_max(self.caps)
            if len(query.indices) > samples_max:
                raise LocalProtocolError(
                    f"a batch of {len(query.indices)} samples, the DUT takes "
                    f"{samples_max or 'none'}"
                )
            slots = tuple(self.slots.find(index) for index in query.indices)
            request = messages.BatchMessage(
                query.repeat, self.guard_us, self.hold_us, slots
            )
        else:
            slot = self.slots.find(only_index(query))
            request = messages.RunMessage(
                slot, query.repeat, self.guard_us, self.hold_us
            )
        done = self.window(request, query.limit_s, _LONGER)
        self._refuse_overrun(done, query.limit_s)
        return self._completion(done)

    def _search(self, step: Solve) -> Completion:
        """Search the workload of `step`, which must be over `limit_s` after its
        time-out.
        """
        self._refuse_search(step)
        slot = self.slots.find(step.index)
        timeout_us = round(step.timeout_s * _US_PER_S)
        if not 0 < timeout_us <= _U32_MAX:
            raise LocalProtocolError(
                f"a time-out of {step.timeout_s} s is not 1 to {_U32_MAX} microseconds"
            )
        target = step.target
        if target is None:
            target = messages.OptimizeMessage.no_target
        request = messages.OptimizeMessage(
            slot=slot,
            seed=step.seed,
            timeout_us=timeout_us,
            target=target,
            guard_us=self.guard_us,
            hold_us=self.hold_us,
            thresholds=step.thresholds,
        )
        limit_s = step.timeout_s + step.limit_s
        done = self.window(request, limit_s)
        self._refuse_overrun(done, limit_s)
        known = None
        if step.thresholds and More.KNEW in self.caps.more:
            known = self._known_ticks()
        return dataclasses.replace(self._completion(done), known=known)

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream, and feed the DUT meanwhile; earlier samples are lost."""
        if Flag.STREAM not in self.caps.flags:
            raise LocalProtocolError(
                "this DUT knows no streams",
                evidence=f"it runs {self.caps.workload}, firmware {self.caps.firmware}",
            )
        self.slots.clear()
        heard = Feed(self.slots, step, windows, self.hold_us).play()
        return Completion(
            heard.marks,
            heard.output,
            retransmissions=self._retransmitted(),
            rx_in_window_b=heard.disturbed_b,
            iterations=heard.windows,
            faults=heard.faults,
        )

    @property
    def unreported_retransmissions(self) -> int:
        """Number of frames that were retransmitted since the last completion."""
        return self.exchange.link.retransmissions - self._reported

    def forgotten(self) -> bool:
        """Check whether the DUT is back in the text layer, at the present line rate
        or, as after a restart, at the first.

        False where it knows its session, and where it is silent, as a busy one is: then
        the rate is left as it was.
        """
        line = self.exchange.line
        present_baud = line.baud
        remembered = self._remembered()
        if remembered is None and self._first_baud not in (0, present_baud):
            line.set_baud(self._first_baud)
            remembered = self._remembered()
            if remembered is None:
                line.set_baud(present_baud)
        return remembered is False

    def _remembered(self) -> bool | None:
        """Ask whether the DUT still knows this session; None where it does not answer.

        In the text layer it takes HELLO, in whose nonce there is a `%`, for an unknown
        command: False.
        """
        try:
            hello = messages.HelloMessage(self.caps.nonce)
            self.exchange.ask(
                MessageKind.HELLO,
                hello.pack(),
                expect=MessageKind.CAPS,
                repeats_max=_REMEMBER_REPEATS,
            )
        except DeviceRestarted:
            return False
        except (DeadlineError, RemoteProtocolError):
            return None
        finally:
            self.exchange.link.rewind()  # HELLO is outside the numbering
        return True

    @property
    def hold_us(self) -> int:
        """Length of a pulse to be held; 0: as short as the DUT can."""
        wanted_us = self._pulses.hold_us
        return max(wanted_us, self.caps.hold_min_us) if wanted_us else 0

    @property
    def guard_us(self) -> int:
        """Time for which the DUT listens after its ACK.

        Where a GO ends the guard, it passes only when the GO is lost, and is long
        enough for a host that stood still meanwhile.
        """
        guard_s = self._line_guard_s
        if More.GO in self.caps.more:
            guard_s = max(guard_s, _GUARD_WITH_GO_S)
        return math.ceil(guard_s * _US_PER_S)

    @property
    def _line_guard_s(self) -> float:
        return self.exchange.link.timeouts.guard_s(_WINDOW_REQUEST_B)

    @property
    def _grace_s(self) -> float:
        return self.exchange.link.timeouts.timeout_s

    def window(
        self, request: _WindowRequest, limit_s: float, try_next: str = ""
    ) -> DoneMessage:
        """Send a request that opens a silent window, which must be over within
        `limit_s`; return DONE with the whole output. `try_next` is for one that is not.
        """
        silence = SilentWindow(
            request.guard_us / _US_PER_S,
            limit_s,
            takes_go=More.GO in self.caps.more,
            try_next=try_next,
        )
        began_s = self.exchange.now_s
        done = self.exchange.fetch(request, DoneMessage, silence=silence)
        self._refuse_lost_turn(done, self.exchange.now_s - began_s)
        output = done.output
        if len(output) == done.output_total_b:
            return done
        while len(output) < done.output_total_b:
            output += self._chunk(len(output), done.output_total_b)
        return dataclasses.replace(done, output=output)

    def _chunk(self, offset_b: int, total_b: int) -> bytes:
        request = messages.ResultMessage(offset_b)
        chunk = self.exchange.fetch(request, messages.ChunkMessage)
        fits = 0 < len(chunk.content) <= total_b - offset_b
        if chunk.offset_b != offset_b or not fits:
            evidence = (
                f"{len(chunk.content)} bytes at {chunk.offset_b}, asked for {offset_b}"
                f" of {total_b}"
            )
            raise RemoteProtocolError(
                "the DUT gave another piece of its output than asked for",
                evidence=evidence,
            )
        return chunk.content

    def _known_ticks(self) -> tuple[int, ...]:
        """Return the ticks at which the device knew each threshold of the last search
        that it reached, in order.
        """
        ticks: tuple[int, ...] = ()
        while True:
            request = messages.KnewMessage(len(ticks))
            known = self.exchange.fetch(request, messages.KnownMessage)
            is_stuck = not known.ticks and known.total > len(ticks)
            if known.first != len(ticks) or is_stuck:
                evidence = (
                    f"{len(known.ticks)} of {known.total} from {known.first} on, asked"
                    f" for those from {len(ticks)} on"
                )
                raise RemoteProtocolError(
                    "the DUT gave other ticks of thresholds than asked for",
                    evidence=evidence,
                )
            ticks += known.ticks
            if len(ticks) == known.total:
                return ticks

    def _completion(self, done: DoneMessage) -> Completion:
        marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
        return Completion(
            marks,
            done.output,
            retransmissions=self._retransmitted(),
            rx_in_window_b=done.rx_in_window_b,
            iterations=done.iterations,
        )

    def _retransmitted(self) -> int:
        """Return the retransmissions since the last completion, and count them as
        reported.
        """
        count = self.unreported_retransmissions
        self._reported += count
        return count

    def _refuse_search(self, step: Solve) -> None:
        if Flag.OPTIMIZE not in self.caps.flags:
            raise LocalProtocolError(
                "this DUT is asked to search, which it cannot",
                evidence=f"it runs {self.caps.workload}",
            )
        most = thresholds_max(self.caps)
        descending = sorted({*step.thresholds}, reverse=True)
        if len(step.thresholds) > most or [*step.thresholds] != descending:
            cause = (
                f"thresholds {step.thresholds}: {most} at most, and"
                " each below the one before"
            )
            raise LocalProtocolError(cause)

    def _refuse_lost_turn(self, done: DoneMessage, host_s: float) -> None:
        """Raise RemoteProtocolError where the device's timer turned over unnoticed
        within a window. An emulated device is exempt: it may just be slow.
        """
        if len(done.marks) < 2 or More.SIMULATED in self.caps.more:
            return
        device_s = _span_ticks(done) / self.caps.tick_hz
        turn_s = _TURN_TICKS / self.caps.tick_hz
        if host_s - device_s >= max(_TURN_SHARE * turn_s, _TURN_MIN_S):
            raise RemoteProtocolError(
                f"the window lasted {device_s:.6g} s by the device's clock and"
                f" {host_s:.6g} s by the host's",
                evidence=(
                    f"a 32-bit timer at {self.caps.tick_hz} Hz turns over every "
                    f"{turn_s:.6g} s"
                ),
                try_next=(
                    "shorter windows (repeat, min_duration_s), or firmware that counts"
                    " the turns of its timer by an interrupt"
                ),
            )

    def _refuse_overrun(self, done: DoneMessage, limit_s: float) -> None:
        """Raise DeadlineError where the window lasted beyond its limit by the device's
        own clock.
        """
        ticks = _span_ticks(done) if done.marks else 0
        if ticks > limit_s * self.caps.tick_hz:
            took = f"it took {ticks / self.caps.tick_hz:.6g} s by its own clock"
            raise DeadlineError(
                "end of the query",
                limit_s,
                evidence=took,
                try_next=_LONGER,
            )


def _span_ticks(done: DoneMessage) -> int:
    return done.marks[-1][1] - done.marks[0][1]
