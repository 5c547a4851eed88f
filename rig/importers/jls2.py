# SPDX-License-Identifier: Apache-2.0
"""Convert a JLS file that another program wrote into a trace of the rig's own: each signal at its
own rate and offset.

Sample k of a signal was taken at (sample_id_offset + k) / sample_rate: signals of one source share
that time. Samples that the writer lost read as NaN in a float signal, but as 0 in a digital one:
edges at such a place are none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import ConfigError, DataError
from rig.importers import jls2_edges
from rig.importers.jls2_signals import (
    Chosen,
    choose,
    doubts_of,
    empty,
    overlap,
    signals_of,
    source_of,
)
from rig.importers.markers import Marked
from rig.importers.numeral import CAUSE, without_no_readings
from rig.importers.opened import Opened, Options, require_rate, require_single
from rig.importers.power_beside import PowerBeside
from rig.trace import edges
from rig.trace.trace import TRACE, Trace, about_of, reading
from rig.trace.writer import TraceWriter

_BLOCK = 1 << 20


def convert(path: Path, scratch: Path, options: Options, original: Path) -> Opened:
    """Convert block by block; raises DataError and ConfigError. `original` is the file of which
    `path` may be a recovered copy.
    """
    if options.time not in ("", "none"):
        raise ConfigError("a JLS file has no column of times", path="time")
    with reading(path) as reader:
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
        current = chosen.current
        rate_hz = options.rate_hz or float(chosen.current.sample_rate)
        doubts = doubts_of(reader, current, original.name, options.rate_hz)
        # Where the file's rate is wrong, that of all its signals is, by the same factor: they share
        # one clock.
        stretch = rate_hz / current.sample_rate
        first, last = overlap(chosen)
        require_rate(original.name, rate_hz, last - first)
        edge_hz = float(chosen.sync.sample_rate) * stretch if chosen.sync else rate_hz
        about = {
            "converted_from": original.name,
            "simulated": bool(about_of(reader).get("simulated", False)),
        }
        folder = scratch / "converted"
        folder.mkdir(parents=True, exist_ok=True)
        kind = "stamps" if chosen.sync else "none"
        name = source.name or "JLS"
        serial = source.serial_number or ""
        with TraceWriter(
            folder,
            sample_hz=rate_hz,
            edge_hz=edge_hz,
            source=name,
            serial=serial,
            about=about,
            sync_kind=kind,
        ) as writer:
            dark = _copy(reader, chosen, options.supply_v, first, last, writer)
            if chosen.sync:
                found = _edges(
                    reader, chosen.sync, current.sample_rate, first, last, dark, chosen.notes
                )
                stamps = [(at, True) for at in found.falls_s.tolist()] + [
                    (at, False) for at in found.rises_s.tolist()
                ]
                for at_s, fall in sorted(stamps):
                    writer.stamp(at_s / stretch, fall)
        chosen.notes.extend(doubts)
    trace = Trace.open(folder / TRACE)
    marked = Marked(path, original, int(current.signal_id), first - int(current.sample_id_offset))
    return Opened(
        trace, "jls", tuple(chosen.notes), not chosen.is_power, marked, about | {"sync": kind}
    )


def _copy(
    reader: Any, chosen: Chosen, supply_v: float, first: int, last: int, writer: TraceWriter
) -> list[tuple[int, int]]:
    """Write current and voltage; return the spans without a number, in samples from `first`."""
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
                chosen.voltage.signal_id, begin - int(chosen.voltage.sample_id_offset), end - begin
            )
            voltage = held[np.arange(at, at + count, dtype=np.int64) // times - begin]
        current = without_no_readings(current)
        voltage = without_no_readings(voltage)
        for signal, values in ((chosen.current, current), (chosen.voltage, voltage)):
            if signal is not None and values.dtype != np.float32:
                require_single(values, signal.name)
        writer.analog(current, voltage, unreadable=CAUSE)
        if chosen.beside is not None:
            offset = int(chosen.beside.sample_id_offset)
            begin = max(at, offset)
            end = min(at + count, offset + int(chosen.beside.length))
            if end > begin:
                power = without_no_readings(
                    reader.fsr(chosen.beside.signal_id, begin - offset, end - begin)
                )
                beside.add(current[begin - at : end - at], voltage[begin - at : end - at], power)
        bad = ~(np.isfinite(current) & np.isfinite(voltage))
        if bad.any():
            bounds = np.flatnonzero(
                np.diff(np.concatenate([[False], bad, [False]]).view(np.int8))
            ) + (at - first)
            spans += [(int(start), int(stop)) for start, stop in bounds.reshape(-1, 2)]
    if chosen.beside is not None:
        chosen.notes.extend(beside.notes(supply_v))
    return spans


def _edges(
    reader: Any,
    sync: Any,
    rate: int,
    first: int,
    last: int,
    dark: list[tuple[int, int]],
    notes: list[str],
) -> edges.Edges:
    """Return the edges within the analog samples that are at no lost one, in seconds from their
    first by the file's rates.
    """
    found = jls2_edges.seen(reader, sync, rate, first, last)
    period_s = max(1 / rate, 1 / sync.sample_rate)
    dark_s = [(start / rate - period_s, stop / rate + period_s) for start, stop in dark]
    lit = edges.outside(found, dark_s)
    dropped = len(found.falls_s) + len(found.rises_s) - len(lit.falls_s) - len(lit.rises_s)
    if dropped:
        notes.append(
            f"{dropped} edges at the borders of lost samples are left out: a digital signal reads "
            "as 0 where it was lost"
        )
    if any((stop - start) * sync.sample_rate % (8 * rate) for start, stop in dark):
        notes.append(
            "samples were lost that fill no whole bytes of SYNC: pyjls 0.17 then stores false "
            "edges after them"
        )
    return lit
