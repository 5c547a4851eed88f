# SPDX-License-Identifier: Apache-2.0
"""A trace as pictures: columns of least, mean and most, quick at every zoom."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from rig.api.traces import columns as picture
from rig.api.traces import envelope
from rig.api.traces.columns import Columns
from rig.api.traces.samples import TraceSamples
from rig.api.traces.statistics import Stopped
from rig.importers.opened import Opened
from rig.trace import level_cache, levels
from rig.trace.levels import ENTRY, Levels, Progress
from rig.trace.trace import Gap, Trace

if TYPE_CHECKING:
    import pandas

#: Columns of a summary that is as wide as a screen.
_COLUMNS = 1000


class TraceView(TraceSamples):
    """A trace that is looked at; from several threads, where that is wanted."""

    def __init__(self, path: Path, opened: Opened) -> None:
        super().__init__(path, opened)
        self._levels: Levels | None = None
        self._lock = Lock()

    @property
    def recorded(self) -> Trace:
        """Return the trace as the engine reads it."""
        return self._trace

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return where samples are lost, or not to be trusted, and why; of a file that
        does not say so itself, once it is prepared.
        """
        if self._levels is None or not self._levels.unknown:
            return self._trace.gaps
        silent = [
            gap
            for gap in self._levels.unknown
            if not len(self._hidden.touch(gap.start, gap.stop))
        ]
        return (*self._trace.gaps, *silent)

    @property
    def prepared(self) -> bool:
        """Return whether pictures of any stretch are quick, and have power: `prepare`
        was done."""
        return self._levels is not None

    def prepare(
        self, progress: Progress | None = None, stopped: Stopped | None = None
    ) -> bool:
        """Read the whole trace once, or what the user's cache has of it, so that
        `columns` are quick and have power at every zoom; return False where `stopped`
        said so first.

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
        first, last = self._places(start, stop, self.sample_hz)
        found = picture.columns(
            self._trace,
            self._levels,
            self._hidden,
            first=first,
            last=last,
            count=count,
            has_current=self.has_current,
        )
        return replace(found, labels=self.labels)

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
        stretch that has no other is NaN. `power` has no index: where the trace is not
        prepared, every sample is read. `attrs["labels"]` are the trace's.
        """
        import pandas

        if columns < 1:
            raise ValueError(f"{columns} columns: 1 or more")
        first, last = self._places(start, stop, self.sample_hz)
        if self._levels is not None and last - first > ENTRY * columns > ENTRY:
            bounds, table = self._levels.columns(first, last, columns)
            content = envelope.of_table(bounds / self.sample_hz, table, power)
        else:
            content = envelope.summary(self._trace, first, last, columns, power)
        frame = pandas.DataFrame(content)
        frame.attrs.update(labels=self.labels)
        return frame
