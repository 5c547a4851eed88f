# SPDX-License-Identifier: Apache-2.0
"""Choose current, voltage, power and SYNC among the signals of a foreign JLS file, and
note doubts about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyjls

from rig.errors import DataError
from rig.importers import given_rate
from rig.importers.advice import Advice, AdvisedNote, NoSync, give
from rig.importers.given_rate import RateComparison
from rig.importers.markers import TIME64_S, markers_in, time_stamps, trace_beside
from rig.importers.options import Options

#: The names that programs give to signals without units of their own.
_UNITS = {"current": "A", "voltage": "V", "power": "W"}
_FLOATS = (pyjls.DataType.F32, pyjls.DataType.F64)
_ONE = ", one of these"
_DEFAULT_SYNC = "gpi[0]"
#: Rates are whole numbers in JLS; time stamps that disagree by more than crystals do
#: are noted.
_RATE_DOUBT = 200e-6


@dataclass(frozen=True, slots=True)
class Chosen:
    """The signals to measure; power stands in the place of current where it is all
    there is, else `beside` is a power as well.
    """

    current: Any
    voltage: Any | None
    sync: Any | None
    is_power: bool
    notes: list[str]
    beside: Any | None = None


def source_of(reader: Any, options: Options) -> Any:
    sources = {source.source_id: source for source in reader.sources.values()}
    if options.source:
        currents = [row for row in sources.values() if options.source in _names_of(row)]
        if len(currents) != 1:
            raise _unclear(
                reader,
                f"{len(currents)} sources are called {options.source}",
                Advice(give(_ONE, source="NAME")),
            )
        return currents[0]
    names = {options.current, options.power} - {""}
    signals = signals_of(reader)
    if names:
        usable = [row for row in signals if row.name in names]
    else:
        usable = [row for row in signals if _is(row, "A") or _is(row, "W")]
    useful = {row.source_id for row in usable}
    if not useful:
        raise _unclear(
            reader,
            "there is neither current nor power",
            Advice(give(_ONE, current="NAME"), give(power="NAME")),
        )
    if len(useful) > 1:
        raise _unclear(
            reader,
            f"{len(useful)} sources have current or power",
            Advice(give(_ONE, source="NAME")),
        )
    return sources[useful.pop()]


def _names_of(source: Any) -> tuple[str, str, str]:
    return source.name, source.serial_number, str(source.source_id)


def choose(reader: Any, source: Any, options: Options) -> Chosen:
    signals = [
        signal for signal in signals_of(reader) if signal.source_id == source.source_id
    ]
    notes = (
        [f"source {source.name}"]
        if len({signal.source_id for signal in signals_of(reader)}) > 1
        else []
    )
    current = (
        None if options.power else _one(reader, signals, "current", options.current)
    )
    power = (
        None if current is not None else _one(reader, signals, "power", options.power)
    )
    sync = _sync(reader, signals, options.sync)
    notes.append(
        f"SYNC: {sync.name} at {sync.sample_rate} Hz"
        if sync is not None
        else NoSync("no SYNC")
    )
    if current is None and power is None:
        raise _unclear(
            reader,
            f"source {source.name} has neither current nor power",
            Advice(give(current="NAME"), give(power="NAME")),
        )
    voltage = beside = None
    if power is not None:
        notes.append(f"{power.name} alone: there is no charge and no current")
    else:
        beside = _beside(signals, current)
        if options.supply_v:
            notes.append(f"voltage: {options.supply_v} V, as given")
        else:
            voltage = _voltage(reader, signals, options.voltage, current)
    return Chosen(
        current=current if power is None else power,
        voltage=voltage,
        sync=sync,
        is_power=power is not None,
        notes=notes,
        beside=beside,
    )


def _voltage(reader: Any, signals: list[Any], name: str, current: Any) -> Any:
    voltage = _one(reader, signals, "voltage", name)
    if voltage is None:
        raise _unclear(
            reader,
            "there is no voltage beside the current",
            Advice(give(", what the supply was set to", supply_v="VOLTS")),
        )
    if current.sample_rate % voltage.sample_rate:
        raise _unclear(
            reader,
            "the voltage's rate does not divide the current's",
            Advice(give(power="NAME"), give(supply_v="VOLTS")),
        )
    return voltage


def _beside(signals: list[Any], current: Any) -> Any | None:
    """Return the signal of a power beside the current, at its rate; None where there is
    none, or more than one.
    """
    powers = [
        signal
        for signal in signals
        if _is(signal, "W")
        and signal.length
        and signal.sample_rate == current.sample_rate
    ]
    return powers[0] if len(powers) == 1 else None


def _one(reader: Any, signals: list[Any], kind: str, name: str) -> Any | None:
    found = [
        signal
        for signal in signals
        if (signal.name == name if name else _is(signal, _UNITS[kind]))
    ]
    by_name = [signal for signal in found if signal.name.lower() == kind]
    found = by_name if len(by_name) == 1 else found
    if name and not found:
        raise _unclear(
            reader,
            f"no signal is called {name}",
            Advice(give(_ONE, **{kind: "NAME"})),
        )
    if len(found) > 1:
        raise _unclear(
            reader,
            f"{len(found)} signals could be the {kind}",
            Advice(give(_ONE, **{kind: "NAME"})),
        )
    if found and found[0].data_type not in _FLOATS:
        raise _unclear(
            reader,
            f"{found[0].name} does not hold floating point numbers",
            Advice(give(", another one", **{kind: "NAME"})),
        )
    if found and not found[0].length:
        raise DataError(f"{found[0].name} has no samples")
    return found[0] if found else None


def _sync(reader: Any, signals: list[Any], name: str) -> Any | None:
    digital = [signal for signal in signals if is_digital(signal)]
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
        advice = Advice(give(_ONE, sync="NAME"), give(sync="none"))
        raise _unclear(reader, cause, advice)
    return lines[0]


def signals_of(reader: Any) -> list[Any]:
    return [
        signal
        for signal in reader.signals.values()
        if signal.signal_type == pyjls.SignalType.FSR and signal.signal_id
    ]


def is_digital(signal: Any) -> bool:
    """Check whether a signal is a line with samples."""
    return bool(signal.data_type == pyjls.DataType.U1 and signal.length)


def named_as(signals: list[Any], role: str) -> list[str]:
    """Return the names of the signals that can be current, voltage or power."""
    return list(
        dict.fromkeys(signal.name for signal in signals if _is(signal, _UNITS[role]))
    )


def _is(signal: Any, unit: str) -> bool:
    known = signal.units or _UNITS.get(signal.name.lower())
    return signal.data_type in _FLOATS and known == unit


def _unclear(reader: Any, cause: str, try_next: str) -> DataError:
    sources = {source.source_id: source.name for source in reader.sources.values()}
    rows = [
        f"{sources.get(s.source_id, '?')}: {s.name} [{s.units or '-'}]"
        f" {s.sample_rate} Hz"
        for s in signals_of(reader)
    ]
    return DataError(
        cause,
        evidence="it has " + ("; ".join(rows) or "no sampled signals"),
        try_next=try_next,
    )


def empty(path: Path, original: Path) -> DataError:
    count = len(markers_in(path, own=True))
    beside = trace_beside(original)
    evidence = f"it holds {count} markers" if count else ""
    try_next = (
        f"rig measure {beside} --markers, the trace that it belongs to"
        if beside
        else ""
    )
    return DataError(
        f"{original.name} has no samples", evidence=evidence, try_next=try_next
    )


def _span_text(signal: Any) -> str:
    start_s = signal.sample_id_offset / signal.sample_rate
    long_s = signal.length / signal.sample_rate
    return f"{signal.name} from {start_s:.6f} s, {long_s:.6f} s long"


def overlap(chosen: Chosen) -> tuple[int, int]:
    """Return the first and the last + 1 of the current's sample ids for which there is
    voltage too.
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
        where = "; ".join(_span_text(row) for row in (current, voltage) if row)
        raise DataError(
            "current and voltage were not recorded at the same time",
            evidence=where,
            try_next=Advice(give(supply_v="VOLTS")),
        )
    return first, last


