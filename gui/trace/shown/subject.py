# SPDX-License-Identifier: Apache-2.0
"""A trace with its session, opened for the trace screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gui.picture.band_layout import IDLE_COLOUR, WARM_UP_COLOUR, BandSpans
from rig.annotations import Annotations
from rig.api.sessions.session import Session, SessionProblem, open_session
from rig.api.traces.spans import CROSSING, IDLE, WARM_UP, Spans, TrialSpan
from rig.api.traces.trace import SessionTrace, open_trace
from rig.api.trials.overlay import Occasion, of_segments
from rig.errors import DAMAGE, ConfigError, DataError, RigError
from rig.importers.options import Options
from rig.report import palette
from rig.store import provenance_file
from rig.store.segments import segments
from rig.store.session_folder import EVENTS, SessionFolder
from rig.units import quantity

Array = NDArray[np.float64]
Content = TypeVar("Content")

#: A trace with fewer samples has no picture.
_LEAST_SAMPLES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceChoice:
    """A trace of a session, and the other trials, rails and segments of it."""

    session: Session | None = None
    trial: int = 0
    rail: str = ""
    segment: int = 1
    trials: tuple[int, ...] = ()
    rails: tuple[str, ...] = ()
    segment_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A trace as the screen shows it, with its session, trial and rail.

    `gaps_s` has a row (start, stop) for each gap and `causes` its reason, `reduced_s` a
    row for each stretch of means. `spans` and `bands` are the measured windows, as rows
    and as drawn; `phases` are the names of their colours, `borders_s` all ends of
    windows, `occasions` the samples in all segments of the trial. `lines` are the
    digital lines beside SYNC. `notes` state how the file was read.
    """

    path: Path
    trace: SessionTrace
    title: str
    choice: TraceChoice
    labels: tuple[str, ...]
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
    def session(self) -> Session | None:
        """The session of the trace; None of a single file."""
        return self.choice.session

    @property
    def trial(self) -> int:
        """The number of the trial, 0 of a single file."""
        return self.choice.trial

    @property
    def rail(self) -> str:
        """The name of the rail, empty where there is one."""
        return self.choice.rail

    @property
    def resolution_s(self) -> float:
        """The resolution of times in the trace: a part of a sample."""
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
        places = spans.within(at_s, at_s + self.resolution_s)
        return [self.spans[place] for place in places]


def open_subject(
    path: Path,
    trial: int | None = None,
    rail: str | None = None,
    segment: int = 1,
    options: Options | None = None,
) -> Subject:
    """Open a trace: a file, a trial's folder, or a session's folder with a trial;
    raises RigError. Slow: called in a background thread.

    `rail` None is the first one; `options` are for a file of another program.
    """
    options = options or Options()
    if (path / EVENTS).exists():
        if options != Options():
            raise ConfigError(
                f"{path} is a session of the rig's own",
                try_next=(
                    "its traces have one signal of each kind: leave out what names them"
                ),
            )
        choice = _chosen(path, trial, rail, segment)
        assert choice.session is not None
        trace = choice.session.trace(choice.trial, choice.rail, choice.segment)
        return _subject(path, trace, choice)
    trace = open_trace(path, **asdict(options))
    place = trace.place
    if place is None:
        return _subject(path, trace, TraceChoice())
    trace.close()
    return open_subject(place.session, place.trial, place.rail, place.segment)


def _chosen(
    path: Path, trial: int | None, rail: str | None, segment: int
) -> TraceChoice:
    """Return a trace of a session; raises DataError where it has none."""
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
                "the trials screen has its latencies; a bench with a monitor has traces"
            ),
        )
    return TraceChoice(
        session=session,
        trial=number,
        rail=rails[0] if rail is None or rail not in rails else rail,
        segment=segment,
        trials=trials,
        rails=rails,
        segment_count=len(segments(folder.recorded(number))),
    )


