# SPDX-License-Identifier: Apache-2.0
"""The timed samples of a trial as arrays, for pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rig.report.style import Array
from rig.results.document import TrialResult
from rig.stats.summary import ratio
from rig.store import session_folder
from rig.store.session_folder import SessionFolder


@dataclass(frozen=True, slots=True)
class TrialSamples:
    """The timed queries of one trial: arrays of (sample, phase), in seconds and joules; energy is
    NaN where samples were lost. `idle_w` is the average power of its idle times.
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
    def read(cls, folder: SessionFolder, trial: TrialResult, phases: int) -> TrialSamples:
        """Read samples.jsonl of a trial of results.json."""
        every = session_folder.read_lines(folder.trial(trial.number) / session_folder.SAMPLES)
        lines = [line for line in every if "windows" in line]
        keys = ("start_s", "stop_s", "latency_s", "energy_j")
        table = np.array(
            [[[window[key] for key in keys] for window in line["windows"]] for line in lines],
            dtype=np.float64,
        )
        columns = np.moveaxis(table.reshape(len(lines), phases, len(keys)), 2, 0)
        return cls(
            trial.number,
            trial.valid,
            max((line["repeat"] for line in lines), default=1),
            _idle_w([line["idle"] for line in every if "idle" in line]),
            *columns,
        )


def _idle_w(idles: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the average power of the idle times whose energy is known."""
    known = [idle for idle in idles if idle["energy_j"] is not None]
    value, _ = ratio([idle["energy_j"] for idle in known], [idle["latency_s"] for idle in known])
    return value if math.isfinite(value) else None
