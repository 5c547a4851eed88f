# SPDX-License-Identifier: Apache-2.0
"""Decoding of a recorded log of the framed layer: the requests of windows with their
answers. No port, no clock.

Decoding of a recorded log of the text layer: the commands of windows with their
answers. No port, no clock.

`infer` is a query, and so is `extract_uart_stream` with the stamps before and after it.
The stamps of `timestamp` are those of SYNC bursts and idle times,
between which the log does not distinguish: each is a step of one mark.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rig.errors import RigError
from rig.interfaces.recount import HeardStep, Recount, WireBlock
from rig.model.completion import END, Completion, Mark
from sut_backends.shim import messages
from sut_backends.shim.capabilities import facts_of
from sut_backends.shim.frame import DELIMITER, Frame, decode
from sut_backends.shim.messages import MessageKind, Payload
from sut_backends.shim.stream_records import marks_of
from sut_backends.shim.text_answers import LAP, activations, take_apart, thousandths

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
            return "solve", {
                "seed": request.seed,
                "timeout_s": request.timeout_us / _US_PER_S,
                "target": request.target if has_target else None,
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


#: The stamps of the text layer have 32 bits.
_WRAP = 1 << 32
_READY = "m-ready"
_PREFIX = "[dut]: "
_INFER = re.compile(r"(?:dut )?infer (\d+) 0")
_EXTRACT = re.compile(r"(?:dut )?extract_uart_stream")
_STAMP = re.compile(r"(?:dut )?timestamp")
_NAMED = re.compile(r"(?:dut )?name")
_PROFILED = re.compile(r"(?:dut )?profile")
_NAME = re.compile(r".*?m-name-dut-\[(.*)\]")
_PROFILE = re.compile(r"m-profile-\[(.*)\]")
_MODEL = re.compile(r"m-model-\[(.*)\]")
_PHASE = 0x01


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A command, the lines of its answer, and whether it belongs to the opening of the
    line."""

    words: str
    lines: tuple[str, ...]
    opening: bool
    asked_s: float
    answered_s: float | None


class TextRecount:
    """Facts and steps of a log of the text layer."""

    def __init__(self, blocks: Sequence[WireBlock]) -> None:
        self._exchanges = list(_exchanges(blocks))

    @property
    def recount(self) -> Recount:
        """Return facts and steps; `unread` where the log has no command."""
        if not self._exchanges:
            return Recount(
                unread="it has neither frames nor commands of the shim protocol"
            )
        return Recount(self._facts(), tuple(self._steps()))

    def _steps(self) -> list[HeardStep]:
        """Return the steps of the trial; of a device that restarted in it, those that
        may have been asked again are marked, and the stamp that its opening asks for is
        left out.
        """
        steps: list[HeardStep] = []
        opened = False
        for exchange in self._exchanges:
            if exchange.opening:
                continue
            if _NAMED.fullmatch(exchange.words):
                steps = _dropped(steps)
            opened = opened or bool(_PROFILED.fullmatch(exchange.words))
            if opened and _STAMP.fullmatch(exchange.words):
                opened = False
                continue
            _add(steps, exchange)
        return steps

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {}
        for name, form in (("name", _NAME), ("firmware", _PROFILE), ("model", _MODEL)):
            for exchange in self._exchanges:
                for line in exchange.lines:
                    if match := form.fullmatch(line):
                        facts[name] = match[1]
        return facts | {"tick_hz": 1_000_000} if facts else {}


def _exchanges(blocks: Sequence[WireBlock]) -> Iterator[_Exchange]:
    """Yield each command of the log with the lines up to the next one."""
    words = ""
    asked_s = 0.0
    heard: list[WireBlock] = []
    for block in blocks:
        if block.direction == "rx":
            heard.append(block)
            continue
        sent = block.content.decode("ascii", "replace")
        if not sent.endswith("%"):
            continue
        if words:
            yield _exchange(words, asked_s, heard)
        words = sent.removesuffix("%")
        asked_s = block.at_s
        heard = []
    if words:
        yield _exchange(words, asked_s, heard)


