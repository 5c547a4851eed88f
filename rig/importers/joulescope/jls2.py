# SPDX-License-Identifier: Apache-2.0
"""Convert a JLS file that another program wrote into a trace of the rig's own: each
signal at its own rate and offset.

Sample k of a signal was taken at (sample_id_offset + k) / sample_rate: signals of one
source share that time. Samples that the writer lost read as NaN in a float signal, but
as 0 in a digital one: edges at such a place are none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.importers.joulescope import jls2_edges
from rig.importers.joulescope.jls2_view import JlsContent, find
from rig.importers.opened import Opened, require_single
from rig.importers.options import Options
from rig.importers.tables.numeral import CAUSE, without_no_readings
from rig.importers.tables.power_beside import PowerBeside
from rig.trace import edges
from rig.trace.gaps import Gap
from rig.trace.sync_line import SyncLine
from rig.trace.trace import TRACE, Trace, reading
from rig.trace.writer import TraceWriter

_BLOCK = 1 << 20


def convert(path: Path, scratch: Path, options: Options, original: Path) -> Opened:
    """Convert block by block; raises DataError and ConfigError. `original` is the file
    of which `path` may be a recovered copy.
    """
    with reading(path) as reader:
        found = find(reader, path, original, options)
        folder = scratch / "converted"
        folder.mkdir(parents=True, exist_ok=True)
        about = {"converted_from": original.name, "simulated": found.simulated}
        with TraceWriter(
            folder,
            sample_hz=found.rate_hz,
            edge_hz=found.edge_hz,
            source=found.source.name or "JLS",
            serial=found.source.serial_number or "",
            about=about,
            sync_kind=found.kind,
        ) as writer:
            dark = _scan(reader, found, options.supply_v, writer)
            seen = _edges(reader, found, dark)
            stamps = [(at, True) for at in seen.falls_s.tolist()]
            stamps += [(at, False) for at in seen.rises_s.tolist()]
            for at_s, fall in sorted(stamps):
                writer.stamp(at_s / found.stretch, fall)
    return found.opened(path, original, Trace.open(folder / TRACE))


def in_place(path: Path, options: Options) -> Opened | None:
    """Open a closed file where it is, after one pass for lost samples; raises as
    `convert`. None for a file of double precision, which is converted."""
    with reading(path) as reader:
        found = find(reader, path, path, options)
        if found.is_double:
            return None
        dark = _scan(reader, found, options.supply_v, None)
        seen = _edges(reader, found, dark)
    scaled = edges.Edges(seen.falls_s / found.stretch, seen.rises_s / found.stretch)
    gaps = tuple(Gap(start, stop, CAUSE) for start, stop in _joined(dark))
    return found.in_place(path, options.supply_v, SyncLine(lambda: scaled), gaps)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans with those as one that a border of blocks cut in two."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


def _scan(
    reader: Any, found: JlsContent, supply_v: float, writer: TraceWriter | None
) -> list[tuple[int, int]]:
    """Read current and voltage, and write them where there is a writer; return the
    spans without a number, in samples from the first.
    """
    chosen, first, last = found.chosen, found.first, found.last
    spans: list[tuple[int, int]] = []
    beside = PowerBeside(chosen.beside.name if chosen.beside else "")
    for at in range(first, last, _BLOCK):
        count = min(_BLOCK, last - at)
        current = reader.fsr(
            chosen.current.signal_id, at - int(chosen.current.sample_id_offset), count
        )
        if chosen.voltage is None:
            voltage = np.full(count, 1.0 if chosen.is_power else supply_v)
        else:
            times = chosen.current.sample_rate // chosen.voltage.sample_rate
            begin = at // times
            end = -(-(at + count) // times)
            held = reader.fsr(
                chosen.voltage.signal_id,
                begin - int(chosen.voltage.sample_id_offset),
                end - begin,
            )
            skipped = at - begin * times
            voltage = (
                np.repeat(held, times)[skipped : skipped + count] if times > 1 else held
            )
        current = without_no_readings(current)
        voltage = without_no_readings(voltage)
        for signal, values in ((chosen.current, current), (chosen.voltage, voltage)):
            if signal is not None and values.dtype != np.float32:
                require_single(values, signal.name)
        if writer is not None:
            writer.analog(current, voltage, unreadable=CAUSE)
        if chosen.beside is not None:
            offset = int(chosen.beside.sample_id_offset)
            begin = max(at, offset)
            end = min(at + count, offset + int(chosen.beside.length))
            if end > begin:
                power = without_no_readings(
                    reader.fsr(chosen.beside.signal_id, begin - offset, end - begin)
                )
                beside.add(
                    current[begin - at : end - at],
                    voltage[begin - at : end - at],
                    power,
                )
        # The sum of products is finite where all of them are, and quick.
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.einsum("i,i", current, voltage)
        if not np.isfinite(total):
            bad = ~(np.isfinite(current) & np.isfinite(voltage))
            bounds = np.flatnonzero(
                np.diff(np.concatenate([[False], bad, [False]]).view(np.int8))
            ) + (at - first)
            spans += [(int(start), int(stop)) for start, stop in bounds.reshape(-1, 2)]
    if chosen.beside is not None:
        chosen.notes.extend(beside.notes(supply_v))
    return spans


def _edges(reader: Any, found: JlsContent, dark: list[tuple[int, int]]) -> edges.Edges:
    """Return the edges within the analog samples that are at no lost one, in seconds
    from their first by the file's rates.
    """
    sync = found.chosen.sync
    if sync is None:
        return edges.Edges(np.zeros(0), np.zeros(0))
    rate = int(found.chosen.current.sample_rate)
    notes = found.chosen.notes
    seen = jls2_edges.seen(reader, sync, rate, found.first, found.last)
    period_s = max(1 / rate, 1 / sync.sample_rate)
    dark_s = [(start / rate - period_s, stop / rate + period_s) for start, stop in dark]
    lit = edges.outside(seen, dark_s)
    dropped = (
        len(seen.falls_s) + len(seen.rises_s) - len(lit.falls_s) - len(lit.rises_s)
    )
    if dropped:
        notes.append(
            f"{dropped} edges at the borders of lost samples are left out: a digital"
            " signal reads as 0 where it was lost"
        )
    if any((stop - start) * sync.sample_rate % (8 * rate) for start, stop in dark):
        notes.append(
            "samples were lost that fill no whole bytes of SYNC: pyjls 0.17 then stores"
            " false edges after them"
        )
    return lit
