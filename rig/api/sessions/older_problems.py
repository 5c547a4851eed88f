# SPDX-License-Identifier: Apache-2.0
"""Places of problems in results.json of a schema before 7, which has sentences only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from rig.api.traces.spans import Spans
from rig.problems import Problem

#: From this schema on a problem has its place as data.
PLACED_SINCE = 7
#: No number in a sentence of the rig has more digits.
_NUMBER = "([0-9]{1,15})"
_SEGMENT = re.compile(rf"(?:segment|sitting) {_NUMBER}: ")
_STEP = re.compile(rf"\bstep {_NUMBER}\b")
_PHASE = re.compile(r"\b(?:first|shortest|most is) (\w+) of step [0-9]")
_SAMPLES = re.compile(rf"\(samples {_NUMBER} to {_NUMBER}: ")
_MARK = re.compile(rf"(?:\bno edge for |^)mark {_NUMBER}\b")
_EDGE = re.compile(rf"\b(?:no mark for edge|bounced: edge|^edges) {_NUMBER}\b")

_Times = tuple[float, float]


def placed(
    problem: Problem,
    rates_hz: Mapping[str, float],
    spans_of: Callable[[str], Spans | None],
    moment_of: Callable[[int], float | None],
) -> Problem:
    """Return a problem with the place that its evidence names: its samples, the phase
    or the whole of its step, or its mark.

    `rates_hz` are the sampling rates of the rails, `spans_of` gives the spans in the
    time of a rail, `moment_of` the time of a mark by its number, from 1.
    """
    text = problem.detail
    segment = 1
    if found := _SEGMENT.match(text):
        segment = int(found[1])
        text = text[found.end() :]
    rail, colon, rest = text.partition(": ")
    if colon and rail in rates_hz:
        text = rest
    else:
        rail = next(iter(rates_hz), "")
    step = _number(_STEP, text)
    mark = _number(_MARK, text)
    times_s: _Times | None = None
    if samples := _SAMPLES.search(text):
        rate_hz = rates_hz.get(rail, 0.0)
        if rate_hz:
            times_s = int(samples[1]) / rate_hz, int(samples[2]) / rate_hz
    elif step is not None and segment == 1 and (spans := spans_of(rail)):
        phase = _PHASE.search(text)
        times_s = _of_step(spans, step, phase[1] if phase else "")
    elif mark is not None and segment == 1:
        at_s = moment_of(mark)
        times_s = None if at_s is None else (at_s, at_s)
    start_s, stop_s = times_s or (None, None)
    edge = _number(_EDGE, text)
    return replace(
        problem,
        rail=rail,
        segment=segment,
        step=step,
        start_s=start_s,
        stop_s=stop_s,
        edge=edge,
    )


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None


def _of_step(spans: Spans, step: int, phase: str) -> _Times | None:
    """Return the time of a phase of a step, of the whole step without that phase."""
    inside = spans.step == step
    if phase in spans.phases:
        of_phase = inside & (spans.phase == spans.phases.index(phase))
        inside = of_phase if of_phase.any() else inside
    if not inside.any():
        return None
    return float(spans.start_s[inside].min()), float(spans.stop_s[inside].max())
