# SPDX-License-Identifier: Apache-2.0
"""What the trace screen asks of the engine: open a trace with what is around it. Slow:
called in a background thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gui.picture.band_layout import IDLE_COLOUR, WARM_UP_COLOUR, BandSpans
from rig.annotations import Annotations
from rig.api.sessions.session import Session, SessionProblem, open_session
from rig.api.traces.spans import CROSSING, IDLE, WARM_UP, Spans, TrialSpan
from rig.api.traces.trace import SessionTrace, open_trace
from rig.api.trials.overlay import Occasion, of_segments
from rig.errors import ConfigError, DataError, RigError
from rig.importers.options import Options
from rig.report import palette
from rig.store import provenance_file
from rig.store.segments import segments
from rig.store.session_folder import EVENTS, SessionFolder
from rig.units import quantity

Array = NDArray[np.float64]

#: Fewer are no picture.
_LEAST_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Subject:
    """What the screen shows: a trace, and of which session, trial and rail it is.

    `trials`, `rails` and `segments` are what can be chosen; `gaps_s` has a row (start,
    stop) for each gap, `causes` say why, `reduced_s` has one for each stretch of means.
    `spans` and `bands` are the measured windows, as rows and as drawn; `phases` are the
    names of their colours, `borders_s` all ends of windows, `occasions` the samples in
    all segments of the trial. `lines` are the digital lines beside SYNC. `notes` say
    how the file was read.
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
    phases: Mapping[int, str]
    problems: tuple[SessionProblem, ...]
    has_sync: bool
    borders_s: Array
    gaps_s: Array
    causes: tuple[str, ...]
    annotations: Annotations
    notes: tuple[str, ...]
    reduced_s: Array
    occasions: tuple[Occasion, ...]
    lines: tuple[str, ...]

    @property
    def resolution_s(self) -> float:
        """Return the time to which instants of the trace mean something: a part of a
        sample."""
        return 1e-3 / self.trace.sample_hz

    def border_near(self, at_s: float) -> float | None:
        """Return the end of a window that is nearest to an instant; None where there
        are none."""
        after = int(np.searchsorted(self.borders_s, at_s))
        near = self.borders_s[max(after - 1, 0) : after + 1]
        return float(near[np.argmin(np.abs(near - at_s))]) if len(near) else None

    def spans_at(self, at_s: float) -> list[TrialSpan]:
        """Return the windows that an instant lies in."""
        spans = self.trace.spans
        if spans is None:
            return []
        return [
            self.spans[place] for place in spans.within(at_s, at_s + self.resolution_s)
        ]


def open_subject(
    path: Path,
    trial: int | None = None,
    rail: str | None = None,
    segment: int = 1,
    said: Options | None = None,
) -> Subject:
    """Open a trace: a file, a trial's folder, or a session's folder with a trial;
    raises RigError.

    `rail` None is the first one; `said` is what a file of another program does not say
    itself.
    """
    said = said or Options()
    if (path / EVENTS).exists():
        if said != Options():
            raise ConfigError(
                f"{path} is a session of the rig's own",
                try_next=(
                    "its traces have one signal of each kind: leave out what names them"
                ),
            )
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
                try_next=(
                    "the trials screen has its latencies; a bench with a monitor has"
                    " traces"
                ),
            )
        chosen = rails[0] if rail is None or rail not in rails else rail
        trace = session.trace(number, chosen, segment)
        count = len(segments(folder.recorded(number)))
        return _subject(
            path, trace, session, number, chosen, segment, trials, rails, count
        )
    trace = open_trace(path, **asdict(said))
    place = trace.place
    if place is None:
        return _subject(path, trace, None, 0, "", 1, (), (), 1)
    trace.close()
    return open_subject(place.session, place.trial, place.rail, place.segment)


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
            try_next=(
                "another copy; of a session that was cut off rig check says what is"
                " left"
            ),
        )
    spans = trace.spans
    annotations, notes = _annotations(trace)
    gaps = trace.gaps
    gaps_s = np.array(
        [(gap.start, gap.stop) for gap in gaps], dtype=np.float64
    ).reshape(-1, 2)
    reduced_s = np.array(
        [(span.start, span.stop) for span in trace.reduced], dtype=np.float64
    )
    reduced_s = reduced_s.reshape(-1, 2) / trace.sample_hz
    if len(reduced_s):
        total_s = float(np.diff(reduced_s, axis=1).sum())
        many = "stretch" if len(reduced_s) == 1 else "stretches"
        share = (
            f"{len(reduced_s)} {many} between windows, {quantity(total_s, 's')} in all"
        )
        notes = (*notes, f"{share}: means in place of samples")
    problems = _problems(session, trial)
    bands, phases = _bands(spans, session)
    lines, line_notes = _lines(trace)
    return Subject(
        path,
        trace,
        path.name if session is None else session.path.name,
        session,
        trace.labels,
        trial,
        rail,
        segment,
        trials,
        rails,
        segment_count,
        () if spans is None else tuple(spans),
        bands,
        phases,
        problems,
        trace.has_sync,
        np.zeros(0) if spans is None else spans.borders_s,
        gaps_s / trace.sample_hz,
        tuple(gap.cause for gap in gaps),
        annotations,
        (*trace.notes, *notes, *line_notes),
        reduced_s,
        _occasions(session, spans, trial, rail, segment, segment_count),
        lines,
    )


