# SPDX-License-Identifier: Apache-2.0
"""Convert a JLS file that another program wrote into a trace of the rig's own: each signal at its
own rate and offset.

Sample k of a signal was taken at (sample_id_offset + k) / sample_rate: signals of one source share
that time. Samples that the writer lost read as NaN in a float signal, but as 0 in a digital one:
edges at such a place are none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers import given_rate
from rig.importers.markers import TIME64_S, Marked, markers_in, time_stamps, trace_beside
from rig.importers.numeral import CAUSE, without_no_readings
from rig.importers.opened import Opened, Options, require_rate, require_single
from rig.importers.power_beside import PowerBeside
from rig.trace import edges
from rig.trace.trace import TRACE, Trace, about_of, reading
from rig.trace.writer import TraceWriter

_BLOCK = 1 << 20
#: The names that programs give to signals without units of their own.
_UNITS = {"current": "A", "voltage": "V", "power": "W"}
_FLOATS = (pyjls.DataType.F32, pyjls.DataType.F64)
_DEFAULT_SYNC = "gpi[0]"
#: Rates are whole numbers in JLS; time stamps that disagree by more than crystals do are worth a
#: word.
_RATE_DOUBT = 200e-6


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The signals to measure; power stands in the place of current where it is all there is, else
    `beside` is a power as well.
    """

    current: Any
    voltage: Any | None
    sync: Any | None
    is_power: bool
    notes: list[str]
    beside: Any | None = None


def convert(path: Path, scratch: Path, options: Options, original: Path) -> Opened:
    """Convert block by block; raises DataError and ConfigError. `original` is the file of which
    `path` may be a recovered copy.
    """
    if options.time not in ("", "none"):
        raise ConfigError("a JLS file has no column of times", path="time")
    with reading(path) as reader:
        signals = _signals(reader)
        if not signals and path != original:
            evidence = "it was not closed properly, and no signal could be recovered"
            raise DataError(
                f"{original.name} is damaged",
                evidence=evidence,
                try_next="copy it again from where it was recorded",
            )
        if signals and not any(signal.length for signal in signals):
            raise _empty(path, original)
        source = _source(reader, options)
        chosen = _choose(reader, source, options)
        current = chosen.current
        rate_hz = options.rate_hz or float(chosen.current.sample_rate)
        doubts = _doubts(reader, current, original.name, options.rate_hz)
        # Where the file's rate is wrong, that of all its signals is, by the same factor: they share
        # one clock.
        stretch = rate_hz / current.sample_rate
        first, last = _overlap(chosen)
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


def _source(reader: Any, options: Options) -> Any:
    sources = {source.source_id: source for source in reader.sources.values()}
    if options.source:
        currents = [
            row
            for row in sources.values()
            if options.source in (row.name, row.serial_number, str(row.source_id))
        ]
        if len(currents) != 1:
            raise _unclear(
                reader,
                f"{len(currents)} sources are called {options.source}",
                "--source NAME, one of these",
            )
        return currents[0]
    names = {options.current, options.power} - {""}
    useful = {
        row.source_id
        for row in _signals(reader)
        if (row.name in names if names else _is(row, "A") or _is(row, "W"))
    }
    if not useful:
        raise _unclear(
            reader,
            "there is neither current nor power",
            "--current NAME or --power NAME, one of these",
        )
    if len(useful) > 1:
        raise _unclear(
            reader, f"{len(useful)} sources have current or power", "--source NAME, one of these"
        )
    return sources[useful.pop()]


