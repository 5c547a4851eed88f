# SPDX-License-Identifier: Apache-2.0
"""Decoding of a recorded log of the framed layer: the requests of windows with their
answers. No port, no clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig.interfaces.recount import HeardStep, Recount, WireBlock
from rig.model.completion import Completion, Mark
from sut_backends.shim import messages
from sut_backends.shim.capabilities import facts_of
from sut_backends.shim.frame import DELIMITER, Frame, decode
from sut_backends.shim.messages import MessageKind, Payload
from sut_backends.shim.stream_records import marks_of
from sut_backends.shim.text_recount import TextRecount

_US_PER_S = 1_000_000
_WINDOWS: Mapping[int, type[Payload]] = {
    shape.kind: shape
    for shape in (
        messages.RunMessage,
        messages.BatchMessage,
        messages.IdleMessage,
        messages.SyncMessage,
        messages.OptimizeMessage,
        messages.StreamMessage,
    )
}


@dataclass(slots=True)
class _Asked:
    """A request of a window, and its answer so far."""

    seq: int
    request: Payload
    contents: tuple[int | None, ...]
    asked_s: float
    answered_s: float | None = None
    is_started: bool = False
    repeats: int = 0
    done: messages.DoneMessage | None = None
    output: bytes = b""
    known: tuple[int, ...] | None = None
    taken: messages.TakenMessage | None = None
    records: list[tuple[tuple[int, ...], bytes]] = field(default_factory=list)
    dropped: bool = False


class FramedRecount:
    """Decode blocks of both directions, and keep each request of a window with its
    answer.
    """

    def __init__(self) -> None:
        self._waiting = {"tx": b"", "rx": b""}
        self._asked: list[_Asked] = []
        self._last: Frame | None = None
        self._at_s = 0.0
        self._slots: dict[int, int] = {}
        self._caps: messages.CapsMessage | None = None

    @property
    def spoken(self) -> bool:
        """Whether there was a frame of a session in the log."""
        return bool(self._asked) or self._caps is not None

    @property
    def recount(self) -> Recount:
        """The facts and steps decoded so far."""
        facts = {} if self._caps is None else facts_of(self._caps)
        return Recount(facts, tuple(map(self._step, self._asked)))

    def feed(self, block: WireBlock) -> None:
        """Decode a block; of a shortened one only the beginning is known."""
        waiting = self._waiting[block.direction] + block.content
        *closed, rest = waiting.split(DELIMITER)
        self._waiting[block.direction] = b"" if block.shortened else rest
        self._at_s = block.at_s
        take = self._sent if block.direction == "tx" else self._heard
        for piece in filter(None, closed):
            try:
                take(decode(piece))
            except ValueError:
                continue

    def _sent(self, frame: Frame) -> None:
        if frame.kind == MessageKind.GO:
            if self._asked and not self._asked[-1].is_started:
                # The window begins after it.
                self._asked[-1].asked_s = self._at_s
                self._asked[-1].is_started = True
            return
        # Numbers wrap: the same request with others in between is another one.
        again = frame == self._last
        self._last = frame
        if frame.kind in _WINDOWS:
            if again and self._asked and not self._asked[-1].dropped:
                self._asked[-1].repeats += 1
            else:
                request = _WINDOWS[frame.kind].unpack(frame.payload)
                contents = self._contents(request)
                self._asked.append(_Asked(frame.seq, request, contents, self._at_s))
        elif frame.kind == MessageKind.LOAD:
            load = messages.LoadMessage.unpack(frame.payload)
            self._slots[load.slot] = load.crc32

    def _heard(self, frame: Frame) -> None:
        if frame.kind == MessageKind.CAPS:
            self._begin(messages.CapsMessage.unpack(frame.payload))
            return
        last = self._asked[-1] if self._asked else None
        if last is None:
            return
        if (
            frame.kind == MessageKind.DONE
            and frame.seq == last.seq
            and last.done is None
        ):
            last.done = messages.DoneMessage.unpack(frame.payload)
            last.answered_s = self._at_s
            last.output = last.done.output
        elif frame.kind == MessageKind.CHUNK:
            chunk = messages.ChunkMessage.unpack(frame.payload)
            if chunk.offset_b == len(last.output):
                last.output += chunk.content
        elif (
            frame.kind == MessageKind.KNOWN
            and last.request.kind == MessageKind.OPTIMIZE
        ):
            known = messages.KnownMessage.unpack(frame.payload)
            if known.first == len(last.known or ()):
                last.known = (last.known or ()) + known.ticks
        elif (
            frame.kind == MessageKind.TAKEN and last.request.kind == MessageKind.STREAM
        ):
            self._take(last, messages.TakenMessage.unpack(frame.payload))

    def _begin(self, caps: messages.CapsMessage) -> None:
        """Note the DUT's CAPS; a DUT that opened another session has lost its
        samples.
        """
        if self._caps is not None and self._caps.nonce != caps.nonce:
            self._slots.clear()
            if self._asked:
                self._asked[-1].dropped = True
        self._caps = caps

    def _take(self, asked: _Asked, taken: messages.TakenMessage) -> None:
        marks = max(min(self._caps.phases, 2), 1) + 1 if self._caps is not None else 3
        asked.taken = taken
        asked.answered_s = self._at_s
        if taken.first == len(asked.records):
            asked.records += taken.split(marks)

    def _contents(self, request: Payload) -> tuple[int | None, ...]:
        slots: tuple[int, ...] = ()
        match request:
            case messages.RunMessage() | messages.OptimizeMessage():
                slots = (request.slot,)
            case messages.BatchMessage():
                slots = request.slots
            case messages.StreamMessage():
                self._slots.clear()
        return tuple(self._slots.get(slot) for slot in slots)

    def _step(self, asked: _Asked) -> HeardStep:
        kind, fields = _described(asked.request)
        return HeardStep(
            kind=kind,
            asked=fields,
            answer=_stream(asked) if kind == "stream" else _done(asked),
            contents=asked.contents,
            repeats=asked.repeats,
            dropped=asked.dropped,
            asked_s=asked.asked_s,
            answered_s=asked.answered_s,
        )


def recounted(blocks: Sequence[WireBlock]) -> Recount:
    """Decode a log of the shim protocol, of either layer."""
    framed = FramedRecount()
    for block in blocks:
        framed.feed(block)
    return framed.recount if framed.spoken else TextRecount(blocks).recount


def _done(asked: _Asked) -> Completion | None:
    done = asked.done
    if done is None or len(asked.output) < done.output_total_b:
        return None
    marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
    return Completion(
        marks,
        asked.output,
        rx_in_window_b=done.rx_in_window_b,
        iterations=done.iterations,
        known=asked.known,
    )


def _stream(asked: _Asked) -> Completion | None:
    taken = asked.taken
    if taken is None or taken.done != len(asked.records):
        return None
    output = b"".join(output for _, output in asked.records)
    return Completion(
        marks_of(taken, asked.records), output, iterations=len(asked.records)
    )


def _described(request: Payload) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of the step that a request asks for, and its fields."""
    match request:
        case messages.RunMessage() | messages.BatchMessage():
            batch = isinstance(request, messages.BatchMessage)
            return "query", {"repeat": request.repeat, "batch": batch}
        case messages.IdleMessage():
            return "idle", {"duration_s": request.duration_us / _US_PER_S}
        case messages.OptimizeMessage():
            has_target = request.target != request.no_target
            target = request.target if has_target else None
            return "solve", {
                "seed": request.seed,
                "timeout_s": request.timeout_us / _US_PER_S,
                "target": target,
                "thresholds": request.thresholds,
            }
        case messages.StreamMessage():
            return "stream", {
                "windows": request.windows,
                "hop": request.hop,
                "window": request.window,
                "sample_hz": request.sample_hz,
            }
    return "sync", {}
