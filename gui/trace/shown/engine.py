# SPDX-License-Identifier: Apache-2.0
"""What the trace screen asks of the engine: open a trace with what is around it. Slow: called in a
background thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gui.trace.shown.band_layout import BandSpans
from rig.annotations import Annotations
from rig.api.sessions.session import Session, SessionProblem, open_session
from rig.api.traces.spans import CROSSING, IDLE, WARM_UP, Spans, TrialSpan
from rig.api.traces.statistics import Stopped
from rig.api.traces.trace import SessionTrace, open_trace
from rig.api.trials.overlay import Overlay, overlay
from rig.errors import DataError, RigError
from rig.results.labels import SIMULATED
from rig.store.segments import segments
from rig.store.session_folder import EVENTS, SessionFolder
from rig.units import quantity

Array = NDArray[np.float64]

#: Colour of spans that do not count; phases have 0 and more.
WARM_UP_COLOUR = -1
IDLE_COLOUR = -2
#: Fewer are no picture.
_LEAST_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Subject:
    """What the screen shows: a trace, and of which session, trial and rail it is.

    `trials`, `rails` and `segments` are what can be chosen; `gaps_s` has a row (start, stop) for
    each gap, `causes` say why, `reduced_s` has one for each stretch of means. `spans` and `bands`
    are the measured windows, as rows and as drawn; `band_names` are the texts of the bands,
    `borders_s` all ends of windows. `notes` say how the file was read.
    """

    path: Path
    trace: SessionTrace
    title: str
    session: Session | None
    labels: tuple[str, ...]
    trial: int
    rail: str
    segment: int
    trials: tuple[int, ...]
    rails: tuple[str, ...]
    segment_count: int
    spans: tuple[TrialSpan, ...]
    bands: BandSpans
    band_names: tuple[str, ...]
    phases: tuple[str, ...]
    problems: tuple[SessionProblem, ...]
    has_sync: bool
    borders_s: Array
    gaps_s: Array
    causes: tuple[str, ...]
    annotations: Annotations
    notes: tuple[str, ...]
    reduced_s: Array

    @property
    def resolution_s(self) -> float:
        """Return the time to which instants of the trace mean something: a part of a sample."""
        return 1e-3 / self.trace.sample_hz

    def border_near(self, at_s: float) -> float | None:
        """Return the end of a window that is nearest to an instant; None where there are none."""
        after = int(np.searchsorted(self.borders_s, at_s))
        near = self.borders_s[max(after - 1, 0) : after + 1]
        return float(near[np.argmin(np.abs(near - at_s))]) if len(near) else None

    def spans_at(self, at_s: float) -> list[TrialSpan]:
        """Return the windows that an instant lies in."""
        spans = self.trace.spans
        if spans is None:
            return []
        return [self.spans[place] for place in spans.within(at_s, at_s + self.resolution_s)]


def open_subject(
    path: Path, trial: int | None = None, rail: str | None = None, segment: int = 1
) -> Subject:
    """Open a trace: a file, a trial's folder, or a session's folder with a trial; raises RigError.

    `rail` None is the first one.
    """
    if (path / EVENTS).exists():
        session = open_session(path)
        folder = SessionFolder(path)
        trials = tuple(folder.trials())
        rails = session.rails
        if not trials:
            raise DataError(
                f"{path} has no trials",
                try_next="run it again, or resume it: rig resume",
            )
        number = trials[0] if trial is None else trial
        if not rails:
            raise DataError(
                f"{path} has no traces",
                evidence="its bench has no energy monitor",
                try_next="the trials screen has its latencies; a bench with a monitor has traces",
            )
        chosen = rails[0] if rail is None or rail not in rails else rail
        trace = session.trace(number, chosen, segment)
        count = len(segments(folder.recorded(number)))
        return _subject(path, trace, session, number, chosen, segment, trials, rails, count)
    trace = open_trace(path)
    place = trace.place
    if place is None:
        return _subject(path, trace, None, 0, "", 1, (), (), 1)
    trace.close()
    return open_subject(place.session, place.trial, place.rail, place.segment)


def overlaid(
    session: Session, trials: Sequence[int], step: int, rail: str, stopped: Stopped
) -> Overlay:
    """Lay trials over each other; those without windows, as one that was cut off, are left out."""
    kept = [trial for trial in trials if len(session.spans(trial, rail))]
    return overlay(session, kept, step, rail, stopped=stopped)


def _subject(
    path: Path,
    trace: SessionTrace,
    session: Session | None,
    trial: int,
    rail: str,
    segment: int,
    trials: tuple[int, ...],
    rails: tuple[str, ...],
    segment_count: int,
) -> Subject:
    if trace.duration_s * trace.sample_hz < _LEAST_SAMPLES:
        said = "; ".join(trace.notes)
        trace.close()
        raise DataError(
            f"{path} has no samples to show",
            evidence=said or "it was closed before its first samples were written",
            try_next="another copy; of a session that was cut off rig check says what is left",
        )
    spans = trace.spans
    annotations, notes = _annotations(trace)
    gaps = trace.gaps
    gaps_s = np.array([(gap.start, gap.stop) for gap in gaps], dtype=np.float64).reshape(-1, 2)
    reduced_s = np.array([(span.start, span.stop) for span in trace.reduced], dtype=np.float64)
    reduced_s = reduced_s.reshape(-1, 2) / trace.sample_hz
    if len(reduced_s):
        total_s = float(np.diff(reduced_s, axis=1).sum())
        many = "stretch" if len(reduced_s) == 1 else "stretches"
        share = f"{len(reduced_s)} {many} between windows, {quantity(total_s, 's')} in all"
        notes = (*notes, f"{share}: means in place of samples")
    labels, problems = _around(session, trial)
    if session is None and trace.simulated:
        labels = (SIMULATED,)
    bands, band_names = (BandSpans.none(), ()) if spans is None else _bands(spans)
    return Subject(
        path,
        trace,
        path.name if session is None else session.path.name,
        session,
        labels,
        trial,
        rail,
        segment,
        trials,
        rails,
        segment_count,
        () if spans is None else tuple(spans),
        bands,
        band_names,
        () if spans is None else spans.phases,
        problems,
        trace.has_sync,
        np.zeros(0) if spans is None else spans.borders_s,
        gaps_s / trace.sample_hz,
        tuple(gap.cause for gap in gaps),
        annotations,
        (*trace.notes, *notes),
        reduced_s,
    )


def _annotations(trace: SessionTrace) -> tuple[Annotations, tuple[str, ...]]:
    """Return the annotations of a trace; what cannot be read is a note, and no reason to show
    nothing.
    """
    try:
        return trace.annotations(), ()
    except (RigError, OSError) as error:
        return Annotations(), (f"annotations: {error}",)


def _around(
    session: Session | None, trial: int
) -> tuple[tuple[str, ...], tuple[SessionProblem, ...]]:
    """Return labels and problems of a session; one that is damaged has those that can be read."""
    if session is None:
        return (), ()
    try:
        labels = session.labels
    except (RigError, OSError, KeyError, TypeError, ValueError):
        labels = ()
    try:
        problems = tuple(problem for problem in session.problems if problem.trial == trial)
    except (RigError, OSError, KeyError, TypeError, ValueError):
        problems = ()
    return labels, problems


def _bands(spans: Spans) -> tuple[BandSpans, tuple[str, ...]]:
    """Return what is drawn of spans, and their names: crossings lie in their search, whose band is
    enough.
    """
    colour = spans.phase.copy()
    colour[spans.kind == WARM_UP] = WARM_UP_COLOUR
    colour[spans.kind == IDLE] = IDLE_COLOUR
    drawn = np.flatnonzero(spans.kind != CROSSING)
    bands = BandSpans.of(spans.start_s[drawn], spans.stop_s[drawn], colour[drawn])
    warm_up = spans.kind == WARM_UP
    # In the order of their starts, as they come.
    names = tuple(
        f"warm-up {spans.phases[phase]}" if warm else spans.phases[phase]
        for phase, warm in zip(spans.phase[drawn], warm_up[drawn], strict=True)
    )
    return bands, names