def _choose(reader: Any, source: Any, options: Options) -> _Chosen:
    signals = [signal for signal in _signals(reader) if signal.source_id == source.source_id]
    notes = (
        [f"source {source.name}"]
        if len({signal.source_id for signal in _signals(reader)}) > 1
        else []
    )
    current = None if options.power else _one(reader, signals, "current", options.current)
    power = None if current is not None else _one(reader, signals, "power", options.power)
    sync = _sync(reader, signals, options.sync)
    notes.append(f"SYNC: {sync.name} at {sync.sample_rate} Hz" if sync is not None else "no SYNC")
    if power is not None:
        notes.append(f"{power.name} alone: there is no charge and no current")
        return _Chosen(power, None, sync, True, notes)
    if current is None:
        raise _unclear(
            reader,
            f"source {source.name} has neither current nor power",
            "--current NAME or --power NAME",
        )
    if options.supply_v:
        notes.append(f"voltage: {options.supply_v} V, as given")
        return _Chosen(current, None, sync, False, notes, _beside(signals, current))
    voltage = _one(reader, signals, "voltage", options.voltage)
    if voltage is None:
        raise _unclear(
            reader,
            "there is no voltage beside the current",
            "--supply-v VOLTS, what the supply was set to",
        )
    if current.sample_rate % voltage.sample_rate:
        raise _unclear(
            reader,
            "the voltage's rate does not divide the current's",
            "--power NAME, or --supply-v VOLTS",
        )
    return _Chosen(current, voltage, sync, False, notes, _beside(signals, current))


def _beside(signals: list[Any], current: Any) -> Any | None:
    """Return the signal of a power beside the current, at its rate; None where there is none, or
    more than one.
    """
    powers = [
        signal
        for signal in signals
        if _is(signal, "W") and signal.length and signal.sample_rate == current.sample_rate
    ]
    return powers[0] if len(powers) == 1 else None


def _one(reader: Any, signals: list[Any], kind: str, name: str) -> Any | None:
    found = [
        signal for signal in signals if (signal.name == name if name else _is(signal, _UNITS[kind]))
    ]
    by_name = [signal for signal in found if signal.name.lower() == kind]
    found = by_name if len(by_name) == 1 else found
    if name and not found:
        raise _unclear(reader, f"no signal is called {name}", f"--{kind} NAME, one of these")
    if len(found) > 1:
        raise _unclear(
            reader, f"{len(found)} signals could be the {kind}", f"--{kind} NAME, one of these"
        )
    if found and found[0].data_type not in _FLOATS:
        raise _unclear(
            reader,
            f"{found[0].name} does not hold floating point numbers",
            f"--{kind} NAME, another one",
        )
    if found and not found[0].length:
        raise DataError(f"{found[0].name} has no samples")
    return found[0] if found else None


def _sync(reader: Any, signals: list[Any], name: str) -> Any | None:
    digital = [
        signal for signal in signals if signal.data_type == pyjls.DataType.U1 and signal.length
    ]
    if name == "none" or (not name and not digital):
        return None
    lines = [signal for signal in digital if signal.name == (name or _DEFAULT_SYNC)]
    if not name and len(digital) == 1:
        lines = digital
    if len(lines) != 1:
        cause = (
            f"no digital signal is called {name}"
            if name
            else f"{len(digital)} digital signals, none called {_DEFAULT_SYNC}"
        )
        raise _unclear(reader, cause, "--sync NAME, one of these, or --sync none")
    return lines[0]


def _signals(reader: Any) -> list[Any]:
    return [
        signal
        for signal in reader.signals.values()
        if signal.signal_type == pyjls.SignalType.FSR and signal.signal_id
    ]


def _is(signal: Any, unit: str) -> bool:
    return signal.data_type in _FLOATS and (
        signal.units == unit or (not signal.units and _UNITS.get(signal.name.lower()) == unit)
    )


def _unclear(reader: Any, cause: str, try_next: str) -> DataError:
    sources = {source.source_id: source.name for source in reader.sources.values()}
    rows = [
        f"{sources.get(s.source_id, '?')}: {s.name} [{s.units or '-'}] {s.sample_rate} Hz"
        for s in _signals(reader)
    ]
    return DataError(
        cause, evidence="it has " + ("; ".join(rows) or "no sampled signals"), try_next=try_next
    )


def _empty(path: Path, original: Path) -> DataError:
    count = len(markers_in(path, own=True))
    beside = trace_beside(original)
    evidence = f"it holds {count} markers" if count else ""
    try_next = f"rig measure {beside} --markers, the trace that it belongs to" if beside else ""
    return DataError(f"{original.name} has no samples", evidence=evidence, try_next=try_next)


