# SPDX-License-Identifier: Apache-2.0
"""A trace of the rig or of another program: samples, edges, quick pictures and exact
statistics."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rig import annotations as annotation_files
from rig.annotations import Annotations
from rig.api.traces import export as exporting
from rig.api.traces.export import Stretch, StretchOrigin
from rig.api.traces.numbers import TraceNumbers
from rig.api.traces.statistics import Stopped
from rig.errors import DataError
from rig.importers import digital_lines
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.importers.start_time import started_ns
from rig.model.picture import Picture
from rig.results.labels import beside
from rig.trace.edges import Edges
from rig.trace.levels import Progress
from rig.trace.trace import TRACE
from rig.units import quantity


class SessionTrace(TraceNumbers):
    """A trace of the rig, or of another program's file.

    Times are seconds from the first sample; `start` and `stop` left out mean the ends
    of the trace. Sample k is the mean over [k, k + 1) / `sample_hz`. Lost samples are
    NaN.

    It may be used from several threads. `place` says of which session, trial, rail and
    segment it is, `accuracy` what its monitor promises, `spans` which windows are in
    it; each is None where there is none.
    """

    def __init__(self, path: Path, opened: Opened, options: Options) -> None:
        super().__init__(path, opened)
        self._options = options
        self._marked = opened.marked
        self._about = opened.about

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
        """Return the names of the digital lines beside SYNC; none of a trace of the
        rig's own.
        """
        names = digital_lines.line_names(self.path, self._options)
        return tuple(name for name in names if name != self.sync_name)

    def line_edges(self, name: str) -> Edges:
        """Return the falling and rising edges of one of `lines`, in seconds of the
        trace. What was converted is read once more; raises RigError.
        """
        return digital_lines.line_edges(self.path, self._options, name)

    def picture(self, start: float = 0.0, stop: float = math.inf) -> Picture:
        """Draw [start, stop): current, voltage, power and SYNC with their units, phases
        and gaps, and above them session, trial and labels. `rig.save_picture` writes it
        as SVG, PDF or PNG. The trace is read whole once, for its power.
        """
        from rig.api.traces.trace_picture import drawn  # brings matplotlib

        self.prepare()
        return drawn(self, max(start, 0.0), min(stop, self.duration_s))

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
        origin = StretchOrigin(self.labels, self.place)
        return Stretch(
            self._trace,
            first,
            last,
            self.has_current,
            self.has_sync,
            origin,
            self.started_ns,
        )

    def _refuse_session(self, where: Path) -> None:
        if self.place is not None and self.place.session in where.resolve().parents:
            raise DataError(
                f"{where} is inside a session, whose files stay as they were recorded",
                try_next="another folder",
            )

    @property
    def annotation_path(self) -> Path:
        """Return the file that annotations are written to: beside the trace, where
        Joulescope UI looks for it; of a trace in a session beside the session, whose
        files stay as they are, and beside `joulescope_path`.
        """
        if self.place is None:
            return self.path.with_suffix(".anno.jls")
        parts = [f"trial-{self.place.trial}"]
        parts += [f"segment-{self.place.segment}"] if self.place.segment > 1 else []
        parts += [self.place.rail] if self.place.rail else []
        session = self.place.session
        return session.with_name(".".join([session.name, *parts, "anno", "jls"]))

    @property
    def joulescope_path(self) -> Path | None:
        """Return the file to open in Joulescope UI, which then finds the annotations:
        the trace, or the link to it that `annotate` makes beside a session. None where
        it cannot read the trace.
        """
        stem = self.annotation_path.name.removesuffix(".anno.jls")
        path = self.annotation_path.with_name(f"{stem}.jls")
        is_this = path.exists() and path.resolve() == self._trace.path.resolve()
        return path if is_this else None

    def annotations(self) -> Annotations:
        """Return all annotations: of the trace's own file and of annotation files
        beside it. Raises DataError.
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
        annotation_files.write(where, content, self._trace, self._marked, replace)
        if path is None and self.place is not None:
            self._link(where)
        return where

    def _link(self, annotations: Path) -> None:
        """Give a trace in a session a name beside its annotations; not one that was cut
        off, which another program would repair in its place.
        """
        trace = self._trace.path.resolve()
        stem = annotations.name.removesuffix(".anno.jls")
        if trace.name == TRACE and annotations.parent.resolve() in trace.parents:
            # There may be one already, or a system without links.
            with suppress(OSError):
                path = annotations.with_name(f"{stem}.jls")
                path.symlink_to(os.path.relpath(trace, annotations.parent.resolve()))

    def close(self) -> None:
        """Remove what was converted of another program's file; closing twice is
        allowed."""
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
            f"{quantity(self.sample_hz, 'Hz')}, SYNC {self._trace.sync or 'none'}"
            f"{lost}{beside(self.labels)}>"
        )

    def _keep(self, scratch: Path) -> None:
        """Remove the folder of converted files when this trace is no longer used."""
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, True)


def open_trace(path: Path | str, **options: Any) -> SessionTrace:
    """Open a trace of the rig, or a file of another program: JLS 1 and 2, Power
    Profiler, tables.

    `options` say what a foreign file does not: `source`, `current`, `voltage`, `power`,
    `sync`, `time`, `supply_v`, `rate_hz`, as the options of `rig measure` do.
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
