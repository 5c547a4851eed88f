# SPDX-License-Identifier: Apache-2.0
"""A trace of the rig or of another program: samples, edges, quick pictures and exact
statistics."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from dataclasses import replace as replaced
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rig.annotations import Annotations, annotation_file
from rig.api.traces import annotation_links, distributions, samples
from rig.api.traces import columns as picture_columns
from rig.api.traces import export as exporting
from rig.api.traces import statistics as exact
from rig.api.traces.columns import Columns
from rig.api.traces.distributions import Histogram, SignalSamples, Spectrum
from rig.api.traces.edges import Edge, EdgeTimes
from rig.api.traces.export import ExportStretch, StretchOrigin
from rig.api.traces.place import TracePlace
from rig.api.traces.spans import Spans
from rig.api.traces.statistics import StatisticEnds, TraceStatistics
from rig.api.traces.surroundings import Surroundings
from rig.arrays import Uint8s
from rig.errors import DataError
from rig.importers import digital_lines
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.importers.start_time import started_ns
from rig.model.picture import Picture
from rig.problems import Problem
from rig.results.labels import beside
from rig.trace import level_cache, levels
from rig.trace.edges import Edges
from rig.trace.levels import Hidden, Levels, Progress, Stopped
from rig.trace.reduced import ReducedSpan
from rig.trace.trace import Gap, Trace
from rig.uncertainty.accuracy import Accuracy
from rig.units import quantity

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

#: Columns of a summary that is as wide as a screen.
_COLUMNS = 1000


class SessionTrace:
    """A trace of the rig, or of another program's file.

    Times are seconds from the first sample; `start` and `stop` left out mean the ends
    of the trace. Sample k is the mean over [k, k + 1) / `sample_hz`. Lost samples are
    NaN. Of a stretch that reaches beyond the trace, arrays, tables and pictures have
    the part inside, as slices have; energies, statistics and exports refuse it.

    It may be used from several threads. `place` is its session, trial, rail and
    segment, `accuracy` the limits of error of its monitor, `spans` its windows; each is
    None where there is none.
    """

    def __init__(self, path: Path, opened: Opened, options: Options) -> None:
        self.path = path
        self.origin = opened.origin
        self.notes = opened.notes
        self.has_current = opened.has_current
        self._options = options
        self._marked = opened.marked
        self._about = opened.about
        self._lines = opened.lines
        self._labels = opened.labels
        self._trace: Trace = opened.trace
        self._hidden = Hidden(opened.trace.gaps)
        self._levels: Levels | None = None
        self._lock = Lock()
        self._around = Surroundings(path, self._is_own)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that must stand beside its numbers (SIMULATED, ...): those of its
        session, or of its file where it has none.
        """
        return self._around.labels or self._labels

    @property
    def sample_hz(self) -> float:
        """Sampling rate of current, voltage and power."""
        return self._trace.sample_hz

    @property
    def has_sync(self) -> bool:
        """Whether there is a SYNC line, recorded as levels or as edges."""
        return self._trace.sync not in ("", "none", "clock")

    @property
    def sync_hz(self) -> float:
        """Sampling rate of `sync`."""
        return (
            self._trace.edge_hz
            if self._trace.sync == "digital"
            else self._trace.sample_hz
        )

    @property
    def duration_s(self) -> float:
        """Length of the trace."""
        return self._trace.duration_s

    @property
    def reduced(self) -> tuple[ReducedSpan, ...]:
        """Return where means of samples stand in their place: between windows of a
        session with `between_windows = "reduced"`.
        """
        return self._trace.reduced

    def times(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of the samples of `current`, `voltage` and `power`: of their
        middles."""
        first, last = self._places(start, stop)
        return (np.arange(first, last, dtype=np.float64) + 0.5) / self.sample_hz

    def current(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the current in amperes."""
        self._require_signal("current")
        return self._signals(start, stop)[0]

    def voltage(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the voltage in volts."""
        self._require_signal("voltage")
        return self._signals(start, stop)[1]

    def power(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the power in watts."""
        current, voltage = self._signals(start, stop)
        return current * voltage

    def sync(self, start: float = 0.0, stop: float = math.inf) -> Uint8s:
        """Return the level of SYNC, 0 or 1, at `sync_hz`; where it was not recorded as
        levels, it is made of the edges.
        """
        self._require_sync()
        first, last = self._places(start, stop, self.sync_hz)
        return samples.sync_levels(self._trace, first, last, self.sync_hz)

    def sync_times(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of the samples of `sync`."""
        first, last = self._places(start, stop, self.sync_hz)
        return np.arange(first, last, dtype=np.float64) / self.sync_hz

    def falls(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of SYNC's falling edges."""
        self._require_sync()
        return samples.between(self._trace.falls_s, start, stop)

    def rises(self, start: float = 0.0, stop: float = math.inf) -> Array:
        """Return the times of SYNC's rising edges."""
        self._require_sync()
        return samples.between(self._trace.rises_s, start, stop)

    def energy(self, start: float = 0.0, stop: float = math.inf) -> float:
        """Return the energy between two times, in joules, the end samples by their
        fraction; where spans are `reduced`, of means of current times means of voltage.
        Raises DataError where the stretch is not in the trace.
        """
        return self._trace.energy_j(*self._inside(start, stop))

    @property
    def recorded(self) -> Trace:
        """Trace as the engine reads it."""
        return self._trace

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return where samples are lost, or not to be trusted, and why; of a file that
        does not say so itself, once it is prepared.
        """
        if self._levels is None or not self._levels.unknown:
            return self._trace.gaps
        silent = []
        for gap in self._levels.unknown:
            if not len(self._hidden.touch(gap.start, gap.stop)):
                silent.append(gap)
        return (*self._trace.gaps, *silent)

    @property
    def prepared(self) -> bool:
        """Whether pictures of any stretch are quick, and have power: `prepare`
        was done."""
        return self._levels is not None

    def prepare(
        self, progress: Progress | None = None, stopped: Stopped | None = None
    ) -> bool:
        """Read the whole trace once, or its levels in the user's cache, so that
        `columns` are quick and have power at every zoom; return False where `stopped`
        ended it first.

        `progress` gets the share that is done. For a thread of its own.
        """
        with self._lock:
            if self._levels is None:
                kept_levels = level_cache.load(self._trace)
                if kept_levels is None:
                    kept_levels = levels.build(self._trace, progress, stopped)
                    if kept_levels is None:
                        return False
                    level_cache.save(self._trace, kept_levels)
                self._levels = kept_levels
        return True

    def columns(
        self, start: float = 0.0, stop: float = math.inf, count: int = _COLUMNS
    ) -> Columns:
        """Return at most `count` columns of least, mean and most that cover [start,
        stop), as plain arrays for a picture, in a few milliseconds at every zoom.

        Columns are whole entries of levels or of the file's index, so that none misses
        an extreme, and reach a little over both ends. Until the trace is prepared,
        power is None over long stretches.
        """
        if count < 2:
            raise ValueError(f"{count} columns: 2 or more")
        first, last = self._places(start, stop)
        found = picture_columns.columns(
            self._trace,
            self._levels,
            self._hidden,
            first,
            last,
            count=count,
            has_current=self.has_current,
        )
        return replaced(found, labels=self.labels)

    def summary(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        columns: int = _COLUMNS,
        power: bool = False,
    ) -> pandas.DataFrame:
        """Return least, mean and most of current and voltage in at most `columns`
        stretches of time that cover [start, stop).

        Long stretches come from the file's index and are whole entries of it, so that
        they are exact, and reach a little over both ends. Lost samples do not count; a
        stretch that has no other is NaN. `power` has no index: a long trace is prepared
        for it. `attrs["labels"]` are the trace's.
        """
        import pandas

        if columns < 1:
            raise ValueError(f"{columns} columns: 1 or more")
        first, last = self._places(start, stop)
        # The index of a file with reduced spans is not one of the recording.
        if last - first > picture_columns.READ and (power or self.reduced):
            self.prepare()
        content = picture_columns.summary(
            self._trace,
            self._levels,
            self._hidden,
            first,
            last,
            count=columns,
        )
        frame = pandas.DataFrame(content)
        if not power:
            frame = frame.drop(columns=frame.filter(like="power").columns)
        frame.attrs.update(labels=self.labels)
        return frame

    def show_trial(self, number: int) -> None:
        """Have the windows be those of one of the interleaved trials that the trace is
        of; to be called before anything else is asked for.
        """
        self._around = Surroundings(self.path, self._is_own, number)

    @property
    def place(self) -> TracePlace | None:
        """The session, trial, rail and segment of the trace."""
        return self._around.place

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy of the monitor that recorded the trace, as its session states it."""
        return self._around.accuracy

    @property
    def spans(self) -> Spans | None:
        """Measured windows and warm-up queries of its trial, in the trace's time."""
        return self._around.spans

    @cached_property
    def _edge_times(self) -> EdgeTimes:
        accuracy = self.accuracy
        spans = self.spans
        falls_s = self._trace.falls_s if self.has_sync else np.zeros(0)
        rises_s = self._trace.rises_s if self.has_sync else np.zeros(0)
        borders_s = np.zeros(0) if spans is None else spans.borders_s
        return EdgeTimes(
            falls_s,
            rises_s,
            borders_s,
            self._trace.edge_hz,
            0.0 if accuracy is None else accuracy.edge_s,
        )

    def edges(self) -> EdgeTimes:
        """Return all edges of SYNC in order; the first call reads them, block by block.
        Raises DataError where there is no SYNC.
        """
        self._require_sync()
        return self._edge_times

    def nearest_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the edge that is nearest to a time; None where there is none. `falls`
        asks for falling edges, at which the device's marks are, or for rising ones.
        """
        return self._edge_times.nearest(at, falls)

    def next_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the first edge after a time; None where there is none."""
        return self._edge_times.next(at, falls)

    def previous_edge(self, at: float, falls: bool | None = None) -> Edge | None:
        """Return the last edge before a time; None where there is none."""
        return self._edge_times.previous(at, falls)

    def edge_uncertainty_s(self, at: float) -> float:
        """Return the standard uncertainty of a time at an edge: at the end of a window
        that of the mark by the time base, else that of the edge as it was seen; 0 at a
        time that is at none.
        """
        times = self._edge_times
        if times.is_border(at):
            mark_u_s = self._around.mark_u_s(at)
            if mark_u_s is not None:
                return mark_u_s
        edge = times.on_edge(at)
        return 0.0 if edge is None else edge.u_s

    def statistics(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        at_edges: bool | None = None,
        stopped: Stopped | None = None,
    ) -> TraceStatistics:
        """Return the statistics of a stretch, all of them from its samples: energy and
        charge as results.json has them for the same window.

        `at_edges`: the power steps at both ends, as it does at a mark; left out, where
        both times are at edges of SYNC or at ends of windows. Raises DataError where
        the stretch is not in the trace, Cancelled where `stopped` says so.
        """
        start, stop = self._inside(start, stop)
        if at_edges is None:
            at_edges = self._is_edge(start) and self._is_edge(stop)
        ends = StatisticEnds(at_edges)
        if at_edges:
            base = self._around.timebase
            nominal = base is not None and base.nominal_rate
            u_s = self.edge_uncertainty_s(start), self.edge_uncertainty_s(stop)
            ends = StatisticEnds(True, u_s, nominal)
        found = exact.statistics(
            self._trace,
            start,
            stop,
            accuracy=self.accuracy,
            ends=ends,
            has_current=self.has_current,
            stopped=stopped,
        )
        return replaced(found, labels=self.labels)

    def histogram(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        bins: int = 200,
        limits: tuple[float, float] | None = None,
        stopped: Stopped | None = None,
    ) -> Histogram:
        """Return the time that current, voltage or power spent in each of `bins`
        between `limits`; left out, between the least and the most. Raises DataError
        where the stretch is not in the trace, and Cancelled.
        """
        samples = self._samples(start, stop, signal, stopped)
        found = distributions.histogram(samples, bins, limits)
        return replaced(found, labels=self.labels)

    def spectrum(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        segment: int | None = None,
        stopped: Stopped | None = None,
    ) -> Spectrum:
        """Return the power spectral density of current, voltage or power by Welch's
        method, over segments of `segment` samples without lost ones. Raises DataError
        where the stretch is not in the trace, and Cancelled.
        """
        samples = self._samples(start, stop, signal, stopped)
        found = distributions.spectrum(samples, segment)
        return replaced(found, labels=self.labels)

    def locate(self, problem: Problem) -> tuple[float, float] | None:
        """Return from where to where a problem of this trial is; None where that is not
        known."""
        if problem.start_s is not None and problem.stop_s is not None:
            return problem.start_s, problem.stop_s
        if problem.edge is None or not 1 <= problem.edge <= len(self._trace.falls_s):
            return None
        at_s = float(self._trace.falls_s[problem.edge - 1])
        return at_s, at_s

    @cached_property
    def started_ns(self) -> int | None:
        """Return when the first sample was taken, in nanoseconds since 1970 UTC by the
        clock of the host that recorded it; None where the file does not say so.
        """
        return started_ns(self._marked, self._about)

    @cached_property
    def sync_name(self) -> str:
        """Return which line of another program's file is SYNC; empty where none is."""
        return digital_lines.sync_name(self.path, self._options)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Names of the digital lines beside SYNC; none of a trace of the rig's own."""
        names = digital_lines.line_names(self.path, self._options)
        return tuple(name for name in names if name != self.sync_name)

    def line_edges(self, name: str) -> Edges:
        """Return the falling and rising edges of one of `lines`, in seconds of the
        trace. A table is converted once more; raises RigError.
        """
        known = self._lines.get(name)
        if isinstance(known, DataError):
            raise known
        return known or digital_lines.line_edges(self.path, self._options, name)

    def picture(self, start: float = 0.0, stop: float = math.inf) -> Picture:
        """Draw [start, stop): current, voltage, power and SYNC with their units, phases
        and gaps, and above them session, trial and labels. `rig.save_picture` writes it
        as SVG, PDF or PNG. The trace is read whole once, for its power.
        """
        from rig.api.traces import trace_picture  # brings matplotlib

        self.prepare()
        limits_s = max(start, 0.0), min(stop, self.duration_s)
        hz = self.sample_hz
        gaps_s = tuple((gap.start / hz, gap.stop / hz) for gap in self.gaps)
        columns = self.columns(*limits_s, trace_picture.COLUMNS)
        content = trace_picture.DrawnTrace(
            name=self.path.name,
            place=self.place,
            limits_s=limits_s,
            columns=columns,
            edges=self._edge_times if self.has_sync else None,
            gaps_s=gaps_s,
            spans=self.spans,
        )
        return trace_picture.drawn(content)

    def export_bytes(
        self, start: float = 0.0, stop: float = math.inf, form: str = "jls"
    ) -> int:
        """Return about how large a file of an export will be: right to 10 %."""
        return exporting.export_bytes(self._stretch(start, stop), form)

    def export(
        self,
        path: Path | str,
        start: float = 0.0,
        stop: float = math.inf,
        form: str = "",
        progress: Progress | None = None,
        stopped: Stopped | None = None,
        replace: bool = False,
    ) -> Path:
        """Write the samples of a stretch at full rate into a file, whole or not at all:
        "jls", "csv" or "parquet"; left out, as the file's name ends. The labels of the
        trace stand in it: in a CSV file in a first line that begins with "#".

        Raises DataError, also where the stretch is not in the trace, StorageFull before
        anything is written, and Cancelled.
        """
        where = Path(path)
        self._refuse_session(where)
        form = form or where.suffix.removeprefix(".").lower()
        stretch = self._stretch(start, stop)
        exporting.export(
            where, stretch, form, progress=progress, stopped=stopped, replace=replace
        )
        return where

    def _stretch(self, start: float, stop: float) -> ExportStretch:
        first, last = self._places(*self._inside(start, stop))
        origin = StretchOrigin(self.labels, self.place)
        return ExportStretch(
            trace=self._trace,
            first=first,
            last=last,
            has_current=self.has_current,
            has_sync=self.has_sync,
            origin=origin,
            started_ns=self.started_ns,
        )

    def _refuse_session(self, where: Path) -> None:
        if self.place is not None and self.place.session in where.resolve().parents:
            raise DataError(
                f"{where} is inside a session, whose files stay as they were recorded",
                try_next="another folder",
            )

    @property
    def annotation_path(self) -> Path:
        """File that annotations are written to: beside the trace, where Joulescope UI
        looks for it; of a trace in a session beside the session, whose files stay as
        they are, and beside `joulescope_path`.
        """
        return annotation_links.annotation_path(self.path, self.place)

    @property
    def joulescope_path(self) -> Path | None:
        """File to open in Joulescope UI, which then finds the annotations: the trace,
        or the link to it that `annotate` makes beside a session. None where it cannot
        read the trace.
        """
        return annotation_links.linked(self.annotation_path, self._trace.path)

    def annotations(self) -> Annotations:
        """Return all annotations: of the trace's own file and of annotation files
        beside it. Raises DataError.
        """
        content = Annotations()
        if self._marked is not None:
            content = annotation_file.read_own(self._trace, self._marked)
        for path in annotation_links.annotation_files(self.annotation_path):
            content += annotation_file.read(path, self._trace, self._marked)
        return content

    def annotate(
        self,
        content: Annotations,
        path: Path | str | None = None,
        replace: bool = False,
    ) -> Path:
        """Write annotations, all of them, and return the file; `annotation_path` where
        none is named. Raises DataError, and where another program wrote that file,
        unless `replace`.
        """
        where = self.annotation_path if path is None else Path(path)
        self._refuse_session(where)
        annotation_file.write(where, content, self._trace, self._marked, replace)
        if path is None and self.place is not None:
            annotation_links.link(where, self._trace.path)
        return where

    def close(self) -> None:
        """Remove the converted copy of another program's file; closing twice is
        allowed.
        """
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        lost = f", {len(self.gaps)} gaps" if self.gaps else ""
        return (
            f"<Trace {self.path.name}: {quantity(self.duration_s, 's')} at "
            f"{quantity(self.sample_hz, 'Hz')}, SYNC {self._trace.sync or 'none'}"
            f"{lost}{beside(self.labels)}>"
        )

    def _keep(self, scratch: Path) -> None:
        """Remove the folder of converted files when this trace is no longer used."""
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, True)

    @property
    def _is_own(self) -> bool:
        return self.origin == "rig"

    def _places(
        self, start: float, stop: float, rate_hz: float = 0.0
    ) -> tuple[int, int]:
        """Return the first sample that touches a window, and the first after it."""
        rate_hz = rate_hz or self.sample_hz
        return samples.places(start, stop, self.duration_s, rate_hz)

    def _signals(self, start: float, stop: float) -> tuple[Array, Array]:
        """Return current and voltage; samples that are lost are NaN."""
        first, last = self._places(start, stop)
        return samples.signals(self._trace, self._hidden, first, last)

    def _samples(
        self, start: float, stop: float, signal: str, stopped: Stopped | None
    ) -> SignalSamples:
        self._require_signal(signal)
        first, last = self._places(*self._inside(start, stop))
        return SignalSamples(self._trace, first, last, signal, stopped)

    def _inside(self, start: float, stop: float) -> tuple[float, float]:
        """Return the ends of a stretch; raise DataError where it is not inside."""
        return samples.stretch(start, stop, self.duration_s, self.sample_hz)

    def _is_edge(self, at: float) -> bool:
        times = self._edge_times
        return times.is_border(at) or times.on_edge(at) is not None

    def _require_signal(self, signal: str) -> None:
        if signal != "power" and not self.has_current:
            raise DataError(f"{self.path} has power alone, no {signal}")

    def _require_sync(self) -> None:
        if not self.has_sync:
            raise DataError(f"{self.path} has no SYNC")


def open_trace(path: Path | str, **options: Any) -> SessionTrace:
    """Open a trace of the rig, or a file of another program: JLS 1 and 2, Power
    Profiler, tables.

    `options` state facts that a foreign file lacks: `source`, `current`, `voltage`,
    `power`, `sync`, `time`, `supply_v`, `rate_hz`, as the options of `rig measure` do.
    """
    scratch = Path(tempfile.mkdtemp(prefix="rig-trace-"))
    try:
        asked = Options(**options)
        opened = open_any(Path(path), scratch, asked, lazily=True)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    trace = SessionTrace(Path(path), opened, asked)
    trace._keep(scratch)
    return trace
