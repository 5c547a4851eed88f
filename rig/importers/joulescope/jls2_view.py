# SPDX-License-Identifier: Apache-2.0
"""View a JLS file of another program where it is: it is not copied, and its samples are
read on demand.

`rig.importers.joulescope.jls2` converts files; this module only finds their signals,
rates and offsets. Edges at lost samples are left out as there; lost samples themselves
are known once all have been read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers.given_rate import RateComparison
from rig.importers.joulescope import jls2_edges
from rig.importers.joulescope.jls2_signals import (
    Chosen,
    choose,
    doubts_of,
    empty,
    overlap,
    signals_of,
    source_of,
)
from rig.importers.markers import Marked
from rig.importers.opened import Opened, require_rate
from rig.importers.options import Options
from rig.importers.tables.numeral import without_no_readings
from rig.trace.edges import Edges
from rig.trace.gaps import Gap
from rig.trace.samples import Layout
from rig.trace.sync_line import SyncLine
from rig.trace.trace import Trace, about_of, reading

F64 = pyjls.DataType.F64


@dataclass(frozen=True, slots=True)
class JlsContent:
    """Signals of a file that make a trace, the rate of the current, the samples that
    all of them have, and what is doubtful of the rate.
    """

    chosen: Chosen
    source: Any
    rate_hz: float
    first: int
    last: int
    simulated: bool
    doubts: RateComparison

    @property
    def stretch(self) -> float:
        """Ratio of the rate of all signals to the file's: they share one clock."""
        return self.rate_hz / float(self.chosen.current.sample_rate)

    @property
    def is_double(self) -> bool:
        """Whether samples are in double precision: the library has no statistics
        of their index.
        """
        signals = (self.chosen.current, self.chosen.voltage)
        return any(signal and signal.data_type == F64 for signal in signals)

    @property
    def edge_hz(self) -> float:
        """Rate of the line."""
        sync = self.chosen.sync
        return float(sync.sample_rate) * self.stretch if sync else self.rate_hz

    @property
    def kind(self) -> str:
        """Form of the edges."""
        return "none" if self.chosen.sync is None else "stamps"

    def in_place(
        self, path: Path, supply_v: float, line: SyncLine, gaps: tuple[Gap, ...] = ()
    ) -> Opened:
        """Return the trace of a file that is read where it is."""
        trace = Trace(
            path,
            self.rate_hz,
            edge_hz=self.edge_hz,
            length=self.last - self.first,
            line=line,
            gaps=gaps,
            sync=self.kind,
            layout=layout_of(self.chosen, self.first, supply_v),
        )
        return self.opened(path, path, trace)

    def opened(self, path: Path, original: Path, trace: Trace) -> Opened:
        """Return a trace of this content with its notes and markers."""
        current = self.chosen.current
        offset = self.first - int(current.sample_id_offset)
        about = {"converted_from": original.name, "simulated": self.simulated}
        return Opened(
            trace=trace,
            origin="jls",
            notes=(*self.chosen.notes, *self.doubts.notes),
            has_current=not self.chosen.is_power,
            marked=Marked(path, original, int(current.signal_id), offset),
            about=about | {"sync": self.kind},
            rate_ppm=self.doubts.off_ppm,
        )


def find(reader: Any, path: Path, original: Path, options: Options) -> JlsContent:
    """Find the signals of an open file; raises DataError and ConfigError. `original` is
    the file of which `path` may be a recovered copy.
    """
    if options.time not in ("", "none"):
        raise ConfigError("a JLS file has no column of times", path="time")
    signals = signals_of(reader)
    if not signals and path != original:
        evidence = "it was not closed properly, and no signal could be recovered"
        raise DataError(
            f"{original.name} is damaged",
            evidence=evidence,
            try_next="copy it again from where it was recorded",
        )
    if signals and not any(signal.length for signal in signals):
        raise empty(path, original)
    source = source_of(reader, options)
    chosen = choose(reader, source, options)
    rate_hz = options.rate_hz or float(chosen.current.sample_rate)
    doubts = doubts_of(reader, chosen.current, original.name, options.rate_hz)
    first, last = overlap(chosen)
    require_rate(original.name, rate_hz, last - first)
    return JlsContent(
        chosen=chosen,
        source=source,
        rate_hz=rate_hz,
        first=first,
        last=last,
        simulated=bool(about_of(reader).get("simulated", False)),
        doubts=doubts,
    )


def view(path: Path, options: Options) -> Opened | None:
    """Open a closed file in place; raises DataError and ConfigError, as a conversion
    would. None for a file of double precision.
    """
    with reading(path) as reader:
        content = find(reader, path, path, options)
    if content.is_double:
        return None
    layout = layout_of(content.chosen, content.first, options.supply_v)
    line = SyncLine(_Line(path, content, layout).edges)
    return content.in_place(path, options.supply_v, line)


def layout_of(chosen: Chosen, first: int, supply_v: float) -> Layout:
    """Return where the samples are that were chosen, from sample `first` of the current
    on."""
    current = chosen.current
    at = first - int(current.sample_id_offset)
    voltage = chosen.voltage
    if voltage is None:
        fixed_v = 1.0 if chosen.is_power else supply_v
        return Layout(
            current=int(current.signal_id),
            current_at=at,
            voltage=None,
            voltage_at=0,
            times=1,
            fixed_v=fixed_v,
            cleaned=without_no_readings,
        )
    times = int(current.sample_rate // voltage.sample_rate)
    voltage_at = first - int(voltage.sample_id_offset) * times
    return Layout(
        int(current.signal_id),
        at,
        int(voltage.signal_id),
        voltage_at,
        times,
        cleaned=without_no_readings,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The SYNC line in the file: what is needed to read its edges."""

    path: Path
    content: JlsContent
    layout: Layout

    def edges(self) -> Edges:
        """Return the edges that are not at lost samples, in seconds from the first
        sample."""
        content = self.content
        sync = content.chosen.sync
        if sync is None:
            return Edges(np.zeros(0), np.zeros(0))
        rate = int(content.chosen.current.sample_rate)
        period_s = max(1 / rate, 1 / sync.sample_rate)
        with reading(self.path) as reader:
            found = jls2_edges.seen(reader, sync, rate, content.first, content.last)
            kept = []
            for times_s in (found.falls_s, found.rises_s):
                lit = [
                    not self._is_dark(reader, at, rate, period_s)
                    for at in times_s.tolist()
                ]
                kept.append(times_s[np.array(lit, dtype=bool)] / content.stretch)
        return Edges(kept[0], kept[1])

    def _is_dark(self, reader: Any, at_s: float, rate: int, period_s: float) -> bool:
        """Check whether a sample within a period of an edge is lost."""
        first = max(math.floor((at_s - period_s) * rate) - 1, 0)
        length = self.content.last - self.content.first
        last = min(math.ceil((at_s + period_s) * rate) + 1, length)
        if last <= first:
            return False
        signals = self.layout.read(reader, first, last - first)
        known: NDArray[np.bool_] = np.isfinite(signals[0]) & np.isfinite(signals[1])
        lost = first + np.flatnonzero(~known)
        near = (lost / rate <= at_s + period_s) & ((lost + 1) / rate >= at_s - period_s)
        return bool(near.any())
