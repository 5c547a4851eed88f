# SPDX-License-Identifier: Apache-2.0
"""An energy that the instrument counted itself, as EnergyTrace does, against that of
current times voltage, which its program may have filtered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.trace.trace import Trace
from rig.units import scale, share

#: Less than that is rounding of the printed number.
_SILENT = 1e-4


def counted(
    numbers: Path, kind: np.dtype[Any], name: str, trace: Trace, last: float = 0.0
) -> list[str]:
    """Return notes on how the two differ over all rows of a file, from the first to the
    last reading of the counter; none where they do not. The trace continues for `last`
    seconds after the last row."""
    rows = np.memmap(numbers, dtype=kind, mode="r")
    known = np.flatnonzero(np.isfinite(rows["counter"]))
    if len(known) < 2:
        return [f"{name} counts nothing"]
    if trace.gaps:
        return [f"{name} is not compared: there are gaps"]
    times_s = rows["time"]
    begin_s = float(times_s[known[0]] - times_s[0])
    end_s = float(times_s[known[-1]] - times_s[0])
    told_j = float(rows["counter"][known[-1]] - rows["counter"][known[0]])
    found_j = trace.energy_j(begin_s, min(end_s, trace.duration_s - last))
    if not told_j:
        return [f"{name} counts nothing"]
    part = found_j / told_j - 1
    if abs(part) <= _SILENT:
        return [f"{name}, the instrument's own counter, agrees within {share(_SILENT)}"]
    factor, unit = scale(told_j, "J")
    more = "more" if part > 0 else "less"
    return [
        f"{name}, the instrument's own counter, says {told_j * factor:.5g} {unit} over"
        f" the whole; current times voltage is {share(abs(part))} {more}"
    ]
