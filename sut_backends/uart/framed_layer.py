# SPDX-License-Identifier: Apache-2.0
"""A DUT spoken to in the framed layer: checked, acknowledged, repeated."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rig.errors import LocalProtocolError
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion, Mark
from rig.model.steps import Idle, Load, Query, Solve, Step, Stream, Sync
from sut_backends.lines.line import Line
from sut_backends.shim.capabilities import batch_max, facts_of, thresholds_max
from sut_backends.shim.link import ShimLink
from sut_backends.shim.messages import DoneMessage, Flag, More
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.exchange import Exchange
from sut_backends.uart.framed_client import FramedClient
from sut_backends.uart.layer import Pulses, only_index
from sut_backends.uart.self_test import SelfTested, self_test
from sut_backends.uart.slots import Slots
from sut_backends.uart.stream_feeder import Feed


class FramedLayer:
    """Turn steps into messages and DONE into Completion; counts what was retransmitted
    between two completions.
    """

    def __init__(
        self,
        client: FramedClient,
        line: Line,
        pulses: Pulses,
        timeout_s: float,
        first_baud: int,
    ) -> None:
        self._client = client
        self._line = line
        self._timeout_s = timeout_s
        caps = client.caps
        self._hold_us = max(pulses.hold_us, caps.hold_min_us) if pulses.hold_us else 0
        self._pulses = pulses
        self._first_baud = first_baud
        self._notes: dict[str, Any] = {}
        self._slots = Slots(caps.slots)
        self._told = 0

    @classmethod
    def enter(
        cls,
        line: Line,
        pulses: Pulses,
        timeout_s: float,
        bauds: tuple[int, int],
        nonce: int,
    ) -> FramedLayer:
        """Open a session with a DUT that has just answered `frame 1`.

        `bauds` are the rate to leave it at, and the one to change to now (0: no
        change).
        """
        first_baud, frame_baud = bauds
        timeouts = RetransmissionTimeouts(line.baud, timeout_s)
        client = FramedClient(Exchange(line, ShimLink(timeouts)))
        client.hello(nonce)
        layer = cls(client, line, pulses, timeout_s, first_baud)
        if frame_baud and frame_baud != line.baud:
            switch = client.switch_baud(frame_baud)
            if switch.refusal:
                layer._notes["frame_baud_refused"] = f"{frame_baud}: {switch.refusal}"
        layer._notes["round_trip_s"] = round(timeouts.round_trip_s or 0.0, 6)
        layer._notes["guard_s"] = round(client.guard_s, 6)
        return layer

    @property
    def info(self) -> SutInfo:
        """Return what CAPS says."""
        caps = self._client.caps
        details = {
            "layer": "framed",
            "protocol": caps.protocol,
            "baud": self._line.baud,
            "window": caps.window,
            "max_payload_b": caps.max_payload_b,
            "output_b": caps.output_b,
            "phases": caps.phases,
            "sync_pin": caps.sync_pin,
            "mark_blocks": Flag.MARK_NONBLOCKING not in caps.flags,
            "load_checked": True,
            "knows_thresholds": More.KNEW in caps.more,
        }
        return SutInfo(
            kind="uart",
            simulated=More.SIMULATED in caps.more,
            link=f"{self._line.name}, {self._line.baud} baud, framed",
            **facts_of(caps),
            sync_hold_s=(self._hold_us or caps.hold_min_us) / 1e6,
            details=details | self._notes,
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Send the message of a step, and return what DONE says."""
        match step:
            case Load():
                return self._load(step.index, payloads[0])
            case Idle():
                return self._idle(step.duration_s)
            case Sync():
                return self._sync()
            case Query():
                return self._run(step)
            case Solve():
                return self._solve(step)
            case Stream():
                return self._stream(step, payloads)
            case _:
                raise LocalProtocolError(
                    f"the shim protocol has no message for a step of kind {step.kind!r}"
                )

    def _load(self, index: int, payload: bytes) -> Completion:
        """Bring `payload` into a slot; the DUT has compared its CRC-32."""
        if not payload or len(payload) > self._client.caps.slot_b:
            raise LocalProtocolError(
                f"sample {index} has {len(payload)} bytes, the DUT takes 1 to "
                f"{self._client.caps.slot_b}"
            )
        slot = self._slots.take(index)
        self._client.load(slot, payload)
        self._slots.keep(slot, index)
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Let the DUT be idle."""
        return self._completion(
            self._client.idle(duration_s, self._hold_us, self._timeout_s)
        )

    def _sync(self) -> Completion:
        """Give one SYNC burst, of as many pulses as the DUT can and is asked for."""
        count = min(self._pulses.count, self._client.caps.marks_max)
        return self._completion(
            self._client.sync(
                count, self._pulses.period_us, self._hold_us, self._timeout_s
            )
        )

    def _run(self, query: Query) -> Completion:
        """Process the sample of `query`, or all samples of a batch."""
        if query.batch:
            if len(query.indices) > self._batch_max:
                raise LocalProtocolError(
                    f"a batch of {len(query.indices)} samples, the DUT takes "
                    f"{self._batch_max or 'none'}"
                )
            slots = tuple(self._slots.find(index) for index in query.indices)
            return self._completion(
                self._client.batch(slots, query.repeat, self._hold_us, query.limit_s)
            )
        slot = self._slots.find(only_index(query))
        return self._completion(
            self._client.run(slot, query.repeat, self._hold_us, query.limit_s)
        )

    def _solve(self, step: Solve) -> Completion:
        """Search the workload of `step`; its output is the DUT's."""
        if Flag.OPTIMIZE not in self._client.caps.flags:
            raise LocalProtocolError(
                "this DUT is asked to search, which it cannot",
                evidence=f"it runs {self._client.caps.workload}",
            )
        if len(step.thresholds) > self._thresholds_max or [*step.thresholds] != sorted(
            {*step.thresholds}, reverse=True
        ):
            cause = (
                f"thresholds {step.thresholds}: {self._thresholds_max} at most, and"
                " each below the one before"
            )
            raise LocalProtocolError(cause)
        slot = self._slots.find(step.index)
        done = self._client.optimize(
            slot,
            step.seed,
            step.timeout_s,
            step.target,
            step.thresholds,
            self._hold_us,
            step.limit_s,
        )
        known = (
            self._client.known()
            if step.thresholds and More.KNEW in self._client.caps.more
            else None
        )
        return dataclasses.replace(self._completion(done), known=known)

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream, feeding the DUT while it listens; what it had loaded before is
        gone then.
        """
        caps = self._client.caps
        if Flag.STREAM not in caps.flags:
            raise LocalProtocolError(
                "this DUT knows no streams",
                evidence=f"it runs {caps.workload}, firmware {caps.firmware}",
            )
        self._slots = Slots(caps.slots)
        heard = Feed(self._client, step, windows, self._hold_us).play()
        before = self._told
        self._told = self._client.retransmissions
        return Completion(
            heard.marks,
            heard.output,
            self._told - before,
            heard.disturbed_b,
            heard.windows,
            faults=heard.faults,
        )

    def self_test(self) -> SelfTested:
        """Let the DUT test itself; raise SutError where its firmware does not know how
        to."""
        return self_test(self._client)

    @property
    def _batch_max(self) -> int:
        return batch_max(self._client.caps)

    @property
    def _thresholds_max(self) -> int:
        return thresholds_max(self._client.caps)

    @property
    def untold_retransmissions(self) -> int:
        """Return how many frames were retransmitted since the last completion."""
        return self._client.retransmissions - self._told

    def forgotten(self) -> bool:
        """Return whether the DUT is back in the text layer, at the present line rate
        or, as after a restart, at the first.

        False where it knows its session, and where it is silent, as a busy one is: then
        the rate is left as it was.
        """
        present_baud = self._line.baud
        remembered = self._client.remembered()
        if remembered is None and present_baud != self._first_baud:
            self._line.set_baud(self._first_baud)
            remembered = self._client.remembered()
            if remembered is None:
                self._line.set_baud(present_baud)
        return remembered is False

    def leave(self) -> None:
        """Take the DUT to the text layer at the first line rate."""
        if self._line.baud != self._first_baud:
            self._client.switch_baud(self._first_baud)
        self._client.leave()

    def _completion(self, done: DoneMessage) -> Completion:
        before = self._told
        self._told = self._client.retransmissions
        marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
        return Completion(
            marks,
            done.output,
            self._told - before,
            done.rx_in_window_b,
            done.iterations,
        )