def _exchange(words: str, asked_s: float, heard: Sequence[WireBlock]) -> _Exchange:
    lines = _lines(b"".join(block.content for block in heard))
    answered_s = heard[-1].at_s if heard else None
    return _Exchange(words, lines, asked_s < 0, asked_s, answered_s)


def _lines(heard: bytes) -> tuple[str, ...]:
    texts = [
        piece.strip(b"\r").decode("ascii", "replace") for piece in heard.split(b"\n")
    ]
    # Lines of an IO manager itself stand between the lines of the DUT.
    passed = [text.removeprefix(_PREFIX) for text in texts if text.startswith(_PREFIX)]
    return tuple(passed or filter(None, texts))


def _dropped(steps: Sequence[HeardStep]) -> list[HeardStep]:
    """Mark the stamps at the end of some steps, or where there are none the last
    step."""
    count = 0
    while count < len(steps) and steps[-1 - count].kind == "stamp":
        count += 1
    kept = len(steps) - max(count, 1) if steps else 0
    return [*steps[:kept], *(replace(step, dropped=True) for step in steps[kept:])]


def _add(steps: list[HeardStep], exchange: _Exchange) -> None:
    """Add the steps of an exchange. A window of a stream takes the stamp before it for
    its beginning, and the one after it for its end.
    """
    if _EXTRACT.fullmatch(exchange.words):
        before = [steps.pop()] if steps and steps[-1].kind == "stamp" else []
        steps.append(_window(exchange, before))
        return
    made = [*_steps(exchange)]
    last = steps[-1].answer if steps and steps[-1].kind == "query" else None
    first = made[0].answer if made else None
    if last is not None and len(last.marks) == 1 and first is not None:
        end = Mark(END, first.marks[0].tick)
        answer = replace(last, marks=(*last.marks, end))
        steps[-1] = replace(steps[-1], answer=answer)
        made = made[1:]
    steps += made


def _window(exchange: _Exchange, before: Sequence[HeardStep]) -> HeardStep:
    known = [line for line in exchange.lines if line.startswith("m-")]
    numbers = activations([line for line in known if line != _READY])
    answer = None
    if numbers is not None:
        marks = []
        for stamp in before:
            assert stamp.answer is not None
            marks.append(Mark(_PHASE, stamp.answer.marks[0].tick))
        answer = Completion(tuple(marks), struct.pack(f"{len(numbers)}b", *numbers))
    return HeardStep(
        kind="query",
        asked={"repeat": 1},
        answer=answer,
        mark_modulus=_WRAP,
        asked_s=exchange.asked_s,
        answered_s=exchange.answered_s,
    )


def _steps(exchange: _Exchange) -> Iterator[HeardStep]:
    if asked := _INFER.fullmatch(exchange.words):
        repeat = int(asked[1])
        answer = _inference(exchange.lines, repeat)
        yield HeardStep(
            kind="query",
            asked={"repeat": repeat},
            answer=answer,
            mark_modulus=_WRAP,
            asked_s=exchange.asked_s,
            answered_s=exchange.answered_s,
        )
    elif _STAMP.fullmatch(exchange.words):
        for stamp in filter(None, map(LAP.fullmatch, exchange.lines)):
            answer = Completion((Mark(0, int(stamp[1])),))
            yield HeardStep(kind="stamp", asked={}, answer=answer, mark_modulus=_WRAP)


def _inference(lines: Sequence[str], repeat: int) -> Completion | None:
    """Return the answer to `infer`; None where it is not whole, as after an echo."""
    known = [line for line in lines if line.startswith("m-") and line != _READY]
    try:
        parts = take_apart(known, repeat, any(map(LAP.fullmatch, known)))
        if parts.results is None:
            return None
        numbers = thousandths(parts.results)
    except RigError:
        return None
    marks = tuple(map(Mark, (_PHASE, END), parts.laps_us))
    return Completion(marks, struct.pack(f"<{len(numbers)}i", *numbers))
