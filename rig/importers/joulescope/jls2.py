# SPDX-License-Identifier: Apache-2.0
"""Traces of JLS files that other programs wrote: converted, or read where they lie.

Sample k of a signal was taken at (sample_id_offset + k) / sample_rate: signals of one
source share that time. Samples that the writer lost read as NaN in a float signal, but
as 0 in a digital one: edges at such a place are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyjls

from rig.arrays import Array
from rig.errors import ConfigError, DataError
from rig.importers.conversion import Conversion
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
from rig.importers.opened import Opened, require_rate, require_single
from rig.importers.options import Options
from rig.importers.tables.numeral import CAUSE, without_no_readings
from rig.importers.tables.power_beside import PowerBeside
from rig.trace import edges, gaps
from rig.trace.edges import Edges
from rig.trace.foreseen import Foreseen, KnownSums
from rig.trace.gaps import Gap
from rig.trace.samples import BLOCK, Layout, bounds
from rig.trace.sync_line import SyncLine
from rig.trace.trace import Trace, about_of, reading
from rig.trace.writer import TraceWriter

F64 = pyjls.DataType.F64
#: Samples that a conversion reads and writes at once: a gap ends with them.
_WRITTEN = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The trace that is found in a file: its signals, the rate of the current, and the
    samples `first` to `last` that all signals have.

    `original` is the file of which `path` may be a recovered copy.
    """

    path: Path
    original: Path
    chosen: Chosen
    source: Any
    supply_v: float
    rate_hz: float
    first: int
    last: int
    simulated: bool
    doubts: RateComparison

    @property
    def file_hz(self) -> int:
        """Rate of the current by the file."""
        return int(self.chosen.current.sample_rate)

    @property
    def stretch(self) -> float:
        """How much faster all signals are than the file says: they share one
        clock."""
        return self.rate_hz / float(self.file_hz)

    @property
    def length(self) -> int:
        """Number of samples."""
        return self.last - self.first

    @property
    def edge_hz(self) -> float:
        """Resolution of the edges."""
        sync = self.chosen.sync
        return self.rate_hz if sync is None else float(sync.sample_rate) * self.stretch

    @property
    def kind(self) -> str:
        """How edges are kept."""
        return "none" if self.chosen.sync is None else "stamps"

    @property
    def is_double(self) -> bool:
        """Whether a signal is in double precision."""
        signals = self.chosen.current, self.chosen.voltage
        return any(row is not None and row.data_type == F64 for row in signals)

    @property
    def layout(self) -> Layout:
        """Layout of the samples in the file."""
        current = self.chosen.current
        voltage = self.chosen.voltage
        rows = [row for row in (current, voltage) if row is not None]
        names = {int(row.signal_id): row.name for row in rows}
        cleaned = partial(_cleaned, names)
        at = self.first - int(current.sample_id_offset)
        if voltage is None:
            fixed_v = 1.0 if self.chosen.is_power else self.supply_v
            return Layout(
                int(current.signal_id), at, None, fixed_v=fixed_v, cleaned=cleaned
            )
        times = self.file_hz // int(voltage.sample_rate)
        return Layout(
            current=int(current.signal_id),
            current_at=at,
            voltage=int(voltage.signal_id),
            voltage_at=self.first - int(voltage.sample_id_offset) * times,
            times=times,
            cleaned=cleaned,
        )

    def scaled(self, times: Edges) -> Edges:
        """Return edges by the file's rate as they are by the true one."""
        return Edges(times.falls_s / self.stretch, times.rises_s / self.stretch)

    def known(self, foreseen: Foreseen) -> KnownSums:
        """Return sums of the blocks that are foreseen, to be filled."""
        windows_s = foreseen.windows(has_sync=self.chosen.sync is not None)
        return KnownSums(windows_s, foreseen.ranges_a, self.rate_hz)

    def in_place(
        self,
        line: SyncLine,
        lost: tuple[Gap, ...] = (),
        known: KnownSums | None = None,
    ) -> Opened:
        """Open the trace where it lies."""
        trace = Trace(
            self.path,
            self.rate_hz,
            edge_hz=self.edge_hz,
            length=self.length,
            line=line,
            gaps=lost,
            sync=self.kind,
            layout=self.layout,
            known=known,
        )
        about = {
            "converted_from": self.original.name,
            "simulated": self.simulated,
            "sync": self.kind,
        }
        return Opened(trace, "jls", self.notes, about=about, **self.facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the signals and their rate."""
        return (*self.chosen.notes, *self.doubts.notes)

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of Opened."""
        current = self.chosen.current
        at = self.first - int(current.sample_id_offset)
        marked = Marked(self.path, self.original, int(current.signal_id), at)
        return {
            "has_current": not self.chosen.is_power,
            "marked": marked,
            "rate_ppm": self.doubts.off_ppm,
        }


def convert(path: Path, scratch: Path, options: Options, original: Path) -> Opened:
    """Convert block by block; raises DataError and ConfigError. `original` is the file
    of which `path` may be a recovered copy.
    """
    with reading(path) as reader:
        found = _find(reader, path, original, options)
        conversion = Conversion(
            name=original.name,
            scratch=scratch,
            sample_hz=found.rate_hz,
            edge_hz=found.edge_hz,
            source=found.source.name or "JLS",
            serial=found.source.serial_number or "",
            sync=found.kind,
            simulated=found.simulated,
        )
        with conversion.writer() as writer:
            lost = _scan(reader, found, writer=writer)
            scaled = found.scaled(_edges(reader, found, lost))
            stamps = [(at_s, True) for at_s in scaled.falls_s.tolist()]
            stamps += [(at_s, False) for at_s in scaled.rises_s.tolist()]
            for at_s, fall in sorted(stamps):
                writer.stamp(at_s, fall)
    return conversion.opened("jls", found.notes, **found.facts)


def in_place(path: Path, options: Options, foreseen: Foreseen) -> Opened | None:
    """Open a closed file where it is, after one pass for lost samples and for the sums
    of foreseen windows; raises as `convert`. None for a file of double precision, which
    is converted.
    """
    with reading(path) as reader:
        found = _find(reader, path, path, options)
        if found.is_double:
            return None
        known = found.known(foreseen)
        lost = _scan(reader, found, known=known)
        scaled = found.scaled(_edges(reader, found, lost))
    return found.in_place(SyncLine(lambda: scaled), tuple(lost), known)


def view(path: Path, options: Options) -> Opened | None:
    """Open a closed file where it is, and read its samples on demand: lost ones are
    known once all have been read. Raises as `convert`. None for a file of double
    precision: the library has no statistics of its index.
    """
    with reading(path) as reader:
        found = _find(reader, path, path, options)
    if found.is_double:
        return None
    return found.in_place(SyncLine(partial(_edges_on_demand, found)))


def _cleaned(names: Mapping[int, str], signal: int, values: Array) -> Array:
    known = without_no_readings(values)
    if known.dtype != np.float32:
        require_single(known, names[signal])
    return known


def _find(reader: Any, path: Path, original: Path, options: Options) -> _Found:
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
    return _Found(
        path=path,
        original=original,
        chosen=chosen,
        source=source,
        supply_v=options.supply_v,
        rate_hz=rate_hz,
        first=first,
        last=last,
        simulated=bool(about_of(reader).get("simulated", False)),
        doubts=doubts,
    )


def _scan(
    reader: Any,
    found: _Found,
    writer: TraceWriter | None = None,
    known: KnownSums | None = None,
) -> list[Gap]:
    """Read current and voltage, write them where there is a writer, and sum foreseen
    blocks; return the spans without a number, in samples from the first.
    """
    chosen = found.chosen
    layout = found.layout
    lost: list[Gap] = []
    beside = PowerBeside(chosen.beside.name if chosen.beside else "")
    for at, stop in bounds(0, found.length, BLOCK if writer is None else _WRITTEN):
        current, voltage = layout.read(reader, at, stop - at)
        if writer is not None:
            writer.analog(current, voltage, unreadable=CAUSE)
        if chosen.beside is not None:
            offset = int(chosen.beside.sample_id_offset) - found.first
            begin = max(at, offset)
            end = min(stop, offset + int(chosen.beside.length))
            if end > begin:
                power = reader.fsr(chosen.beside.signal_id, begin - offset, end - begin)
                part = slice(begin - at, end - at)
                beside.add(current[part], voltage[part], without_no_readings(power))
        sums = known.add(at, current, voltage) if known is not None else None
        if sums is None or not sums.has_numbers_alone:
            for start, end in gaps.unreadable(current, voltage).tolist():
                lost.append(Gap(at + start, at + end, CAUSE))
    if chosen.beside is not None:
        chosen.notes.extend(beside.notes(found.supply_v))
    return gaps.joined(lost)


def _edges(reader: Any, found: _Found, lost: list[Gap]) -> Edges:
    """Return the edges within the analog samples that are at no lost one, in seconds
    from their first by the file's rates.
    """
    sync = found.chosen.sync
    if sync is None:
        return Edges(np.zeros(0), np.zeros(0))
    rate = found.file_hz
    notes = found.chosen.notes
    seen = jls2_edges.seen(reader, sync, rate, found.first, found.last)
    period_s = max(1 / rate, 1 / sync.sample_rate)
    dark_s = [(gap.start / rate - period_s, gap.stop / rate + period_s) for gap in lost]
    lit = edges.outside(seen, dark_s)
    kept = len(lit.falls_s) + len(lit.rises_s)
    dropped = len(seen.falls_s) + len(seen.rises_s) - kept
    if dropped:
        notes.append(
            f"{dropped} edges at the borders of lost samples are left out: a digital"
            " signal reads as 0 where it was lost"
        )
    if any((gap.stop - gap.start) * sync.sample_rate % (8 * rate) for gap in lost):
        notes.append(
            "samples were lost that fill no whole bytes of SYNC: pyjls 0.17 then stores"
            " false edges after them"
        )
    return lit


def _edges_on_demand(found: _Found) -> Edges:
    """Return the edges that are at no lost samples, of which those beside an edge are
    read; in seconds from the first sample.
    """
    sync = found.chosen.sync
    if sync is None:
        return Edges(np.zeros(0), np.zeros(0))
    rate = found.file_hz
    layout = found.layout
    period_s = max(1 / rate, 1 / sync.sample_rate)

    def is_lit(at_s: float) -> bool:
        """Return whether no sample within a period of an edge is lost."""
        first = max(math.floor((at_s - period_s) * rate) - 1, 0)
        last = min(math.ceil((at_s + period_s) * rate) + 1, found.length)
        if last <= first:
            return True
        lost = gaps.unreadable(*layout.read(reader, first, last - first)) + first
        begins_s, ends_s = lost[:, 0] / rate, lost[:, 1] / rate
        near = (begins_s <= at_s + period_s) & (ends_s >= at_s - period_s)
        return not near.any()

    with reading(found.path) as reader:
        seen = jls2_edges.seen(reader, sync, rate, found.first, found.last)
        falls_s = np.array(list(filter(is_lit, seen.falls_s.tolist())), np.float64)
        rises_s = np.array(list(filter(is_lit, seen.rises_s.tolist())), np.float64)
    return found.scaled(Edges(falls_s, rises_s))
