# SPDX-License-Identifier: Apache-2.0
"""The client of the framed layer: docs/PROTOCOL.md sections 4 to 6, one method a
message."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from typing import Protocol, TypeVar

from rig.errors import (
    DeadlineError,
    DeviceRestarted,
    LocalProtocolError,
    RemoteProtocolError,
)
from sut_backends.shim import messages
from sut_backends.shim.burst import Burst
from sut_backends.shim.messages import (
    CapsMessage,
    DoneMessage,
    Flag,
    MessageKind,
    More,
    ReportMessage,
    TakenMessage,
)
from sut_backends.shim.request import Silence
from sut_backends.uart.exchange import Exchange
from sut_backends.uart.line_rate import Switch, switch_baud

_WINDOW_REQUEST_B = 64  # RUN, IDLE or SYNC and its ACK on the line
#: A guard that a GO ends. It passes when that GO is lost; half is for a host that stood
#: still.
_GUARD_WITH_GO_S = 0.25
_PINGS = 4  # enough for the deviation of the round trip to settle
# of content in DATA; below this the frame itself is most of what can be lost
_STEP_MIN_B = 32
# nothing is lost when it fails: the next host's `name%` does the same
_LEAVE_REPEATS = 4
_REMEMBER_REPEATS = 3
_US_PER_S = 1_000_000
_U32_MAX = 2**32 - 1
#: Ticks of a turn of a 32-bit timer. Firmware that extends it only when it reads it
#: loses those that pass within a window.
_TURN_TICKS = 2**32
#: So much longer than its ticks a window must have lasted by the host's clock to have
#: lost one: lost frames may have kept its end for a while.
_TURN_SHARE = 0.9
_TURN_MIN_S = 30.0
_Reply = TypeVar("_Reply", covariant=True)


class _Readable(Protocol[_Reply]):
    def unpack(self, payload: bytes) -> _Reply: ...


class FramedClient:
    """Speak the framed layer with a DUT that has just entered it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._step_b = messages.FIRST_MAX_PAYLOAD_B - messages.DataMessage.head.size
        self._slot_open = False
        self.caps = CapsMessage(
            0, 0, 1, messages.FIRST_MAX_PAYLOAD_B, 0, 0, 0, 0, 0, 0, 0, Flag(0)
        )

    @property
    def retransmissions(self) -> int:
        """Return how many frames were retransmitted so far."""
        return self._exchange.link.retransmissions

    @property
    def guard_s(self) -> float:
        """Return how long the DUT will be told to listen after its ACK."""
        return self._exchange.link.timeouts.guard_s(_WINDOW_REQUEST_B)

    def hello(self, nonce: int) -> CapsMessage:
        """Open a session, read what the DUT can do, and measure the round trip. The
        last byte of the nonce becomes a `%`.
        """
        nonce = nonce & ~0xFF | ord("%")
        caps = _read(
            CapsMessage,
            self._exchange.ask(
                MessageKind.HELLO,
                messages.HelloMessage(nonce).pack(),
                expect=MessageKind.CAPS,
            ),
        )
        if (
            caps.nonce != nonce
            or caps.protocol != messages.PROTOCOL
            or not (
                caps.window and caps.slots and caps.tick_hz and caps.max_payload_b >= 16
            )
        ):
            raise RemoteProtocolError(
                "the DUT's CAPS makes no sense", evidence=repr(caps)
            )
        self.caps = caps
        self._step_b = caps.max_payload_b - messages.DataMessage.head.size
        self._exchange.link.establish(min(caps.window, 32), caps.max_payload_b)
        for number in range(_PINGS):
            self.ping(bytes([number]))
        return caps

    def ping(self, content: bytes = b"") -> None:
        """See that the DUT returns `content`."""
        answer = self._exchange.ask(MessageKind.PING, content, expect=MessageKind.PONG)
        if answer != content:
            raise RemoteProtocolError(
                "PONG differs from PING", evidence=f"{answer!r}, not {content!r}"
            )

    def self_test(self, reads: int, repeat: int) -> ReportMessage:
        """Let the DUT look at itself, as section 7 says; what it received is counted
        since the last time.
        """
        return _read(
            ReportMessage,
            self._exchange.ask(
                MessageKind.SELFTEST,
                messages.SelfTestMessage(reads, repeat).pack(),
                expect=MessageKind.REPORT,
            ),
        )

    def burst(self) -> Burst:
        """Send as many full frames back to back as the DUT takes, which executes none
        of them; return what became of them.
        """
        return self._exchange.burst()

    def load(self, slot: int, content: bytes) -> None:
        """Bring `content` into `slot`; the DUT has checked its CRC-32 when this
        returns.

        LOAD, DATA and COMMIT follow each other without a wait, unless a slot may have
        been left open: then DATA whose LOAD is lost would be stored there. Frames that
        break most of the time are made shorter, and the load begun again.
        """
        while True:
            step_b = self._step_b
            before = self.retransmissions
            requests = _load(slot, content, step_b)
            if self._slot_open:
                self._exchange.ask(*requests.pop(0))
            self._slot_open = True
            if self._exchange.stream(requests, fragile=step_b > _STEP_MIN_B):
                break
            self._step_b = max(step_b // 2, _STEP_MIN_B)
        self._slot_open = False
        self._fit(len(requests), self.retransmissions - before)

    def run(self, slot: int, repeat: int, hold_us: int, limit_s: float) -> DoneMessage:
        """Process `slot`; the window must be over within `limit_s`."""
        guard_us = self._guard_us
        done = self._window(
            MessageKind.RUN,
            messages.RunMessage(slot, repeat, guard_us, hold_us).pack(),
            guard_us,
            limit_s,
        )
        self._within(done, limit_s)
        return done

    def batch(
        self, slots: tuple[int, ...], repeat: int, hold_us: int, limit_s: float
    ) -> DoneMessage:
        """Process all `slots` in one window, `repeat` rounds over them; it must be over
        within `limit_s`.
        """
        guard_us = self._guard_us
        done = self._window(
            MessageKind.BATCH,
            messages.BatchMessage(repeat, guard_us, hold_us, slots).pack(),
            guard_us,
            limit_s,
        )
        self._within(done, limit_s)
        return done

    def optimize(
        self,
        slot: int,
        seed: int,
        timeout_s: float,
        target: int | None,
        thresholds: tuple[int, ...],
        hold_us: int,
        grace_s: float,
    ) -> DoneMessage:
        """Search `slot`; the window must be over `grace_s` after the time-out."""
        timeout_us = round(timeout_s * _US_PER_S)
        guard_us = self._guard_us
        goal = messages.OptimizeMessage.no_target if target is None else target
        if not 0 < timeout_us <= _U32_MAX:
            raise LocalProtocolError(
                f"a time-out of {timeout_s} s is not 1 to {_U32_MAX} microseconds"
            )
        request = messages.OptimizeMessage(
            slot, seed, timeout_us, goal, guard_us, hold_us, thresholds
        )
        done = self._window(
            MessageKind.OPTIMIZE, request.pack(), guard_us, timeout_s + grace_s
        )
        self._within(done, timeout_s + grace_s)
        return done

    def known(self) -> tuple[int, ...]:
        """Return the ticks at which the device knew each threshold of the last search
        that it reached, in order.
        """
        ticks: tuple[int, ...] = ()
        while True:
            answer = self._exchange.ask(
                MessageKind.KNEW,
                messages.KnewMessage(len(ticks)).pack(),
                expect=MessageKind.KNOWN,
            )
            known = _read(messages.KnownMessage, answer)
            if known.first != len(ticks) or (
                not known.ticks and known.total > len(ticks)
            ):
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

    def idle(self, duration_s: float, hold_us: int, grace_s: float) -> DoneMessage:
        """Let the DUT be idle for `duration_s`; it may take `grace_s` longer."""
        duration_us = round(duration_s * _US_PER_S)
        guard_us = self._guard_us
        if not 0 <= duration_us <= _U32_MAX:
            raise LocalProtocolError(
                f"an idle time of {duration_s} s does not fit into 32 bits of"
                " microseconds"
            )
        return self._window(
            MessageKind.IDLE,
            messages.IdleMessage(duration_us, guard_us, hold_us).pack(),
            guard_us,
            duration_s + grace_s,
        )

    def sync(
        self, count: int, period_us: int, hold_us: int, grace_s: float
    ) -> DoneMessage:
        """Let the DUT give `count` pulses; it may take `grace_s` longer than that
        needs."""
        pattern = messages.SyncMessage.intervals
        burst_us = sum(
            period_us * pattern[number % len(pattern)] for number in range(count)
        )
        guard_us = self._guard_us
        request = messages.SyncMessage(count, period_us, guard_us, hold_us).pack()
        return self._window(
            MessageKind.SYNC, request, guard_us, burst_us / _US_PER_S + grace_s
        )

    def stream(
        self, windows: int, hop: int, window: int, sample_hz: int, hold_us: int
    ) -> None:
        """Start a stream whose first windows are loaded; `hop` and `window` are in
        samples."""
        self._exchange.ask(
            MessageKind.STREAM,
            messages.StreamMessage(windows, hop, window, sample_hz, hold_us).pack(),
        )

    def take(self, first: int) -> TakenMessage:
        """Return the answers to a stream that are there, from window `first` on; those
        before it are acknowledged.
        """
        return _read(
            TakenMessage,
            self._exchange.ask(
                MessageKind.TAKE,
                messages.TakeMessage(first).pack(),
                expect=MessageKind.TAKEN,
            ),
        )

    def expect_busy(self, busy_s: float) -> None:
        """Be patient from here on: the DUT may be at work for `busy_s`, and listen only
        then."""
        self._exchange.link.timeouts.busy_s = busy_s

    def switch_baud(self, baud: int) -> Switch:
        """Change the line rate; stay at the old one where the new one does not work."""
        if not self.caps.flags & Flag.BAUD:
            return Switch(
                self._exchange.line.baud, "the DUT cannot change its line rate"
            )
        return switch_baud(self._exchange, baud)

    def remembered(self) -> bool | None:
        """Ask whether the DUT still knows this session; None where it does not answer.

        In the text layer it takes HELLO, in whose nonce there is a `%`, for an unknown
        command: False.
        """
        try:
            self._exchange.ask(
                MessageKind.HELLO,
                messages.HelloMessage(self.caps.nonce).pack(),
                expect=MessageKind.CAPS,
                repeats_max=_REMEMBER_REPEATS,
            )
        except DeviceRestarted:
            return False
        except (DeadlineError, RemoteProtocolError):
            return None
        finally:
            self._exchange.link.rewind()  # HELLO has no place in the order
        return True

    def leave(self) -> None:
        """Take the DUT back to the text layer."""
        self._exchange.ask(MessageKind.TEXT, repeats_max=_LEAVE_REPEATS)

    @property
    def _guard_us(self) -> int:
        """Return the guard of a window: where a GO ends it, it only passes when that is
        lost, and is long enough for a host that stood still meanwhile.
        """
        guard_s = max(
            self.guard_s, _GUARD_WITH_GO_S if More.GO in self.caps.more else 0.0
        )
        return math.ceil(guard_s * _US_PER_S)

    def _window(
        self, kind: MessageKind, payload: bytes, guard_us: int, limit_s: float
    ) -> DoneMessage:
        silence = Silence(guard_us / _US_PER_S, limit_s, More.GO in self.caps.more)
        began_s = self._exchange.now_s
        done = _read(
            DoneMessage,
            self._exchange.ask(kind, payload, expect=MessageKind.DONE, silence=silence),
        )
        self._refuse_lost_turn(done, self._exchange.now_s - began_s)
        output = done.output
        while len(output) < done.output_total_b:
            output += self._chunk(len(output), done.output_total_b)
        return done if output is done.output else replace(done, output=output)

    def _refuse_lost_turn(self, done: DoneMessage, host_s: float) -> None:
        """Raise RemoteProtocolError where the device's timer turned over within a
        window unnoticed; an emulated one may just be slow.
        """
        if len(done.marks) < 2 or More.SIMULATED in self.caps.more:
            return
        device_s = (done.marks[-1][1] - done.marks[0][1]) / self.caps.tick_hz
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

    def _chunk(self, offset_b: int, total_b: int) -> bytes:
        chunk = _read(
            messages.ChunkMessage,
            self._exchange.ask(
                MessageKind.RESULT,
                messages.ResultMessage(offset_b).pack(),
                expect=MessageKind.CHUNK,
            ),
        )
        if (
            chunk.offset_b != offset_b
            or not 0 < len(chunk.content) <= total_b - offset_b
        ):
            evidence = (
                f"{len(chunk.content)} bytes at {chunk.offset_b}, asked for {offset_b}"
                f" of {total_b}"
            )
            raise RemoteProtocolError(
                "the DUT gave another piece of its output than asked for",
                evidence=evidence,
            )
        return chunk.content

    def _fit(self, frames: int, repeats: int) -> None:
        """Send smaller pieces where many are lost: a byte in a thousand spoils most
        long frames but few short ones.
        """
        if repeats * 4 > frames:
            self._step_b = max(self._step_b // 2, _STEP_MIN_B)
        elif repeats == 0:
            self._step_b = min(
                self._step_b * 2,
                self.caps.max_payload_b - messages.DataMessage.head.size,
            )

    def _within(self, done: DoneMessage, limit_s: float) -> None:
        ticks = done.marks[-1][1] - done.marks[0][1] if done.marks else 0
        if ticks > limit_s * self.caps.tick_hz:
            took = f"it took {ticks / self.caps.tick_hz:.6g} s by its own clock"
            raise DeadlineError(
                "end of the query",
                limit_s,
                evidence=took,
                try_next="a longer limit_s, or a smaller repeat",
            )


def _load(slot: int, content: bytes, step_b: int) -> list[tuple[MessageKind, bytes]]:
    offsets = range(0, len(content), step_b)
    data = [
        (MessageKind.DATA, messages.DataMessage(at, content[at : at + step_b]).pack())
        for at in offsets
    ]
    load = messages.LoadMessage(slot, len(content), zlib.crc32(content)).pack()
    return [
        (MessageKind.LOAD, load),
        *data,
        (MessageKind.COMMIT, messages.CommitMessage(slot).pack()),
    ]


def _read(shape: _Readable[_Reply], payload: bytes) -> _Reply:
    try:
        return shape.unpack(payload)
    except ValueError as error:
        raise RemoteProtocolError(
            f"an answer of the DUT cannot be read: {error}"
        ) from error
