# SPDX-License-Identifier: Apache-2.0
"""Decoding of a recorded log of the text layer: the commands of windows with their
answers. No port, no clock.

`infer` is a query, and so is `extract_uart_stream` with the stamps before and after it.
The stamps of `timestamp` are those of SYNC bursts and idle times,
between which the log does not distinguish: each is a step of one mark.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rig.errors import RigError
from rig.interfaces.recount import HeardStep, Recount, WireBlock
from rig.model.completion import END, Completion, Mark
from sut_backends.shim.text_answers import LAP, activations, take_apart, thousandths

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
        for field, form in (("name", _NAME), ("firmware", _PROFILE), ("model", _MODEL)):
            for exchange in self._exchanges:
                for line in exchange.lines:
                    if match := form.fullmatch(line):
                        facts[field] = match[1]
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
