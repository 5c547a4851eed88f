# SPDX-License-Identifier: Apache-2.0
"""Windows between the time stamps of a file."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from rig.errors import DataError
from rig.importers import stamps_file
from rig.measure.trace_windows import TraceSpan

_UNIFORM = 1 / math.sqrt(12.0)


def by_stamps(path: Path) -> list[TraceSpan]:
    """Return the windows of a file: pairs as they stand; of single stamps from each to
    the next, numbered as EEMBC numbers its windows, from 1 at the first stamp.
    DataError for anything else.
    """
    rows = stamps_file.rows_in(path)
    widths = {len(row) for row in rows}
    if widths == {2}:
        pairs = [(row[0], row[1]) for row in rows]
    elif widths == {1}:
        pairs = list(pairwise(row[0] for row in rows))
    else:
        raise DataError(
            f"{path.name} has no time stamps to make windows of",
            evidence=(
                f"{len(rows)} rows, of {', '.join(map(str, sorted(widths))) or 'no'}"
                " numbers"
            ),
            try_next=stamps_file.HINT,
        )
    if not pairs:
        raise DataError(
            f"{path.name} has one time stamp: no window", try_next=stamps_file.HINT
        )
    spans = []
    for number, (start, stop) in enumerate(pairs, start=1):
        start_s, stop_s = float(start), float(stop)
        if not 0 <= start_s < stop_s < math.inf:
            raise DataError(
                f"{path.name}: window {number} ends before it begins, or begins"
                " before 0",
                evidence=f"{start} s to {stop} s",
                try_next="stamps in seconds from the first sample, in their order",
            )
        end_u_s = _UNIFORM * max(stamps_file.step_s(start), stamps_file.step_s(stop))
        spans.append(TraceSpan(str(number), start_s, stop_s, end_u_s))
    return spans