def _occasions(
    session: Session | None,
    spans: Spans | None,
    trial: int,
    rail: str,
    segment: int,
    count: int,
) -> tuple[Occasion, ...]:
    """Return the samples of a trial of a session, of all its segments."""
    if session is None or spans is None:
        return ()
    numbers = range(1, count + 1)
    return of_segments(
        spans if number == segment else session.spans(trial, rail, number)
        for number in numbers
    )


def _annotations(trace: SessionTrace) -> tuple[Annotations, tuple[str, ...]]:
    """Return the annotations of a trace; what cannot be read is a note, and no reason
    to show nothing.
    """
    try:
        return trace.annotations(), ()
    except (RigError, OSError) as error:
        return Annotations(), (f"annotations: {error}",)


def _lines(trace: SessionTrace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the digital lines beside SYNC, and a note where they cannot be listed."""
    try:
        return trace.lines, ()
    except (RigError, OSError) as error:
        return (), (f"digital lines: {error}",)


def _problems(session: Session | None, trial: int) -> tuple[SessionProblem, ...]:
    """Return the problems of a trial; a session that is damaged has those that can be
    read."""
    if session is None:
        return ()
    try:
        return tuple(problem for problem in session.problems if problem.trial == trial)
    except (RigError, OSError, KeyError, TypeError, ValueError):
        return ()


def _bands(
    spans: Spans | None, session: Session | None
) -> tuple[BandSpans, Mapping[int, str]]:
    """Return what is drawn of spans, their names, and those of their colours: crossings
    lie in their search, whose band is enough.
    """
    if spans is None or session is None:
        return BandSpans.none(), {}
    of_task = provenance_file.read(SessionFolder(session.path)).task.phases
    numbers = [palette.place(phase, of_task) for phase in spans.phases]
    colour = np.array(numbers, dtype=np.int64)[spans.phase]
    colour[spans.kind == WARM_UP] = WARM_UP_COLOUR
    colour[spans.kind == IDLE] = IDLE_COLOUR
    drawn = np.flatnonzero(spans.kind != CROSSING)
    warm_up = spans.kind == WARM_UP
    names = tuple(
        f"warm-up {spans.phases[phase]}" if warm else spans.phases[phase]
        for phase, warm in zip(spans.phase[drawn], warm_up[drawn], strict=True)
    )
    bands = BandSpans.of(
        spans.start_s[drawn], spans.stop_s[drawn], colour[drawn], names
    )
    of_colours = dict(zip(numbers, spans.phases, strict=True))
    of_colours |= {IDLE_COLOUR: "idle", WARM_UP_COLOUR: "warm-up"}
    shown = set(colour[drawn].tolist())
    return bands, {
        number: name for number, name in of_colours.items() if number in shown
    }
