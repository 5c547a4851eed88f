# SPDX-License-Identifier: Apache-2.0
"""The timed samples of a trial as arrays, for pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np

from rig.report.style import Array
from rig.results.document import TrialResult
from rig.stats.summary import ratio
from rig.store import sample_lines
from rig.store.sample_lines import WindowLine
from rig.store.session_folder import SessionFolder

_NUMBERS = attrgetter("start_s", "stop_s", "latency_s", "energy_j")


@dataclass(frozen=True, slots=True)
class TrialSamples:
    """The timed queries of one trial: arrays of (sample, phase), in seconds and joules;
    energy is NaN where samples were lost. `idle_w` is the average power of its idle
    times.
    """

    trial: int
    valid: bool
    repeat: int
    idle_w: float | None
    start_s: Array
    stop_s: Array
    latency_s: Array
    energy_j: Array

    @classmethod
    def read(
        cls, folder: SessionFolder, trial: TrialResult, phases: int
    ) -> TrialSamples:
        """Read samples.jsonl of a trial of results.json."""
        every = sample_lines.read(folder.trial(trial.number))
        lines = every.samples
        windows = chain.from_iterable(line.windows for line in lines)
        table = np.array(list(map(_NUMBERS, windows)), dtype=np.float64)
        columns = np.moveaxis(table.reshape(len(lines), phases, 4), 2, 0)
        repeat = max((line.repeat for line in lines), default=1)
        return cls(trial.number, trial.valid, repeat, _idle_w(every.idles), *columns)


def _idle_w(idles: Sequence[WindowLine]) -> float | None:
    """Return the average power of the idle times whose energy is known."""
    known = [
        (idle.energy_j, idle.latency_s) for idle in idles if idle.energy_j is not None
    ]
    value, _ = ratio(
        [energy_j for energy_j, _ in known], [duration_s for _, duration_s in known]
    )
    return value if math.isfinite(value) else None
