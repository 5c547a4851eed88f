# SPDX-License-Identifier: Apache-2.0
"""Names of windows between edges of a session's trace: phase, sample and trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rig.api.traces.spans import Spans, TrialSpan
from rig.api.traces.surroundings import Surroundings
from rig.measure.trace_windows import TraceSpan

#: Largest distance between the ends of a window and of a span of the session, as a
#: share of the window.
_APART = 0.1


def with_names(windows: Sequence[TraceSpan], path: Path) -> list[TraceSpan]:
    """Add phase and sample to the names of windows that the session of the trace has.

    Where the trace recorded interleaved trials, the name ends with the trial, unless
    the window belongs to all of them. Other windows keep their names.
    """
    numbers = Surroundings(path, own=True).trials
    trials: dict[int, Spans] = {}
    for number in numbers:
        spans = Surroundings(path, own=True, of_trial=number).spans
        if spans is not None and len(spans):
            trials[number] = spans
    return [replace(window, name=_name(window, trials)) for window in windows]


def _name(window: TraceSpan, trials: dict[int, Spans]) -> str:
    matches: dict[int, TrialSpan] = {}
    for number, spans in trials.items():
        span = _nearest(spans, window.start_s)
        if _is_same(window, span):
            matches[number] = span
    if not matches:
        return window.name
    number, span = next(iter(matches.items()))
    trial = f", trial {number}" if len(matches) < len(trials) else ""
    return f"{window.name} {_words(span)}{trial}"


def _nearest(spans: Spans, at_s: float) -> TrialSpan:
    """Return the span with the nearest start, of spans in the order of their starts."""
    after = int(np.searchsorted(spans.start_s, at_s))
    places = [max(after - 1, 0), min(after, len(spans) - 1)]
    return spans[min(places, key=lambda place: abs(spans.start_s[place] - at_s))]


def _is_same(window: TraceSpan, span: TrialSpan) -> bool:
    start_apart_s = abs(span.start_s - window.start_s)
    stop_apart_s = abs(span.stop_s - window.stop_s)
    limit_s = _APART * (window.stop_s - window.start_s)
    return max(start_apart_s, stop_apart_s) < limit_s


def _words(span: TrialSpan) -> str:
    """Return the phase of a span, its sample, and whether it is a warm-up."""
    sample = f" of sample {span.sample}" if span.sample is not None else ""
    warm_up = ", warm-up" if span.warm_up else ""
    return f"{span.phase}{sample}{warm_up}"
