# SPDX-License-Identifier: Apache-2.0
"""Drift within the trials of a session: each sample against the same sample in the
other trials.

The samples of a task differ, and a trial has them in some order: only the same sample
in the other trials shows whether the device changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rig.api.trials.drift import CHANCE, percent
from rig.stats.few_trials import Trend, trend
from rig.store import sample_lines
from rig.store.sample_lines import SampleLine
from rig.store.session_folder import SessionFolder

if TYPE_CHECKING:
    from rig.api.sessions.session import Session

Array = NDArray[np.float64]
#: Fewer samples, or other trials, tell no drift within a trial.
SAMPLES_LEAST = 8
TRIALS_LEAST = 3
#: A change that is significant and less than a tenth of the rule's 5 % is not
#: reported.
TOLD = 0.005
RULE = (
    "Each sample's value over the median of the same sample's in the other valid"
    " trials; a straight line over time by least squares. A trial drifts where the"
    f" line's slope has a chance of at most {CHANCE:.0%} (Student's t, two-sided, times"
    f" all lines tested) and changes the value by {TOLD:.1%} or more from the first"
    f" sample to the last; of {SAMPLES_LEAST} samples and {TRIALS_LEAST} trials or"
    " more."
)
LATENCY = "latency"
ENERGY = "energy"


@dataclass(frozen=True, slots=True)
class WithinTrial:
    """One quantity of one phase in the course of a trial: times since its first sample,
    values over those of the other trials less 1, and the straight line through them.

    `change` is the rise of the line from the first sample to the last, with its 95 %
    interval; `chance` is over all lines tested.
    """

    trial: int
    phase: str
    quantity: str
    times_s: Array
    relative: Array
    line: Trend
    change: float
    low: float
    high: float
    chance: float

    @property
    def found(self) -> bool:
        """Whether the rule calls it a drift."""
        return self.chance <= CHANCE and abs(self.change) >= TOLD

    @property
    def sentence(self) -> str:
        """The drift in words."""
        return (
            f"In the course of trial {self.trial} the {self.quantity} of {self.phase}"
            f" changes by {percent(self.change)} ({percent(self.low)} to"
            f" {percent(self.high)})."
        )


_Key = tuple[object, ...]
_Values = dict[tuple[str, str], dict[_Key, tuple[float, float]]]


def within_trials(session: Session) -> tuple[WithinTrial, ...]:
    """Return each quantity of each phase in the course of each valid trial, where the
    samples of the trials are the same ones.
    """
    folder = SessionFolder(session.path)
    valid = [trial.number for trial in session.results.trials if trial.valid]
    return of_lines(
        {number: sample_lines.read(folder.trial(number)).samples for number in valid}
    )


def of_lines(trials: Mapping[int, Sequence[SampleLine]]) -> tuple[WithinTrial, ...]:
    """Return the same of the samples of each trial."""
    if len(trials) < TRIALS_LEAST:
        return ()
    values = {number: _values(lines) for number, lines in trials.items()}
    courses = []
    for what in dict.fromkeys(chain.from_iterable(values.values())):
        for number in trials:
            course = _course(number, what, values)
            if course is not None:
                courses.append((number, what, course))
    made = []
    for number, (phase, quantity), (times_s, relative) in courses:
        line = trend(list(times_s), list(relative))
        if line is None:
            continue
        span_s = float(times_s[-1] - times_s[0])
        made.append(
            WithinTrial(
                trial=number,
                phase=phase,
                quantity=quantity,
                times_s=times_s,
                relative=relative,
                line=line,
                change=line.slope * span_s,
                low=line.low * span_s,
                high=line.high * span_s,
                chance=min(line.chance * len(courses), 1.0),
            )
        )
    return tuple(made)


def sentences(rows: Sequence[WithinTrial]) -> tuple[str, ...]:
    """Return the drift of each trial that has one, by the quantity that changes
    most."""
    chief: dict[int, WithinTrial] = {}
    for row in rows:
        before = chief.get(row.trial)
        if row.found and (before is None or abs(row.change) > abs(before.change)):
            chief[row.trial] = row
    return tuple(row.sentence for row in chief.values())


def _values(lines: Sequence[SampleLine]) -> _Values:
    """Return when each sample was measured, and its value, by phase and quantity;
    searches are left out, as each draws its own way.
    """
    values: _Values = {}
    met = Counter[_Key]()
    for line in lines:
        if line.solve is not None:
            continue
        sample: _Key = (line.indices, line.window, line.repeat if line.each else None)
        met[sample] += 1
        key = (*sample, met[sample])
        for window in line.windows:
            if window.latency_s > 0:
                row = values.setdefault((window.phase, LATENCY), {})
                row[key] = (window.start_s, window.latency_s)
            if window.energy_j is not None and window.energy_j > 0:
                row = values.setdefault((window.phase, ENERGY), {})
                row[key] = (window.start_s, window.energy_j)
    return values


def _course(
    number: int, what: tuple[str, str], values: Mapping[int, _Values]
) -> tuple[Array, Array] | None:
    """Return times and relative values of one trial, in order of time; None where too
    few samples are in enough other trials.
    """
    mine = values[number].get(what, {})
    others = [found.get(what, {}) for other, found in values.items() if other != number]
    rows = []
    for key, (start_s, value) in mine.items():
        same = [found[key][1] for found in others if key in found]
        if len(same) >= TRIALS_LEAST - 1:
            rows.append((start_s, value / float(np.median(same)) - 1.0))
    if len(rows) < SAMPLES_LEAST:
        return None
    table = np.array(sorted(rows), dtype=np.float64)
    return table[:, 0] - table[0, 0], table[:, 1]
