# SPDX-License-Identifier: Apache-2.0
"""Requests of the trace screen to the engine: to open a trace with its session, and to
compute its columns and numbers in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gui.picture.band_layout import IDLE_COLOUR, WARM_UP_COLOUR, BandSpans
from gui.picture.viewport import Viewport
from rig.annotations import Annotations
from rig.api.sessions.session import Session, SessionProblem, open_session
from rig.api.traces.columns import Columns
from rig.api.traces.samples import Cancelled
from rig.api.traces.spans import CROSSING, IDLE, WARM_UP, Spans, TrialSpan
from rig.api.traces.statistics import TraceStatistics
from rig.api.traces.trace import SessionTrace, open_trace
from rig.api.trials.overlay import Occasion, of_segments
from rig.errors import DAMAGE, ConfigError, DataError, RigError
from rig.importers.options import Options
from rig.report import palette
from rig.store import provenance_file
from rig.store.segments import segments
from rig.store.session_folder import EVENTS, SessionFolder
from rig.trace.levels import Stopped
from rig.units import quantity

Array = NDArray[np.float64]
Result = TypeVar("Result")

#: A trace with fewer samples has no picture.
_LEAST_SAMPLES = 2
#: Share of the span that is computed on each side of a view: while the zoom changes,
#: and once it rests.
_NARROW = 0.05
_WIDE = 0.5
#: Columns that are finer or coarser than those of a view by this are not shown in it.
_SAME_ZOOM = 1.02


class Does(Protocol):
    """A worker that calls a function in the background, as gui.worker.Worker does."""

    def do(
        self,
        function: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_error: Callable[[BaseException], None] | None = None,
        key: str = "",
    ) -> None:
        """Call a function in the background, then hand on its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChoice:
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
    choice: ShownChoice
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
        return _subject(path, trace, ShownChoice())
    trace.close()
    return open_subject(place.session, place.trial, place.rail, place.segment)


def _chosen(
    path: Path, trial: int | None, rail: str | None, segment: int
) -> ShownChoice:
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
    return ShownChoice(
        session=session,
        trial=number,
        rail=rails[0] if rail is None or rail not in rails else rail,
        segment=segment,
        trials=trials,
        rails=rails,
        segment_count=len(segments(folder.recorded(number))),
    )


def _subject(path: Path, trace: SessionTrace, choice: ShownChoice) -> Subject:
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
    annotations, annotation_notes = _annotations(trace)
    lines, line_notes = _lines(trace)
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


def _occasions(choice: ShownChoice, spans: Spans | None) -> tuple[Occasion, ...]:
    """Return the samples of a trial of a session, of all its segments."""
    session = choice.session
    if session is None or spans is None:
        return ()
    of_all = []
    for number in range(1, choice.segment_count + 1):
        is_shown = number == choice.segment
        other = None if is_shown else session.spans(choice.trial, choice.rail, number)
        of_all.append(spans if other is None else other)
    return of_segments(of_all)


def _annotations(trace: SessionTrace) -> tuple[Annotations, tuple[str, ...]]:
    """Return the annotations of a trace; those that cannot be read become a note."""
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


