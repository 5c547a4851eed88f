# SPDX-License-Identifier: Apache-2.0
"""Windows where the current exceeds a threshold."""

from __future__ import annotations

import math

import numpy as np

from rig.errors import DataError
from rig.measure.trace_windows import TraceSpan
from rig.trace.trace import Trace, reading

_BLOCK = 1 << 20
_UNIFORM = 1 / math.sqrt(12.0)
#: More crossings than these are noise about the threshold.
_MOST = 1 << 20


def by_threshold(trace: Trace, threshold_a: float) -> list[TraceSpan]:
    """Return a window for each stretch of samples above a current, from edge to edge
    within the trace; raises DataError if there is none.

    Samples lost next to one above belong to its stretch, which then has no energy, as
    its ends and its number are unknown. A stretch at the beginning or the end of the
    trace is left out, as its begin or end is unknown.
    """
    edges = _crossings(trace, threshold_a)
    hz = trace.sample_hz
    bounds = zip(edges[::2], edges[1::2], strict=True)
    pairs = [(start, stop) for start, stop in bounds if start > 0]
    if not pairs:
        raise DataError(
            f"the current does not rise above {threshold_a:g} A and fall below it"
            " again",
            try_next="another --threshold; --whole shows mean, least and most",
        )
    spans = []
    for number, (start, stop) in enumerate(pairs, start=1):
        spans.append(TraceSpan(str(number), start / hz, stop / hz, _UNIFORM / hz))
    return spans


def _crossings(trace: Trace, threshold_a: float) -> list[int]:
    """Return the first sample above, the first that is not, and so on; a last stretch
    without an end is left out.
    """
    edges: list[int] = []
    above = False
    last_known = -1
    with reading(trace.path) as reader:
        for first in range(0, trace.length, _BLOCK):
            count = min(_BLOCK, trace.length - first)
            current, _ = trace.samples(reader, first, count)
            known = np.flatnonzero(np.isfinite(current))
            if not len(known):
                continue
            over = np.greater(current[known], threshold_a)
            behind = np.concatenate([[last_known], known[:-1] + first]) + 1
            # A stretch begins after the last sample that was not above, and ends at the
            # next.
            borders = np.where(over, behind, known + first)
            edges += borders[np.flatnonzero(np.diff(over, prepend=above))].tolist()
            above = bool(over[-1])
            last_known = int(known[-1]) + first
            if len(edges) > _MOST:
                raise DataError(
                    f"the current crosses {threshold_a:g} A more than {_MOST} times",
                    try_next="a threshold away from the noise",
                )
    return edges[: len(edges) // 2 * 2]