def _subject(path: Path, trace: SessionTrace, choice: TraceChoice) -> Subject:
    if trace.duration_s * trace.sample_hz < _LEAST_SAMPLES:
        notes = "; ".join(trace.notes)
        trace.close()
        raise DataError(
            f"{path} has no samples to show",
            evidence=notes or "it was closed before its first samples were written",
            try_next=(
                "another copy; of a session that was cut off rig check says what is"
                " left"
            ),
        )
    session = choice.session
    spans = trace.spans
    annotations, annotation_notes = _or_note(
        "annotations", trace.annotations, Annotations()
    )
    none: tuple[str, ...] = ()
    lines, line_notes = _or_note("digital lines", lambda: trace.lines, none)
    reduced_s = _spans_s(trace.reduced, trace.sample_hz)
    bands, phases = _bands(spans, session)
    return Subject(
        path=path,
        trace=trace,
        title=path.name if session is None else session.path.name,
        choice=choice,
        labels=trace.labels,
        spans=() if spans is None else tuple(spans),
        bands=bands,
        phases=phases,
        problems=_problems(session, choice.trial),
        has_sync=trace.has_sync,
        borders_s=np.zeros(0) if spans is None else spans.borders_s,
        gaps_s=_spans_s(trace.gaps, trace.sample_hz),
        causes=tuple(gap.cause for gap in trace.gaps),
        annotations=annotations,
        notes=(
            *trace.notes,
            *annotation_notes,
            *_notes_of_means(reduced_s),
            *line_notes,
        ),
        reduced_s=reduced_s,
        occasions=_occasions(choice, spans),
        lines=lines,
    )


def _spans_s(spans: Any, sample_hz: float) -> Array:
    """Return spans of samples as rows (start, stop) in seconds."""
    rows = [(span.start, span.stop) for span in spans]
    return np.array(rows, dtype=np.float64).reshape(-1, 2) / sample_hz


def _notes_of_means(reduced_s: Array) -> tuple[str, ...]:
    if not len(reduced_s):
        return ()
    total_s = float(np.diff(reduced_s, axis=1).sum())
    many = "stretch" if len(reduced_s) == 1 else "stretches"
    share = f"{len(reduced_s)} {many} between windows, {quantity(total_s, 's')} in all"
    return (f"{share}: means in place of samples",)


def _occasions(choice: TraceChoice, spans: Spans | None) -> tuple[Occasion, ...]:
    """Return the samples of a trial of a session, of all its segments."""
    session = choice.session
    if session is None or spans is None:
        return ()
    return of_segments(
        spans
        if number == choice.segment
        else session.spans(choice.trial, choice.rail, number)
        for number in range(1, choice.segment_count + 1)
    )


def _or_note(
    what: str, read: Callable[[], Content], empty: Content
) -> tuple[Content, tuple[str, ...]]:
    """Read a part of a trace; one that cannot be read is empty, with a note."""
    try:
        return read(), ()
    except (RigError, OSError) as error:
        return empty, (f"{what}: {error}",)


def _problems(session: Session | None, trial: int) -> tuple[SessionProblem, ...]:
    """Return the problems of a trial; a session that is damaged has those that can be
    read."""
    if session is None:
        return ()
    try:
        return tuple(problem for problem in session.problems if problem.trial == trial)
    except (RigError, OSError, *DAMAGE):
        return ()


def _bands(
    spans: Spans | None, session: Session | None
) -> tuple[BandSpans, Mapping[int, str]]:
    """Return the bands of spans and the names of their colours. Crossings lie in their
    search, whose band is enough.
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
    names = []
    for phase, warm in zip(spans.phase[drawn], warm_up[drawn], strict=True):
        name = spans.phases[phase]
        names.append(f"warm-up {name}" if warm else name)
    bands = BandSpans.of(
        spans.start_s[drawn], spans.stop_s[drawn], colour[drawn], tuple(names)
    )
    of_colours = dict(zip(numbers, spans.phases, strict=True))
    of_colours |= {IDLE_COLOUR: "idle", WARM_UP_COLOUR: "warm-up"}
    shown = set(colour[drawn].tolist())
    return bands, {
        number: name for number, name in of_colours.items() if number in shown
    }