def _overlap(chosen: _Chosen) -> tuple[int, int]:
    """Return the first and the last + 1 of the current's sample ids for which there is voltage
    too.
    """
    current = chosen.current
    voltage = chosen.voltage
    first = int(current.sample_id_offset)
    last = int(current.sample_id_offset) + int(current.length)
    if voltage is not None:
        times = current.sample_rate // voltage.sample_rate
        first = max(first, int(voltage.sample_id_offset) * times)
        last = min(last, (int(voltage.sample_id_offset) + int(voltage.length)) * times)
        lost = int(current.length) - max(last - first, 0)
        if last > first and lost:
            chosen.notes.append(
                f"{lost} samples of current without voltage, at the ends, are left out"
            )
    if last <= first:
        spans = [
            (row.name, row.sample_id_offset / row.sample_rate, row.length / row.sample_rate)
            for row in (current, voltage)
            if row
        ]
        where = "; ".join(
            f"{name} from {start_s:.6f} s, {long_s:.6f} s long" for name, start_s, long_s in spans
        )
        raise DataError(
            "current and voltage were not recorded at the same time",
            evidence=where,
            try_next="--supply-v VOLTS",
        )
    return first, last


def _copy(
    reader: Any, chosen: _Chosen, supply_v: float, first: int, last: int, writer: TraceWriter
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
    """Return the edges within the analog samples, in seconds from their first by the file's
    rates.
    """
    # The library misreads a digital signal whose offset is no multiple of 8, unless each read
    # begins at one of its chunks.
    length = int(sync.length)
    chunk = int(sync.samples_per_data) * max(_BLOCK // int(sync.samples_per_data), 1)
    seen = edges.from_levels(_whole_bits(reader, sync.signal_id, length, chunk), 1.0)
    base = int(sync.sample_id_offset) * rate - first * sync.sample_rate
    # A loss of part of a byte leaves the last bits unwritten: they read as 0.
    known = length - length % 8 if length % 8 else length + 1
    end_s = (last - first) / rate
    period_s = max(1 / rate, 1 / sync.sample_rate)
    kept = []
    for at in (seen.falls_s, seen.rises_s):
        at_s = (base + at[at < known - 0.5] * rate) / (rate * sync.sample_rate)
        kept.append(at_s[(at_s >= 0) & (at_s <= end_s)])
    dark_s = [(start / rate - period_s, stop / rate + period_s) for start, stop in dark]
    lit = edges.outside(edges.Edges(kept[0], kept[1]), dark_s)
    dropped = sum(map(len, kept)) - len(lit.falls_s) - len(lit.rises_s)
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


def _whole_bits(reader: Any, signal: int, length: int, chunk: int) -> Iterator[NDArray[np.uint8]]:
    """Yield packed levels; bits beyond the last sample repeat its level."""
    for at in range(0, length, chunk):
        count = min(chunk, length - at)
        packed = reader.fsr(signal, at, count)
        if count % 8:
            bits = np.unpackbits(packed, bitorder="little")
            bits[count:] = bits[count - 1]
            packed = np.packbits(bits, bitorder="little")
        yield packed


def _doubts(reader: Any, current: Any, name: str, given_hz: float) -> list[str]:
    """Return where the file's sampling rate, a whole number in JLS, its time stamps and a rate that
    was given contradict each other.

    Raises DataError where the given one contradicts all by more than 1 %.
    """
    rate_hz = float(current.sample_rate)
    points = time_stamps(reader, current.signal_id)
    stamped_hz = 0.0
    if len(points) > 1 and points[-1, 1] != points[0, 1]:
        stamped_hz = float(points[-1, 0] - points[0, 0]) / (
            float(points[-1, 1] - points[0, 1]) / TIME64_S
        )
    if given_hz:
        whole = int(current.sample_rate) in (math.floor(given_hz), math.ceil(given_hz))
        rates_hz = {
            "the file's sampling rate": given_hz if whole else rate_hz,
            "its time stamps": stamped_hz,
        }
        return given_rate.compared(
            name, given_hz, {what: said_hz for what, said_hz in rates_hz.items() if said_hz}
        )
    if not stamped_hz or abs(stamped_hz / rate_hz - 1) < _RATE_DOUBT:
        return []
    return [
        f"the rate is {rate_hz:.10g} Hz, but the file's time stamps make it {stamped_hz:.10g} Hz: "
        "--rate HZ if they are right"
    ]
