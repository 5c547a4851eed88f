# SPDX-License-Identifier: Apache-2.0
"""Places of problems in results.json of a schema before 7, which has sentences only."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from rig.api.traces.spans import Spans
from rig.problems import Problem

#: From this schema on a problem has its place as data.
PLACED_SINCE = 7
_EVIDENCE = re.compile(
    r"((?:segment|sitting) (?P<segment>\d+): )?"
    r"((?P<rail>[\w-]+): )?"
    r"(?P<text>.*)",
    re.DOTALL,
)
_STEP = re.compile(r"\bstep (\d+)\b")
_SAMPLES = re.compile(r"\(samples (\d+) to (\d+): ")
_EDGE = re.compile(r"\b(?:no mark for edge|bounced: edge|^edges) (\d+)\b")


def placed(
    problem: Problem,
    rates_hz: Mapping[str, float],
    spans_of: Callable[[str], Spans | None],
) -> Problem:
    """Return a problem with the place that its evidence names: its samples, or the
    whole of its step; `rates_hz` are the sampling rates of the rails.
    """
    parts = _EVIDENCE.fullmatch(problem.detail)
    assert parts is not None
    segment_text, named_rail, text = parts.group("segment", "rail", "text")
    first_rail = next(iter(rates_hz), "")
    rail = named_rail if named_rail in rates_hz else first_rail
    segment = int(segment_text or 1)
    step = _STEP.search(text)
    edge = _EDGE.search(text)
    times_s: tuple[float, float] | None = None
    if samples := _SAMPLES.search(text):
        rate_hz = rates_hz.get(rail, 0.0)
        if rate_hz:
            times_s = int(samples[1]) / rate_hz, int(samples[2]) / rate_hz
    elif step and segment == 1 and (spans := spans_of(rail)):
        inside = spans.step == int(step[1])
        if inside.any():
            starts_s = spans.start_s[inside]
            times_s = float(starts_s.min()), float(spans.stop_s[inside].max())
    start_s, stop_s = times_s or (None, None)
    return dataclasses.replace(
        problem,
        rail=rail,
        segment=segment,
        step=int(step[1]) if step else None,
        start_s=start_s,
        stop_s=stop_s,
        edge=int(edge[1]) if edge else None,
    )
