# SPDX-License-Identifier: Apache-2.0
"""The heading of a text table: which column is time, current, voltage, power or SYNC, and in what
unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rig.errors import DataError
from rig.importers.opened import Options
from rig.importers.tables.dated import DateColumns

_PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_ROLES = {"a": "current", "v": "voltage", "w": "power", "s": "time", "j": "energy"}
#: What a unit measures, and its factor to SI.
UNITS = {
    prefix + unit: (role, factor)
    for unit, role in _ROLES.items()
    for prefix, factor in _PREFIXES.items()
}
#: How a unit is written; M is mega, which is never milli.
_WRITTEN = {key: key[:-1] + (key[-1].upper() if key[-1] in "avwj" else key[-1]) for key in UNITS}
#: A heading that is SYNC without an option.
_SYNC_NAMES = ("sync", "gpi[0]", "gpi0")
#: Nordic's Power Profiler exports eight inputs as one text, D0 first, or as eight columns.
_BITS = re.compile(r"D(\d)\s*-\s*D(\d)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, its place in the row, its unit, and the factor that makes SI of its numbers."""

    name: str
    at: int
    unit: str = ""
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class SyncColumn:
    """The SYNC line: a column of levels, one character `bit` of a column of several, or a
    voltage.
    """

    column: Column
    bit: int | None = None
    is_voltage: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns that are read of each row; `current` holds power where there is no current,
    `beside` is a power beside current and voltage, `counter` the energy that an instrument counted
    itself.
    """

    time: Column | None
    current: Column
    voltage: Column | None
    sync: SyncColumn | None
    is_power: bool
    notes: tuple[str, ...]
    beside: Column | None = None
    dates: DateColumns | None = None
    counter: Column | None = None


def choose(names: Sequence[str], options: Options, dates: DateColumns | None = None) -> Heading:
    """Return which columns to read; raises DataError where that is not clear. `dates` are taken for
    the time where no other column tells it, and no rate is given.
    """
    time = _time(names, options, dates)
    current = None if options.power else _one(names, "current", options.current)
    power = None if current else _one(names, "power", options.power)
    value = current if current is not None else power
    if value is None:
        raise _unclear(
            names,
            "no column of current or power",
            "--current COLUMN:UNIT, as I:mA, or --power COLUMN:UNIT",
        )
    line = _line(names, options.sync, [value] if time is None else [time, value])
    voltage = None
    if current is not None and not options.supply_v:
        voltage = _voltage(names, options, line)
    taken = [("time", time), ("current", current), ("voltage", voltage), ("power", power)]
    notes = [
        *_notes(names, options, time, power, line),
        "; ".join(
            f"{role}: {column.name} in {column.unit}"
            for role, column in taken
            if column is not None
        ),
    ]
    is_dated = time is not None and time.unit == "dates"
    return Heading(
        time,
        value,
        voltage,
        line,
        power is not None,
        tuple(notes),
        _only(names, "power", line) if power is None else None,
        dates if is_dated else None,
        _only(names, "energy", line),
    )


def _time(names: Sequence[str], options: Options, dates: DateColumns | None) -> Column | None:
    """Return the column of times, None where a rate is given and there is none."""
    time = None
    if dates is not None and options.time == names[dates.at]:
        time = Column(dates.name, dates.at, "dates")
    elif options.time != "none":
        time = _one(names, "time", options.time)
    if time is None and dates is not None and not options.rate_hz and options.time != "none":
        time = Column(dates.name, dates.at, "dates")
    if time is None and not options.rate_hz:
        hint = "--rate HZ" if options.time == "none" else "--time COLUMN:UNIT, or --rate HZ"
        raise _unclear(names, "no column of times", hint)
    return time


def _voltage(names: Sequence[str], options: Options, line: SyncColumn | None) -> Column:
    """Return the column of the voltage beside a current."""
    others = [
        name if options.voltage or line is None or at != line.column.at else ""
        for at, name in enumerate(names)
    ]
    voltage = _one(others, "voltage", options.voltage)
    if voltage is not None and line is not None and line.column.at == voltage.at:
        raise _unclear(
            names,
            f"{voltage.name} cannot be voltage and SYNC",
            "--sync COLUMN, another one, or --sync none",
        )
    if voltage is None:
        hint = "--supply-v VOLTS, what the supply was set to, or --voltage COLUMN:UNIT"
        raise _unclear(names, "no voltage beside the current", hint)
    return voltage


def _notes(
    names: Sequence[str],
    options: Options,
    time: Column | None,
    power: Column | None,
    line: SyncColumn | None,
) -> Iterator[str]:
    """Yield what a person should know of the choice."""
    if time is None and options.time == "none":
        yield "no column of times is looked at, as asked: each row is one sample"
    if power is None and options.supply_v:
        yield f"voltage: {options.supply_v} V, as given"
    if power is not None:
        yield f"{power.name} alone: there is no charge and no current"
    if line is not None:
        which = "" if line.bit is None else f", character {line.bit + 1}"
        yield f"SYNC: {line.column.name}{which}"
        return
    digital = [name for name in names if re.fullmatch(r"D\d(\s*-\s*D\d)?", name)]
    among = f" among the columns {', '.join(filter(None, names))}" if options.sync != "none" else ""
    yield (
        f"no SYNC{among}"
        + (f"; there are the lines {', '.join(digital)}: --sync D0" if digital else "")
    )


def unit_of(name: str) -> str:
    """Return the unit in a heading, as a key of UNITS: "I (mA)", "Current[uA]", "current_a", "V";
    empty when there is none.
    """
    plain = name.strip().replace("µ", "u").replace("μ", "u").lower()
    for pattern in (r"[(\[]\s*(\w+)\s*[)\]]\s*$", r"[_/]\s*(\w+)$", r"^(\w+)$"):
        match = re.search(pattern, plain)
        if match and match[1] in UNITS:
            return match[1]
    return ""


def _one(names: Sequence[str], role: str, wanted: str) -> Column | None:
    if wanted:
        return _named(names, role, wanted)
    units = [unit_of(name) for name in names]
    found = [
        _column(names[at], at, unit)
        for at, unit in enumerate(units)
        if unit and UNITS[unit][0] == role
    ]
    if len(found) > 1:
        which = ", ".join(column.name for column in found)
        none = ", or --time none with --rate HZ" if role == "time" else ""
        raise _unclear(
            names, f"{len(found)} columns in a unit of {role}: {which}", f"--{role} COLUMN{none}"
        )
    return found[0] if found else None


def _only(names: Sequence[str], role: str, line: SyncColumn | None) -> Column | None:
    """Return the column in a unit of `role` that is not asked for; None where there is none, or
    more than one.
    """
    found = [
        (at, unit)
        for at, name in enumerate(names)
        if (unit := unit_of(name)) and UNITS[unit][0] == role
    ]
    if len(found) != 1 or (line is not None and line.column.at == found[0][0]):
        return None
    at, unit = found[0]
    return _column(names[at], at, unit)


def _named(names: Sequence[str], role: str, wanted: str) -> Column:
    name = wanted
    unit = unit_of(wanted)
    if wanted not in names and ":" in wanted:
        name, _, said = wanted.rpartition(":")
        plain = said.strip().replace("µ", "u").replace("μ", "u")
        unit = plain[:-1] + plain[-1:].lower()
    if list(names).count(name) != 1:
        raise _unclear(
            names,
            f"{list(names).count(name) or 'no'} columns are called {name}",
            f"--{role} COLUMN:UNIT, one of these",
        )
    if unit not in UNITS or UNITS[unit][0] != role:
        units = ", ".join(_WRITTEN[key] for key, (of, _) in UNITS.items() if of == role)
        raise _unclear(
            names,
            f"column {name} has no unit of {role}",
            f"--{role} '{name}:UNIT' with one of {units}",
        )
    return _column(name, list(names).index(name), unit)


def _column(name: str, at: int, unit: str) -> Column:
    return Column(name, at, _WRITTEN[unit], UNITS[unit][1])


def _line(names: Sequence[str], wanted: str, others: Sequence[Column]) -> SyncColumn | None:
    if wanted == "none":
        return None
    if not wanted:
        found = [
            at
            for at, name in enumerate(names)
            if re.sub(r"[\s_]*[(_/]m?v\)?$", "", name.lower()) in _SYNC_NAMES
        ]
        if len(found) != 1:
            return None
        wanted = names[found[0]]
    if wanted in names:
        unit = unit_of(wanted)
        role = UNITS[unit][0] if unit else ""
        at = list(names).index(wanted)
        if any(column.at == at for column in others) or (
            role not in ("", "voltage") and wanted.rstrip().endswith((")", "]"))
        ):
            raise _unclear(
                names,
                f"{wanted} is a column of {role}, and no SYNC",
                "--sync COLUMN, another one, or --sync none",
            )
        if role == "voltage":
            return SyncColumn(_column(wanted, at, unit), None, True)
        return SyncColumn(Column(wanted, at))
    for at, name in enumerate(names):
        bits = _BITS.fullmatch(name)
        asked = re.fullmatch(r"D(\d)", wanted)
        if bits and asked and int(bits[1]) <= int(asked[1]) <= int(bits[2]):
            return SyncColumn(Column(name, at), int(asked[1]) - int(bits[1]))
    raise _unclear(
        names, f"no column is called {wanted}", "--sync COLUMN, one of these, or --sync none"
    )


def _unclear(names: Sequence[str], cause: str, try_next: str) -> DataError:
    return DataError(
        cause,
        evidence=f"the columns are {', '.join(name or '(no name)' for name in names)}",
        try_next=try_next,
    )
