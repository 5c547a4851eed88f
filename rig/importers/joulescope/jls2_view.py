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

from rig.errors import ConfigError
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
from rig.trace.samples import Layout
from rig.trace.sync_line import SyncLine
from rig.trace.trace import Trace, about_of, reading


def view(path: Path, options: Options) -> Opened | None:
    """Open a closed file in place; raises DataError and ConfigError, as a conversion
    would. None for a file of double precision: the library has no statistics of its
    index.
    """
    if options.time not in ("", "none"):
        raise ConfigError("a JLS file has no column of times", path="time")
    with reading(path) as reader:
        signals = signals_of(reader)
        if signals and not any(signal.length for signal in signals):
            raise empty(path, path)
        source = source_of(reader, options)
        chosen = choose(reader, source, options)
        current = chosen.current
        if any(
            row.data_type == pyjls.DataType.F64
            for row in (current, chosen.voltage)
            if row
        ):
            return None
        rate_hz = options.rate_hz or float(current.sample_rate)
        doubts = doubts_of(reader, current, path.name, options.rate_hz)
        first, last = overlap(chosen)
        simulated = bool(about_of(reader).get("simulated", False))
    require_rate(path.name, rate_hz, last - first)
    stretch = rate_hz / current.sample_rate
    edge_hz = (
        float(chosen.sync.sample_rate) * stretch if chosen.sync is not None else rate_hz
    )
    layout = layout_of(chosen, first, options.supply_v)
    kind = "none" if chosen.sync is None else "stamps"
    line = SyncLine(
        _Line(
            path=path,
            chosen=chosen,
            layout=layout,
            first=first,
            last=last,
            stretch=stretch,
        ).edges
    )
    trace = Trace(
        path,
        rate_hz,
        edge_hz=edge_hz,
        length=last - first,
        line=line,
        gaps=(),
        sync=kind,
        layout=layout,
    )
    marked = Marked(
        path, path, int(current.signal_id), first - int(current.sample_id_offset)
    )
    about = {"converted_from": path.name, "simulated": simulated, "sync": kind}
    notes = (*chosen.notes, *doubts.notes)
    return Opened(
        trace=trace,
        origin="jls",
        notes=notes,
        has_current=not chosen.is_power,
        marked=marked,
        about=about,
        rate_ppm=doubts.off_ppm,
    )


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
    chosen: Chosen
    layout: Layout
    first: int
    last: int
    stretch: float

    def edges(self) -> Edges:
        """Return the edges that are not at lost samples, in seconds from the first
        sample."""
        sync = self.chosen.sync
        if sync is None:
            return Edges(np.zeros(0), np.zeros(0))
        rate = int(self.chosen.current.sample_rate)
        period_s = max(1 / rate, 1 / sync.sample_rate)
        with reading(self.path) as reader:
            found = jls2_edges.seen(reader, sync, rate, self.first, self.last)
            kept = []
            for times_s in (found.falls_s, found.rises_s):
                lit = [
                    not self._is_dark(reader, at, rate, period_s)
                    for at in times_s.tolist()
                ]
                kept.append(times_s[np.array(lit, dtype=bool)] / self.stretch)
        return Edges(kept[0], kept[1])

    def _is_dark(self, reader: Any, at_s: float, rate: int, period_s: float) -> bool:
        """Return whether a sample within a period of an edge is lost."""
        first = max(math.floor((at_s - period_s) * rate) - 1, 0)
        last = min(math.ceil((at_s + period_s) * rate) + 1, self.last - self.first)
        if last <= first:
            return False
        signals = self.layout.read(reader, first, last - first)
        known: NDArray[np.bool_] = np.isfinite(signals[0]) & np.isfinite(signals[1])
        lost = first + np.flatnonzero(~known)
        near = (lost / rate <= at_s + period_s) & ((lost + 1) / rate >= at_s - period_s)
        return bool(near.any())