class EngineTask(Generic[Result]):
    """A computation in the background; a newer one cancels the one before."""

    def __init__(self, worker: Does, key: str) -> None:
        self._worker = worker
        self._key = key
        self._stop = Event()
        self._number = 0
        self.pending = False

    def start(
        self,
        function: Callable[[Stopped], Result],
        on_done: Callable[[Result], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        """Compute a function, which can ask whether its result is still wanted."""
        self.cancel()
        stop = self._stop = Event()
        self._number += 1
        number = self._number
        self.pending = True

        def done(result: Result) -> None:
            if number == self._number:
                self.pending = False
                on_done(result)

        def failed(error: BaseException) -> None:
            if number == self._number:
                self.pending = False
                if not isinstance(error, Cancelled):
                    on_error(error)

        self._worker.do(lambda: function(stop.is_set), done, failed, key=self._key)

    def cancel(self) -> None:
        """Give up the computation."""
        self._stop.set()
        self._number += 1
        self.pending = False


class Numbers:
    """The exact statistics of one stretch at a time; `now` is None while they are
    computed.

    `on_change` is called when they are there, or fail: then `error` holds the reason.
    """

    def __init__(
        self, worker: Does, trace: SessionTrace, key: str, on_change: Callable[[], None]
    ) -> None:
        self.now: TraceStatistics | None = None
        self.error: BaseException | None = None
        self.stretch: tuple[float, float] | None = None
        self._task: EngineTask[TraceStatistics] = EngineTask(worker, key)
        self._trace = trace
        self._on_change = on_change

    @property
    def pending(self) -> bool:
        """Whether numbers are still being computed."""
        return self.stretch is not None and self.now is None and self.error is None

    def want(self, stretch: tuple[float, float] | None) -> None:
        """Ask for the numbers of a stretch, or of none."""
        if stretch == self.stretch and self.error is None:
            return
        self.cancel()
        self.stretch = stretch
        self.now = None
        self.error = None
        if stretch is not None:
            start_s, stop_s = stretch
            self._task.start(
                lambda stopped: self._trace.statistics(
                    start_s, stop_s, stopped=stopped
                ),
                self._take,
                self._failed,
            )
        self._on_change()

    def cancel(self) -> None:
        """Give up the computation."""
        self._task.cancel()

    def _take(self, numbers: TraceStatistics) -> None:
        self.now = numbers
        self._on_change()

    def _failed(self, error: BaseException) -> None:
        self.error = error
        self._on_change()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumns:
    """Columns of a stretch; `zoom_s` is the span of the view that they were made
    for."""

    columns: Columns
    start_s: float
    stop_s: float
    zoom_s: float
    pixels: int
    prepared: bool

    def has_zoom_of(self, view: Viewport) -> bool:
        """Whether the columns are as wide as those of a view."""
        return 1 / _SAME_ZOOM < self.zoom_s / view.span_s < _SAME_ZOOM

    def serves(self, view: Viewport, pixels: int) -> bool:
        """Whether they cover a view at its zoom."""
        covers = self.start_s <= view.start_s and self.stop_s >= view.stop_s
        return self.has_zoom_of(view) and covers and self.pixels == pixels


class Pictures:
    """The columns of one trace, computed in the background. The last ones stay until
    the next are there, and reach beyond the view, so that most steps of a pan need no
    others. `on_new` is called when there are others.
    """

    def __init__(
        self,
        worker: Does,
        trace: SessionTrace,
        on_new: Callable[[], None],
        on_error: Callable[[BaseException], None],
        key: str = "trace-picture",
    ) -> None:
        self.trace = trace
        self._key = key
        self.now: ViewColumns | None = None
        self._worker = worker
        self._on_new = on_new
        self._on_error = on_error
        self._asked: tuple[float, float, int, bool] | None = None

    @property
    def pending(self) -> bool:
        """Whether columns were asked for that are not there yet."""
        return self._asked is not None

    def want(self, view: Viewport, pixels: int) -> bool:
        """Ask for the columns of a view; return whether those at hand serve already."""
        now = self.now
        prepared = self.trace.prepared
        if now is not None and now.serves(view, pixels) and now.prepared == prepared:
            return True
        is_panned = now is not None and now.has_zoom_of(view)
        beside_s = (_WIDE if is_panned else _NARROW) * view.span_s
        start_s = max(view.start_s - beside_s, 0.0)
        stop_s = min(view.stop_s + beside_s, view.duration_s)
        asked = (start_s, stop_s, pixels, prepared)
        if asked == self._asked:
            return False
        self._asked = asked
        count = max(round(pixels * (stop_s - start_s) / view.span_s), 2)
        trace = self.trace

        def work() -> ViewColumns:
            prepared = trace.prepared
            return ViewColumns(
                columns=trace.columns(start_s, stop_s, count),
                start_s=start_s,
                stop_s=stop_s,
                zoom_s=view.span_s,
                pixels=pixels,
                prepared=prepared,
            )

        self._worker.do(work, self._take, self._failed, key=self._key)
        return False

    def _take(self, columns: ViewColumns) -> None:
        self._asked = None
        self.now = columns
        self._on_new()

    def _failed(self, error: BaseException) -> None:
        self._asked = None
        self._on_error(error)
