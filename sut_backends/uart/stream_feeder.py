# SPDX-License-Identifier: Apache-2.0
"""A stream, as the host sees it: it keeps the DUT's slots filled and fetches the
answers; docs/reference/PROTOCOL.md section 9.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rig.errors import DeadlineError, LocalProtocolError, RemoteProtocolError
from rig.host.stop import pause
from rig.model.completion import Mark
from rig.model.steps import Stream
from sut_backends.shim.messages import (
    FRAME_OVERHEAD_B,
    StreamMessage,
    StreamState,
    TakeMessage,
    TakenMessage,
)
from sut_backends.shim.stream_records import marks_of
from sut_backends.uart.slots import FramedSlots

# at most, so that the DUT is not kept from its work; so small a delay of an answer has
# no effect
_LOOKS_PER_HOP = 8
_BUSY_MARGIN = 1.25  # a window may take longer than those before it
# share of a hop, before the first measurement: a lost TAKE must not take the hop of the
# next window
_BUSY_GUESS = 0.5
# or a hop, if that is longer: time after its last sample in which a preloaded stream
# may end undisturbed
_PEACE_S = 0.5
_TAKE_B = FRAME_OVERHEAD_B + 3 + TakeMessage.head.size


@dataclass(frozen=True, slots=True)
class Heard:
    """Result of feeding a stream: how many windows were answered, and the bytes sent
    while a preloaded one should have been silent.
    """

    marks: tuple[Mark, ...]
    output: bytes
    windows: int
    disturbed_b: int
    faults: tuple[str, ...]


class Feed:
    """Play `step`, whose windows as payloads are `windows`, on a DUT that executes no
    other request meanwhile.

    `clock` returns seconds, and `sleep` lets them pass.
    """

    def __init__(
        self,
        slots: FramedSlots,
        step: Stream,
        windows: Sequence[bytes],
        hold_us: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = pause,
    ) -> None:
        self._slots = slots
        self._exchange = slots.exchange
        self._caps = slots.caps
        self._step = step
        self._windows = windows
        self._hold_us = hold_us
        self._clock = clock
        self._sleep = sleep
        self._hop_s = step.hop / step.sample_hz
        self._answers: list[tuple[tuple[int, ...], bytes]] = []
        self._loaded = 0
        self._disturbed_b = 0
        self._busy_s = 0.0  # longest processing time of a window so far
        # start of the stream by this clock, if the DUT's clock had the same rate
        self._started_s = 0.0
        self._refuse_misfits()

    def play(self) -> Heard:
        """Load, start, feed and fetch until the stream is over; raise DeadlineError
        where it does not end in time.
        """
        step = self._step
        while self._loaded < min(self._caps.slots, len(self._windows)):
            self._load()
        request = StreamMessage(
            len(self._windows), step.hop, step.window, step.sample_hz, self._hold_us
        )
        self._exchange.ask(request.kind, request.pack())
        self._started_s = self._clock()
        try:
            self._expect_busy(self._hop_s * _BUSY_GUESS)
            taken = self._follow()
        finally:
            self._expect_busy(0.0)
        return self._heard(taken)

    def _refuse_misfits(self) -> None:
        count = len(self._windows)
        slots = self._caps.slots
        largest_b = self._caps.slot_b
        if not count or any(
            not 0 < len(window) <= largest_b for window in self._windows
        ):
            raise LocalProtocolError(
                f"a stream needs windows, of 1 to {largest_b} bytes each"
            )
        if not self._step.preloaded and slots < 2 <= count:
            raise LocalProtocolError(
                "a DUT with one slot cannot take in a window while it plays another",
                try_next="another DUT",
            )
        if not self._step.preloaded:
            return
        room = self._exchange.fetch(TakeMessage(0), TakenMessage).room
        if count > min(slots, room):
            raise LocalProtocolError(
                f"a preloaded stream of {count} windows: the DUT has {slots}"
                f" slots and keeps {room} answers",
                try_next="a shorter stream, a longer hop, or one that is not preloaded",
            )

    def _load(self) -> None:
        slot = self._loaded % self._caps.slots
        self._slots.put(slot, self._windows[self._loaded])
        self._loaded += 1

    def _expect_busy(self, busy_s: float) -> None:
        """Allow for a DUT that works for `busy_s` and receives only afterwards."""
        self._exchange.link.timeouts.busy_s = busy_s

    def _follow(self) -> TakenMessage:
        limit_s = self._ready_s(len(self._windows) - 1) + self._step.limit_s
        end_s = self._started_s + limit_s
        if self._step.preloaded:
            self._sleep(
                self._ready_s(len(self._windows) - 1) + max(self._hop_s, _PEACE_S)
            )
        while True:
            taken = self._take()
            fetched = len(self._answers) == taken.done
            if taken.state != StreamState.PLAYING and fetched:
                return taken
            if self._clock() > end_s:
                raise self._late(taken, limit_s)
            room = min(taken.done + self._caps.slots, len(self._windows))
            if taken.state == StreamState.PLAYING and self._loaded < room:
                self._load()
            elif fetched:
                self._pause(taken.done)

    def _take(self) -> TakenMessage:
        """Fetch the finished answers; their ticks show how long the DUT may be busy."""
        caps = self._caps
        request = TakeMessage(len(self._answers))
        taken = self._exchange.fetch(request, TakenMessage)
        if taken.first != len(self._answers) or taken.done > len(self._windows):
            evidence = (
                f"answers from window {taken.first} on, {taken.done} of "
                f"{len(self._windows)} windows done"
            )
            raise RemoteProtocolError(
                f"the DUT was asked for answers from window {len(self._answers)} on",
                evidence=evidence,
            )
        try:
            answers = taken.split(max(min(caps.phases, 2), 1) + 1)
        except ValueError as error:
            raise RemoteProtocolError(
                f"an answer of the DUT cannot be read: {error}"
            ) from error
        self._answers += answers
        if answers:
            busy_ticks = max(ticks[-1] - ticks[0] for ticks, _ in answers)
            self._busy_s = max(self._busy_s, busy_ticks / caps.tick_hz)
            self._expect_busy(self._busy_s * _BUSY_MARGIN)
        if self._step.preloaded and taken.state == StreamState.PLAYING:
            self._disturbed_b += _TAKE_B
        return taken

    def _pause(self, done: int) -> None:
        """Wait until the next answer can be expected.

        The DUT's clock has another rate than this one, and an emulated one an arbitrary
        rate: the count of finished windows shows how far it is.
        """
        now_s = self._clock()
        if done:
            self._started_s = min(self._started_s, now_s - self._ready_s(done - 1))
        due_s = self._ready_s(min(done, len(self._windows) - 1)) + self._busy_s
        self._started_s = max(self._started_s, now_s - due_s)
        left_s = self._started_s + due_s - now_s
        self._sleep(min(max(left_s, self._hop_s / _LOOKS_PER_HOP), self._hop_s))

    def _ready_s(self, window: int) -> float:
        return (window * self._step.hop + self._step.window) / self._step.sample_hz

    def _late(self, taken: TakenMessage, waited_s: float) -> DeadlineError:
        evidence = f"{taken.done} of {len(self._windows)} windows were answered"
        return DeadlineError(
            "end of the stream",
            waited_s,
            evidence=evidence,
            try_next="a longer limit_s, or a faster DUT",
        )

    def _heard(self, taken: TakenMessage) -> Heard:
        if len({len(output) for _, output in self._answers}) > 1:
            raise RemoteProtocolError("the DUT's answers to a stream differ in length")
        marks = marks_of(taken, self._answers)
        output = b"".join(output for _, output in self._answers)
        return Heard(
            marks,
            output,
            len(self._answers),
            self._disturbed_b,
            tuple(self._faults(taken)),
        )

    def _faults(self, taken: TakenMessage) -> list[str]:
        played = (
            f"the stream ended with {taken.done} of {len(self._windows)} windows"
            " answered"
        )
        endings = {
            StreamState.FINISHED: "",
            StreamState.STARVED: (
                f"starved: window {taken.done} was not there when it was to be "
                f"processed; {played}"
            ),
            StreamState.OVERRUN: (
                f"overrun: the device came to window {taken.done} when its slot "
                f"was due for another; {played}"
            ),
            StreamState.FAILED: (
                f"the workload failed on window {taken.done}: {_reason(taken)}; "
                f"{played}"
            ),
        }
        ending = endings.get(
            taken.state, f"the device knows of no stream any more; {played}"
        )
        return [fault for fault in (self._lateness(taken), ending) if fault]

    def _lateness(self, taken: TakenMessage) -> str:
        """Return which windows came late; the ending reports one that never came."""
        missed = taken.state == StreamState.STARVED
        late = taken.late - missed
        if late <= 0:
            return ""
        if missed and taken.worst_window == taken.done:
            return f"starved: {late} more came after their newest hop had begun"
        worst_ms = 1e3 * taken.worst_ticks / self._caps.tick_hz
        others = f", and {late - 1} others were late, by less" if late > 1 else ""
        return (
            f"starved: window {taken.worst_window} was there {worst_ms:.3g} ms after"
            f" its newest hop had begun{others}"
        )


def _reason(taken: TakenMessage) -> str:
    return (
        "its outputs differ in length"
        if taken.code == TakenMessage.unequal
        else f"code {taken.code}"
    )
