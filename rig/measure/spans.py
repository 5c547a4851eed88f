# SPDX-License-Identifier: Apache-2.0
"""The marks of steps -> spans of device ticks, each to become a window; what is wrong with the
marks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rig.measure import search, stream
from rig.model.completion import BATCH, END, IDLE
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Load, Query, Solve, Stream, Sync
from rig.timebase.timebase import Timebase

#: The name of the window that a stream is as a whole.
STREAMED = "stream"
#: The name of the windows from the start of a search to each mark of a threshold.
CROSSED = "reached"


@dataclass(frozen=True, slots=True)
class Span:
    """What becomes one window: a phase of a step, its first and last tick, and the number of the
    stream's window that it is of.
    """

    item: StepRecord
    phase: str
    ticks: tuple[int, int]
    repeat: int
    hop: int | None = None

    def seconds(self, timebase: Timebase) -> tuple[float, float]:
        """Return start and stop in a monitor's time."""
        return timebase.seconds(self.ticks[0]), timebase.seconds(self.ticks[1])


def spans(item: StepRecord, phases: Sequence[str]) -> Iterator[Span]:
    """Yield the spans of a step; none where its marks are not those that are due."""
    marks = item.completion.marks
    # A SYNC burst has no window: its pulses are for the time base alone.
    if isinstance(item.step, Sync) or mark_fault(item, phases):
        return
    if isinstance(item.step, Stream):
        yield from _stream_spans(item, phases)
        return
    if isinstance(item.step, Solve):
        yield from _solve_spans(item, item.step, phases[0])
        return
    names = list(phases) if isinstance(item.step, Query) else ["idle"]
    repeat = item.step.repeat if isinstance(item.step, Query) else 1
    for name, begin, end in zip(names, marks, marks[1:], strict=False):
        yield Span(item, name, (begin.tick, end.tick), repeat)


def _solve_spans(item: StepRecord, step: Solve, phase: str) -> Iterator[Span]:
    """Yield the whole search, and its beginning up to each mark of a threshold."""
    marks = item.completion.marks
    yield Span(item, phase, (marks[0].tick, marks[-1].tick), 1)
    for ticks in dict.fromkeys(search.crossings(item.completion, step)):
        if ticks is not None:
            yield Span(item, CROSSED, ticks, 1)


def _stream_spans(item: StepRecord, phases: Sequence[str]) -> Iterator[Span]:
    """Yield the whole stream, and each window's phases."""
    marks = item.completion.marks
    each = len(phases) + 1
    yield Span(item, STREAMED, (marks[0].tick, marks[-1].tick), 1)
    for place, (begin, end) in enumerate(pairwise(marks[1:-1])):
        hop, phase = divmod(place, each)
        if phase < len(phases):
            yield Span(item, phases[phase], (begin.tick, end.tick), 1, hop)


def _expected_phases(item: StepRecord, phases: Sequence[str]) -> list[int] | None:
    """Return the phase codes due in a step, or None where any will do (a SYNC burst):
    docs/PROTOCOL.md section 4.
    """
    if isinstance(item.step, Query) and item.step.batch:
        return [BATCH, END]
    if isinstance(item.step, Query):
        return [*range(1, len(phases) + 1), END]
    if isinstance(item.step, Stream):
        return stream.due(item.completion.marks, len(phases))
    if isinstance(item.step, Load):
        return []
    return [IDLE, END] if isinstance(item.step, Idle) else None


def mark_fault(item: StepRecord, phases: Sequence[str]) -> str:
    """Say what is wrong with the marks of one step; empty when nothing is."""
    marks = item.completion.marks
    due = _expected_phases(item, phases)
    if isinstance(item.step, Solve) and (fault := search.mark_fault(marks, item.step)):
        return fault
    if due is not None and len(marks) != len(due):
        return f"has {len(marks)} marks where {len(due)} were due"
    if due is not None and [mark.phase for mark in marks] != due:
        return f"marks the phases {[mark.phase for mark in marks]} where {due} were due"
    if any(later.tick < earlier.tick for earlier, later in pairwise(marks)):
        return f"has ticks that run backwards: {[mark.tick for mark in marks]}"
    return ""
