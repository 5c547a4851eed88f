# SPDX-License-Identifier: Apache-2.0
"""The session around a trace: the accuracy of its monitor, its time base, and the
windows in it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from rig.api.traces import span_lines
from rig.api.traces.place import TracePlace, place_of
from rig.api.traces.spans import Spans
from rig.errors import RigError
from rig.importers.open import accuracy_beside
from rig.results import changed, document
from rig.results.document import Results, TrialResult
from rig.store.session_folder import RESULTS, SessionFolder
from rig.timebase.timebase import Timebase
from rig.uncertainty.accuracy import Accuracy

_UNIFORM = 1 / math.sqrt(12.0)


class Surroundings:
    """The session around a trace, read when it is asked for; a trace of no session has
    none of it. Damage of the session is no error here: what cannot be read is not
    there.

    `of_trial` is that of several interleaved trials whose windows are chosen, None the
    trial of the folder.
    """

    def __init__(self, path: Path, own: bool, of_trial: int | None = None) -> None:
        self._path = path
        self._own = own
        self._of_trial = of_trial

    @cached_property
    def place(self) -> TracePlace | None:
        """The session, trial, rail and segment of the trace."""
        found = place_of(self._path) if self._own else None
        if found is None or self._of_trial is None:
            return found
        return replace(found, trial=self._of_trial)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside the numbers of the session."""
        if self.place is None:
            return ()
        return tuple(
            label.text for label in changed.of_folder(SessionFolder(self.place.session))
        )

    @property
    def trials(self) -> tuple[int, ...]:
        """The numbers of the trials that the trace recorded: its own, or all
        interleaved ones."""
        if self.place is None:
            return ()
        if self._results is None or not self._results.provenance.interleaved:
            return (self.place.trial,)
        return tuple(row.number for row in self._results.trials)

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """The accuracy of the monitor that recorded the trace."""
        try:
            return accuracy_beside(self._path) if self._own else None
        except (RigError, OSError):
            return None

    @cached_property
    def spans(self) -> Spans | None:
        """The measured windows and the warm-up queries."""
        if self.place is None:
            return None
        where = self.place.trial, self.place.rail, self.place.segment
        try:
            return span_lines.of_trial(
                SessionFolder(self.place.session), *where, self._trial
            )
        except (RigError, OSError):
            return None

    @cached_property
    def timebase(self) -> Timebase | None:
        """The time base of the trace; None where the results have none."""
        if self._trial is None or self.place is None or self.place.segment > 1:
            return None
        rail = self._trial.rails.get(self.place.rail)
        return self._trial.timebase if rail is None else rail.timebase

    def mark_u_s(self, at_s: float) -> float | None:
        """Return the standard uncertainty of an instant at which a mark was made; None
        where there is no time base.
        """
        base = self.timebase
        if base is None or self._results is None:
            return None
        tick = base.origin_tick + round((at_s - base.origin_s) / base.s_per_tick)
        tick_hz = self._results.provenance.sut.tick_hz
        # A mark was made somewhere within its tick.
        return math.hypot(base.seconds_u_s(tick), _UNIFORM / tick_hz)

    @cached_property
    def _results(self) -> Results | None:
        if self.place is None:
            return None
        path = self.place.session / RESULTS
        try:
            return document.read(path) if path.exists() else None
        except (RigError, OSError):
            return None

    @cached_property
    def _trial(self) -> TrialResult | None:
        if self._results is None or self.place is None:
            return None
        matching = [
            row for row in self._results.trials if row.number == self.place.trial
        ]
        return matching[0] if matching else None
