# SPDX-License-Identifier: Apache-2.0
"""The names of windows between edges of a session's trace: the phase and the sample of
each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rig.api.traces.spans import TrialSpan
from rig.api.traces.surroundings import Surroundings
from rig.measure.trace_windows import TraceSpan

#: So far, as a share of a window, its ends may lie from those that the session has for
#: it.
_APART = 0.1


def with_names(windows: Sequence[TraceSpan], path: Path) -> list[TraceSpan]:
    """Return the windows of a trial's trace with the phase and the sample that the
    session beside it has for them, behind their numbers; as they are where there is no
    session, or another window.
    """
    spans = Surroundings(path, own=True).spans
    if spans is None or not len(spans):
        return list(windows)
    named = []
    for window in windows:
        place = int(np.argmin(np.abs(spans.start_s - window.start_s)))
        span = spans[place]
        apart_s = max(
            abs(span.start_s - window.start_s), abs(span.stop_s - window.stop_s)
        )
        if apart_s < _APART * (window.stop_s - window.start_s):
            window = replace(window, name=f"{window.name} {_words(span)}")
        named.append(window)
    return named


def _words(span: TrialSpan) -> str:
    """Return what a span is of: its phase, its sample, and whether it counts."""
    sample = f" of sample {span.sample}" if span.sample is not None else ""
    warm_up = ", warm-up" if span.warm_up else ""
    return f"{span.phase}{sample}{warm_up}"
