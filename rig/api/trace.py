# SPDX-License-Identifier: Apache-2.0
"""A trace of the rig or of another program: samples, edges, quick pictures and exact statistics."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from rig import annotations as annotation_files
from rig.annotations import Annotations
from rig.api import columns as picture
from rig.api import distributions, envelope
from rig.api import export as exporting
from rig.api import statistics as exact
from rig.api.columns import Columns
from rig.api.distributions import Histogram, Spectrum
from rig.api.edges import Edge, EdgeTimes
from rig.api.export import Stretch
from rig.api.place import TracePlace
from rig.api.spans import Spans
from rig.api.statistics import Ends, Stopped, TraceStatistics
from rig.api.surroundings import Surroundings
from rig.api.trace_samples import TraceSamples
from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened, Options
from rig.trace import level_cache, levels
from rig.trace.levels import ENTRY, Levels, Progress
from rig.trace.trace import Gap, Trace
from rig.uncertainty.accuracy import Accuracy
from rig.units import quantity

if TYPE_CHECKING:
    import pandas

#: Columns of a summary that is as wide as a screen.
_COLUMNS = 1000


class Placed(Protocol):
    """A problem with a place, as a session states it."""

    @property
    def start_s(self) -> float | None:
        """Return where it begins."""

    @property
    def stop_s(self) -> float | None:
        """Return where it ends."""

    @property
    def edge(self) -> int | None:
        """Return the number of a falling edge."""


class SessionTrace(TraceSamples):
    """A trace of the rig, or of another program's file.

    Times are seconds from the first sample; `start` and `stop` left out mean the ends of the
    trace. Sample k is the mean over [k, k + 1) / `sample_hz`. Lost samples are NaN.

    It may be used from several threads. `place` says of which session, trial, rail and segment it
    is, `accuracy` what its monitor promises, `spans` which windows are in it; each is None where
    there is none.
    """

    def __init__(self, path: Path, opened: Opened) -> None:
        super().__init__(path, opened)
        self._around = Surroundings(path, opened.origin == "rig")
        self._marked = opened.marked
        self._levels: Levels | None = None
        self._lock = Lock()

    @property
    def place(self) -> TracePlace | None:
        """Return of which session, trial, rail and segment the trace is."""
        return self._around.place

    @property
    def accuracy(self) -> Accuracy | None:
        """Return the accuracy of the monitor that recorded the trace, as its session states it."""
        return self._around.accuracy

    @property
    def spans(self) -> Spans | None:
        """Return the measured windows and warm-up queries of its trial, in the trace's time."""
        return self._around.spans

    @property
    def recorded(self) -> Trace:
        """Return the trace as the engine reads it."""
        return self._trace

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return where samples are lost, or not to be trusted, and why; of a file that does not
        say so itself, once it is prepared.
        """
        if self._levels is None or not self._levels.unknown:
            return self._trace.gaps
        silent = [
            gap for gap in self._levels.unknown if not len(self._hidden.touch(gap.start, gap.stop))
        ]
        return (*self._trace.gaps, *silent)

    # Pictures.

    @property
    def prepared(self) -> bool:
        """Return whether pictures of any stretch are quick, and have power: `prepare` was done."""
        return self._levels is not None

    def prepare(self, progress: Progress | None = None, stopped: Stopped | None = None) -> bool:
        """Read the whole trace once, or what the user's cache has of it, so that `columns` are
        quick and have power at every zoom; return False where `stopped` said so first.

        `progress` is told the share that is done. Meant for a thread of its own.
        """
        with self._lock:
            if self._levels is None:
                found = level_cache.load(self._trace)
                if found is None:
                    found = levels.build(self._trace, progress, stopped)
                    if found is None:
                        return False
                    level_cache.save(self._trace, found)
                self._levels = found
        return True

    def columns(self, start: float = 0.0, stop: float = math.inf, count: int = _COLUMNS) -> Columns:
        """Return at most `count` columns of least, mean and most that cover [start, stop), as plain
        arrays for a picture, in a few milliseconds at every zoom.

        Columns are whole entries of levels or of the file's index, so that none misses an extreme,
        and reach a little over both ends. Until the trace is prepared, power is None over long
        stretches.
        """
        if count < 2:
            raise ValueError(f"{count} columns: 2 or more")
        first, last = self._places(start, stop, self.sample_hz)
        return picture.columns(
            self._trace, self._levels, self._hidden, first, last, count, self.has_current
        )

    def summary(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        columns: int = _COLUMNS,
        power: bool = False,
    ) -> pandas.DataFrame:
        """Return least, mean and most of current and voltage in at most `columns` stretches of time
        that cover [start, stop).

        Long stretches come from the file's index and are whole entries of it, so that they are
        exact, and reach a little over both ends. Lost samples do not count; a stretch that has
        no other is NaN. `power` has no index: where the trace is not prepared, every sample is
        read.
        """
        import pandas

        if columns < 1:
            raise ValueError(f"{columns} columns: 1 or more")
        first, last = self._places(start, stop, self.sample_hz)
        if self._levels is not None and last - first > ENTRY * columns > ENTRY:
            bounds, table = self._levels.columns(first, last, columns)
            return pandas.DataFrame(envelope.of_table(bounds / self.sample_hz, table, power))
        return pandas.DataFrame(envelope.summary(self._trace, first, last, columns, power))

    # Edges.

    @cached_property
    def _edge_times(self) -> EdgeTimes:
        accuracy = self.accuracy
        spans = self.spans
        return EdgeTimes(
            self._trace.falls_s if self.has_sync else np.zeros(0),
            self._trace.rises_s if self.has_sync else np.zeros(0),
            np.zeros(0) if spans is None else spans.borders_s,
            self._trace.edge_hz,
            0.0 if accuracy is None else accuracy.edge_s,
        )

    def edges(self) -> EdgeTimes:
        """Return all edges of SYNC in order; the first call reads them, block by block. Raises
        DataError where there is no SYNC.
        """
        self._require_sync()
        return self._edge_times

    def nearest_edge(self, at: float) -> Edge | None:
        """Return the edge that is nearest to a time; None where there is none."""
        return self._edge_times.nearest(at)

    def next_edge(self, at: float) -> Edge | None:
        """Return the first edge after a time; None where there is none."""
        return self._edge_times.next(at)

    def previous_edge(self, at: float) -> Edge | None:
        """Return the last edge before a time; None where there is none."""
        return self._edge_times.previous(at)

    def edge_uncertainty_s(self, at: float) -> float:
        """Return the standard uncertainty of a time at an edge: at the end of a window that of the
        mark by the time base, else that of the edge as it was seen; 0 at a time that is at none.
        """
        times = self._edge_times
        if times.is_border(at):
            mark_u_s = self._around.mark_u_s(at)
            if mark_u_s is not None:
                return mark_u_s
        edge = times.on_edge(at)
        return 0.0 if edge is None else edge.u_s

    # Numbers.

    def statistics(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        at_edges: bool | None = None,
        stopped: Stopped | None = None,
    ) -> TraceStatistics:
        """Return the statistics of a stretch, all of them from its samples: energy and charge as
        results.json has them for the same window.

        `at_edges`: the power steps at both ends, as it does at a mark; left out, where both times
        are at edges of SYNC or at ends of windows. Raises DataError where the stretch is not in the
        trace, Cancelled where `stopped` says so.
        """
        start, stop = max(start, 0.0), min(stop, self.duration_s)
        if at_edges is None:
            at_edges = self._is_edge(start) and self._is_edge(stop)
        ends = Ends(at_edges)
        if at_edges:
            base = self._around.timebase
            nominal = base is not None and base.nominal_rate
            u_s = self.edge_uncertainty_s(start), self.edge_uncertainty_s(stop)
            ends = Ends(True, u_s, nominal)
        return exact.statistics(
            self._trace, start, stop, self.accuracy, ends, self.has_current, stopped
        )

    def histogram(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        bins: int = 200,
        limits: tuple[float, float] | None = None,
        stopped: Stopped | None = None,
    ) -> Histogram:
        """Return the time that current, voltage or power spent in each of `bins` between `limits`;
        left out, between the least and the most. Raises DataError, Cancelled.
        """
        first, last = self._places(start, stop, self.sample_hz)
        self._require_signal(signal)
        return distributions.histogram(self._trace, first, last, signal, bins, limits, stopped)

    def spectrum(
        self,
        start: float = 0.0,
        stop: float = math.inf,
        signal: str = "current",
        segment: int | None = None,
        stopped: Stopped | None = None,
    ) -> Spectrum:
        """Return the power spectral density of current, voltage or power by Welch's method, over
        segments of `segment` samples in which none is lost. Raises DataError, Cancelled.
        """
        first, last = self._places(start, stop, self.sample_hz)
        self._require_signal(signal)
        return distributions.spectrum(self._trace, first, last, signal, segment, stopped)

    # Export.

    def export_bytes(self, start: float = 0.0, stop: float = math.inf, form: str = "jls") -> int:
        """Return about how large a file of an export will be, rather a little too much."""
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
        """Write the samples of a stretch at full rate into a file, whole or not at all: "jls",
        "csv" or "parquet"; left out, as the file's name ends.

        Raises DataError, StorageFull before anything is written, and Cancelled.
        """
        where = Path(path)
        self._refuse_session(where)
        form = form or where.suffix.removeprefix(".").lower()
        stretch = self._stretch(start, stop)
        exporting.export(where, stretch, form, progress, stopped, replace)
        return where

    def _stretch(self, start: float, stop: float) -> Stretch:
        first, last = self._places(start, stop, self.sample_hz)
        return Stretch(self._trace, first, last, self.has_current, self.has_sync)

    def _refuse_session(self, where: Path) -> None:
        if self.place is not None and self.place.session in where.resolve().parents:
            raise DataError(
                f"{where} is inside a session, whose files stay as they were recorded",
                try_next="another folder",
            )

    def locate(self, problem: Placed) -> tuple[float, float] | None:
        """Return from where to where a problem of this trial is; None where that is not known."""
        if problem.start_s is not None and problem.stop_s is not None:
            return problem.start_s, problem.stop_s
        if problem.edge is None or not 1 <= problem.edge <= len(self._trace.falls_s):
            return None
        at_s = float(self._trace.falls_s[problem.edge - 1])
        return at_s, at_s

    # Annotations.

    @property
    def annotation_path(self) -> Path:
        """Return the file that annotations are written to: beside the trace, where Joulescope UI
        looks for it; of a trace in a session beside the session, whose files stay as they are.
        """
        if self.place is None:
            return self.path.with_suffix(".anno.jls")
        parts = [f"trial-{self.place.trial}"]
        parts += [f"segment-{self.place.segment}"] if self.place.segment > 1 else []
        parts += [self.place.rail] if self.place.rail else []
        session = self.place.session
        return session.with_name(".".join([session.name, *parts, "anno", "jls"]))

    def annotations(self) -> Annotations:
        """Return all annotations: of the trace's own file and of annotation files beside it. Raises
        DataError.
        """
        found = Annotations()
        if self._marked is not None:
            found = annotation_files.own(self._trace, self._marked)
        stem = self.annotation_path.name.removesuffix(".anno.jls")
        for path in sorted(self.annotation_path.parent.iterdir()):
            if path.name.startswith(f"{stem}.anno") and path.suffix == ".jls":
                found += annotation_files.read(path, self._trace, self._marked)
        return found

    def annotate(
        self, content: Annotations, path: Path | str | None = None, replace: bool = False
    ) -> Path:
        """Write annotations, all of them, and return the file; `annotation_path` where none is
        named. Raises DataError, and where another program wrote that file, unless `replace`.
        """
        where = self.annotation_path if path is None else Path(path)
        self._refuse_session(where)
        annotation_files.write(where, content, self._trace, self._marked, replace)
        return where

    def _is_edge(self, at: float) -> bool:
        times = self._edge_times
        return times.is_border(at) or times.on_edge(at) is not None

    def close(self) -> None:
        """Remove what was converted of another program's file; closing twice is allowed."""
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        lost = f", {len(self.gaps)} gaps" if self.gaps else ""
        return (
            f"<Trace {self.path.name}: {quantity(self.duration_s, 's')} at "
            f"{quantity(self.sample_hz, 'Hz')}, SYNC {self._trace.sync or 'none'}{lost}>"
        )

    def _keep(self, scratch: Path) -> None:
        """Remove the folder of converted files when this trace is no longer used."""
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, True)


def open_trace(path: Path | str, **options: Any) -> SessionTrace:
    """Open a trace of the rig, or a file of another program: JLS 1 and 2, Power Profiler, tables.

    `options` say what a foreign file does not: `source`, `current`, `voltage`, `power`, `sync`,
    `time`, `supply_v`, `rate_hz`, as the options of `rig measure` do.
    """
    scratch = Path(tempfile.mkdtemp(prefix="rig-trace-"))
    try:
        opened = open_any(Path(path), scratch, Options(**options), lazily=True)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    trace = SessionTrace(Path(path), opened)
    trace._keep(scratch)
    return trace
