# SPDX-License-Identifier: Apache-2.0
"""The place of a problem in the trace: rail, segment, step and time, as its evidence
tells.

Places are derived when a session is read: results.json keeps what it always had, and
sessions of before have places too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rig.api.traces.spans import NONE, Spans
from rig.store.journal import OLD_SEGMENT
from rig.store.segments import SEGMENT
from rig.timebase.timebase import Timebase

_SEGMENT = re.compile(rf"(?:{SEGMENT}|{OLD_SEGMENT}) ([1-9][0-9]*): ")
_STEP = re.compile(r"\bstep ([0-9]+)\b")
_PHASE = re.compile(r"\b(?:first|shortest|most is) (\w+) of step ([0-9]+)\b")
_SAMPLES = re.compile(r"\(samples ([0-9]+) to ([0-9]+): ")
_MARK = re.compile(r"\b(?:no edge for mark|^mark) ([0-9]+)\b")
_EDGE = re.compile(r"\b(?:no mark for edge|bounced: edge|^edges) ([0-9]+)\b")


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """The place of a problem, as far as it is known: `start_s` to `stop_s` of the
    rail's trace, or the number of a falling edge, from 1, whose time only the trace
    knows.
    """

    rail: str = ""
    segment: int = 1
    step: int | None = None
    start_s: float | None = None
    stop_s: float | None = None
    edge: int | None = None


def place_of(
    detail: str,
    rates_hz: Mapping[str, float],
    spans_of: Callable[[str], Spans | None],
    ticks: Sequence[int],
    base: Timebase | None,
) -> ProblemPlace:
    """Return the place that a problem's evidence names; `rates_hz` are the rails'
    sampling rates, `spans_of` gives the spans in the time of a rail, `ticks` are those
    of all marks of the trial, and `base` is its time base.
    """
    segment = 1
    if found := _SEGMENT.match(detail):
        segment = int(found[1])
        detail = detail[found.end() :]
    rail = next(iter(rates_hz), "")
    for name in rates_hz:
        if name and detail.startswith(f"{name}: "):
            rail = name
            detail = detail.removeprefix(f"{name}: ")
    step_of = _STEP.search(detail)
    step = int(step_of[1]) if step_of else None
    edge = _EDGE.search(detail)
    times_s = None
    if samples := _SAMPLES.search(detail):
        rate_hz = rates_hz.get(rail, 0.0)
        times_s = (
            (int(samples[1]) / rate_hz, int(samples[2]) / rate_hz) if rate_hz else None
        )
    elif step is not None and segment == 1:
        phase = _PHASE.search(detail)
        times_s = _of_step(spans_of(rail), step, phase[1] if phase else "")
    elif (mark := _MARK.search(detail)) and base is not None and segment == 1:
        at = int(mark[1]) - 1
        times_s = (base.seconds(ticks[at]),) * 2 if at < len(ticks) else None
    start_s, stop_s = times_s or (None, None)
    return ProblemPlace(
        rail, segment, step, start_s, stop_s, int(edge[1]) if edge else None
    )


def _of_step(spans: Spans | None, step: int, phase: str) -> tuple[float, float] | None:
    """Return the time of a phase of a step; of the whole step where the phase is not
    known."""
    if spans is None or step == NONE:
        return None
    inside = spans.step == step
    of_phase = inside & np.array(
        [spans.phases[code] == phase for code in spans.phase], dtype=bool
    )
    inside = of_phase if of_phase.any() else inside
    if not inside.any():
        return None
    return float(spans.start_s[inside].min()), float(spans.stop_s[inside].max())
