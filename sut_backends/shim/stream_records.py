# SPDX-License-Identifier: Apache-2.0
"""The marks of a stream, made of the records that TAKEN brought:
docs/reference/PROTOCOL.md section 9."""

from __future__ import annotations

from collections.abc import Sequence

from rig.model.completion import DECIDED, END, STREAM, Mark
from sut_backends.shim.messages import TakenMessage


def marks_of(
    taken: TakenMessage, records: Sequence[tuple[tuple[int, ...], bytes]]
) -> tuple[Mark, ...]:
    """Return the marks of a stream: its start, those of each window, and its end;
    `taken` is the last answer, `records` are ticks and output of each window.
    """
    marks = [Mark(STREAM, taken.start_tick)]
    for ticks, _ in records:
        marks += [Mark(phase, tick) for phase, tick in enumerate(ticks[:-1], 1)]
        marks.append(Mark(DECIDED, ticks[-1]))
    return (*marks, Mark(END, taken.end_tick))