def doubts_of(reader: Any, current: Any, name: str, given_hz: float) -> RateComparison:
    """Return where the file's sampling rate, a whole number in JLS, its time stamps and
    a rate that was given contradict each other, and what the given one leaves open.

    Raises DataError where the given one contradicts all by more than 1 %.
    """
    rate_hz = float(current.sample_rate)
    points = time_stamps(reader, current.signal_id)
    stamped_hz = 0.0
    if len(points) > 1 and points[-1, 1] != points[0, 1]:
        length_s = float(points[-1, 1] - points[0, 1]) / TIME64_S
        stamped_hz = float(points[-1, 0] - points[0, 0]) / length_s
    if given_hz:
        whole = int(current.sample_rate) in (math.floor(given_hz), math.ceil(given_hz))
        rates_hz = {
            "the file's sampling rate": given_hz if whole else rate_hz,
            "its time stamps": stamped_hz,
        }
        stated_hz = {what: said_hz for what, said_hz in rates_hz.items() if said_hz}
        return given_rate.compared(name, given_hz, stated_hz)
    if not stamped_hz or abs(stamped_hz / rate_hz - 1) < _RATE_DOUBT:
        return RateComparison()
    doubt = AdvisedNote(
        f"the rate is {rate_hz:.10g} Hz, but the file's time stamps make it"
        f" {stamped_hz:.10g} Hz",
        Advice(give(" if they are right", rate_hz="HZ")),
    )
    return RateComparison((doubt,))
