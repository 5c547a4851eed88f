# SPDX-License-Identifier: Apache-2.0
"""Answers of the device, decoded again from uart.log by the backend's own decoder, and
compared with the step records and the facts on the device in the provenance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.bench import plugins
from rig.check.reasons import cannot
from rig.check.versions import is_this_revision
from rig.interfaces.recount import HeardStep, Recount
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion, Mark
from rig.model.finding import Finding
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Load, Sync
from rig.results.results import Context
from rig.store import completion_lines, wire_lines
from rig.store.provenance_file import WHOLE
from rig.store.segments import segments
from rig.store.session_folder import UART
from rig.timebase.edge_clock import EDGE_CLOCK

#: Whether a part of the log agrees, and its description.
_Comparisons = Iterator[tuple[bool, str]]

#: Requests have whole microseconds.
_REQUEST_S = 1e-6
#: Stamps of the text layer, which make up bursts and idle times.
_STAMP = "stamp"


@dataclass(frozen=True, slots=True)
class UartAgain:
    """The logs of a session, its settings, and a function that gives the CRC-32 of
    every sample's payload, where the data are known.
    """

    session: Path
    context: Context
    contents: Callable[[], Mapping[int, int]]

    def findings(self, trial: Path) -> Iterator[Finding]:
        """Yield for each segment of a trial whether its log says what its records
        say."""
        kind = plugins.find("sut", self.context.config.sut.kind)
        places = segments(trial)
        for place in places:
            name = str((place / UART).relative_to(self.session))
            if not plugins.speaks_for(kind, "recount", "do"):
                yield from self._undecoded(name, place)
                continue
            try:
                recount = kind.recount(wire_lines.read(place / UART))
                if recount is None:
                    yield from self._undecoded(name, place)
                    continue
                records = completion_lines.read(place)
                found = list(self._compared(recount, records, place != places[-1]))
            except Exception as error:
                yield Finding(name, False, cannot("it", error))
                continue
            yield from (Finding(name, ok, text) for ok, text in found)

    def _undecoded(self, name: str, place: Path) -> Iterator[Finding]:
        kind = self.context.config.sut.kind
        if (place / UART).exists() and (place / UART).stat().st_size:
            yield Finding(
                name, True, f"not decoded: [sut.{kind}] offers no decoder of logs"
            )

    def _compared(
        self, recount: Recount, records: Sequence[StepRecord], is_open: bool
    ) -> _Comparisons:
        told = self.context.provenance
        # A session of this revision has whole logs, also where its provenance is
        # edited.
        whole = told.uart_log == WHOLE or is_this_revision(told)
        if recount.unread or (not recount.facts and whole):
            why = (
                recount.unread
                or "it does not begin with what the device says of itself"
            )
            yield not whole, f"is not decoded: {why}"
            return
        facts = list(_other_facts(recount, told.sut))
        yield from ((False, text) for text in facts)
        # Of a device that only pulses SYNC the log has neither bursts nor idle times.
        unheard = (Load, Sync, Idle) if told.sut.clock == EDGE_CLOCK else (Load,)
        asked = [item for item in records if not isinstance(item.step, unheard)]
        if not whole and any(step.answer is None for step in recount.steps):
            compared = _of_shortened(recount.steps, asked)
        else:
            heard = [step for step in recount.steps if step.answer is not None]
            # Payloads are made only where there is a log to compare them with.
            known = (
                dict(self.contents()) if any(step.contents for step in heard) else {}
            )
            compared = _of_whole(heard, asked, is_open, known)
        yield from compared if not facts else ()


def _other_facts(recount: Recount, sut: SutInfo) -> Iterator[str]:
    for name, value in recount.facts.items():
        told = getattr(sut, name)
        # Backends add the program that they run to the statements of the firmware.
        extended = name == "firmware" and str(told).startswith(f"{value}, ")
        if told != value and not extended:
            yield (
                f"the device says {name} {str(value)[:60]!r}, provenance.json"
                f" {str(told)[:60]!r}"
            )


def _of_shortened(
    heard: Sequence[HeardStep], records: Sequence[StepRecord]
) -> _Comparisons:
    """Compare the requests and short answers of a log that has no long ones."""
    if len(heard) != len(records):
        yield (
            True,
            (
                "is of a rig that shortened answers: they cannot be told apart, and are"
                " not compared"
            ),
        )
        return
    count = 0
    for step, item in zip(heard, records, strict=True):
        count += step.answer is not None
        if text := _difference(step, item):
            yield False, f"step {item.number}: {text}"
            return
    yield (
        True,
        (
            f"is of a rig that shortened answers: {len(records)} requests and {count}"
            " answers decoded again, the other answers are not compared"
        ),
    )


def _of_whole(
    heard: Sequence[HeardStep],
    records: Sequence[StepRecord],
    is_open: bool,
    known: dict[int, int],
) -> _Comparisons:
    """Compare all answers, in order; the log of an open segment may have more of them
    than there are records. `known` are the CRC-32 of samples.
    """
    at = 0
    for item in records:
        while True:
            step, taken = _next(heard[at:], item)
            text = "the log has no answer" if step is None else _difference(step, item)
            if step is not None and not text:
                text = _other_content(step, item, known)
            # A request that was repeated after the line was opened again has no
            # record.
            if not text or step is None or not step.dropped:
                break
            at += 1
        if text:
            yield False, f"step {item.number}: {text}"
            return
        at += taken
    while at < len(heard) and heard[at].dropped:
        at += 1
    if at < len(heard) and not is_open:
        yield False, f"has {len(heard) - at} answers that no step record has"
        return
    yield True, f"{len(records)} answers decoded again: those of the step records"


def _next(heard: Sequence[HeardStep], item: StepRecord) -> tuple[HeardStep | None, int]:
    """Return the step that comes next, of stamps as many as the record has marks, and
    how many steps of the log that takes.
    """
    if not heard:
        return None, 0
    count = len(item.completion.marks)
    if heard[0].kind != _STAMP or count == 0 or item.step.kind not in ("sync", "idle"):
        return heard[0], 1
    stamps = [
        step.answer.marks[0].tick for step in heard[:count] if step.answer is not None
    ]
    phases = [mark.phase for mark in item.completion.marks]
    marks = tuple(map(Mark, phases, stamps))
    return replace(heard[0], kind=item.step.kind, answer=Completion(marks)), len(stamps)


def _difference(step: HeardStep, item: StepRecord) -> str:
    """Return where a record differs from the log; empty where they agree."""
    if step.kind != item.step.kind:
        return f"the log has a step of kind {step.kind}, the record {item.step.kind}"
    for name, value in step.asked.items():
        own = getattr(item.step, name)
        if not _equal(value, own):
            return f"{name} was asked as {_shown(value)}, the record has {_shown(own)}"
    if step.contents and len(step.contents) != len(item.step.samples_named):
        return f"{len(step.contents)} samples were asked for, the record has others"
    if step.repeats > item.completion.retransmissions:
        return (
            f"its request was sent {step.repeats} times more, the record has "
            f"{item.completion.retransmissions} retransmissions"
        )
    return (
        "" if step.answer is None else _other_answer(step, step.answer, item.completion)
    )


def _other_answer(step: HeardStep, answer: Completion, told: Completion) -> str:
    if answer.marks and _marks(answer, step.mark_modulus) != _marks(
        told, step.mark_modulus
    ):
        return (
            f"the device gave the marks {_ticks(answer)}, the record has {_ticks(told)}"
        )
    if answer.output != told.output:
        return (
            f"the device answered {answer.output.hex()[:32] or 'nothing'}, the record"
            f" has {told.output.hex()[:32] or 'nothing'}"
        )
    counts = {
        "iterations": (answer.iterations, told.iterations),
        "known": (answer.known, told.known),
    }
    for name, (one, other) in counts.items():
        if one is not None and one != other:
            return (
                f"the device gave {name} {_shown(one)}, the record has {_shown(other)}"
            )
    if answer.rx_in_window_b > told.rx_in_window_b:
        return (
            f"the device counted {answer.rx_in_window_b} bytes in its window, the"
            f" record has {told.rx_in_window_b}"
        )
    return ""


def _other_content(step: HeardStep, item: StepRecord, known: dict[int, int]) -> str:
    """Return that a sample was loaded with another content than its own, or, where that
    is not known, than before.
    """
    for index, crc in zip(item.step.samples_named, step.contents, strict=False):
        if crc is not None and known.setdefault(index, crc) != crc:
            return f"what was loaded as sample {index} has other bytes than that sample"
    return ""


def _marks(completion: Completion, modulus: int) -> list[Any]:
    if not modulus:
        return [(mark.phase, mark.tick) for mark in completion.marks]
    return [mark.tick % modulus for mark in completion.marks]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=_REQUEST_S)
    return bool(one == other)


def _ticks(completion: Completion) -> str:
    return _shown(tuple(mark.tick for mark in completion.marks))


def _shown(value: Any) -> str:
    return str(value)[:80]
