# SPDX-License-Identifier: Apache-2.0
"""The timed samples of a trial as arrays, for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rig.report.style import Array
from rig.results.document import TrialResult
from rig.store import session_folder
from rig.store.session_folder import SessionFolder


@dataclass(frozen=True, slots=True)
class TrialSamples:
    """The timed queries of one trial: arrays of (sample, phase), in seconds and joules; energy is
    NaN where samples were lost.
    """

    trial: int
    valid: bool
    repeat: int
    start_s: Array
    stop_s: Array
    latency_s: Array
    energy_j: Array

    @classmethod
    def read(cls, folder: SessionFolder, trial: TrialResult, phases: int) -> TrialSamples:
        """Read samples.jsonl of a trial of results.json."""
        lines = [
            line
            for line in session_folder.read_lines(
                folder.trial(trial.number) / session_folder.SAMPLES
            )
            if "windows" in line
        ]
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
            *columns,
        )
