# SPDX-License-Identifier: Apache-2.0
"""The heading of a text table: which column is time, current, voltage, power or SYNC,
and in what unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rig.errors import DataError, shortened
from rig.importers.advice import Advice, NoSync, Suggestion, give
from rig.importers.options import Options
from rig.importers.tables.column_units import UNITS, WRITTEN, Named, unit_as_written
from rig.importers.tables.dated import DateColumns
from rig.importers.tables.numeral import is_number

T = TypeVar("T")

#: A heading that is SYNC without an option.
SYNC_NAMES = ("sync", "gpi[0]", "gpi0")
_VOLTAGE = Advice(
    give(", what the supply was set to", supply_v="VOLTS"), give(voltage="COLUMN:UNIT")
)
_OTHER_SYNC = Advice(give(", another one", sync="COLUMN"), give(sync="none"))
#: How columns without a unit are called, for a hint.
_CALLED = {"time": r"^(t|time.*|timestamp.*)$", "current": r"^(i|curr\b.*|current.*)$"}
_AS = {"time": "as t:ms", "current": "as I:mA"}
#: Nordic's Power Profiler exports eight inputs as one text, D0 first, or as eight
#: columns.
_BITS = re.compile(r"D(\d)\s*-\s*D(\d)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, its place in the row, its unit, and the factor that makes SI of its
    numbers; `ohm` is the shunt across which it is a voltage, where it stands for a
    current.
    """

    name: str
    at: int
    unit: str = ""
    factor: float = 1.0
    ohm: float = 0.0


@dataclass(frozen=True, slots=True)
class SyncColumn:
    """The SYNC line: a column of levels, one character `bit` of a column of several, or
    a voltage.
    """

    column: Column
    bit: int | None = None
    is_voltage: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns that are read of each row; `current` holds power where there is no
    current, `beside` is a power beside current and voltage, `counter` the energy that
    an instrument counted itself.
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

    @property
    def sync_kind(self) -> str:
        """Return how edges come (rig/trace/writer.py)."""
        if self.sync is None:
            return "none"
        return "voltage" if self.sync.is_voltage else "stamps"


def choose(
    names: Sequence[str],
    options: Options,
    dates: DateColumns | None = None,
    cells: Sequence[str] = (),
) -> Heading:
    """Return which columns to read; raises DataError that names all that is missing or
    not clear. `dates` are taken for the time where no other column tells it; `cells`
    are those of the first row, which may carry units.
    """
    named = Named.of(names, cells)
    unclear = Unclear(named)
    time = unclear.unless(lambda: _time(named, options, dates))
    value = unclear.unless(lambda: _value(named, options))
    known = [column for column in (time, value and value[0]) if column is not None]
    line = unclear.unless(lambda: _line(named, options.sync, known))
    voltage = None
    if value is None:
        if options.voltage:
            unclear.unless(lambda: _named(named, "voltage", options.voltage))
        elif not (options.power or options.supply_v or named.of_role("voltage")):
            unclear.add("no voltage, which a current needs beside it", _VOLTAGE)
    elif value[1] == "current" and not options.supply_v:
        voltage = unclear.unless(lambda: _voltage(named, options, line, value[0]))
    for column in (*known, voltage):
        if column is not None and not (time is column and column.unit == "dates"):
            unclear.look_at(column)
    unclear.require_none()
    assert value is not None
    column, role = value
    is_power = role == "power"
    taken = [("time", time), (role, column), ("voltage", voltage)]
    columns = [
        f"{role}: {column.name} in {column.unit}"
        for role, column in taken
        if column is not None
    ]
    power = column if is_power else None
    notes = [*_notes(names, options, time, power, line), "; ".join(columns)]
    is_dated = time is not None and time.unit == "dates"
    return Heading(
        time=time,
        current=column,
        voltage=voltage,
        sync=line,
        is_power=is_power,
        notes=tuple(notes),
        beside=None if is_power else _only(named, "power", line),
        dates=dates if is_dated else None,
        counter=_only(named, "energy", line),
    )


def _time(named: Named, options: Options, dates: DateColumns | None) -> Column | None:
    """Return the column of times, None where a rate is given and there is none."""
    time = None
    if dates is not None and options.time == named.names[dates.at]:
        time = Column(dates.name, dates.at, "dates")
    elif options.time != "none":
        time = _one(named, "time", options.time)
    if time is None and dates is not None and options.time != "none":
        time = Column(dates.name, dates.at, "dates")
    if time is None and not options.rate_hz:
        columns = [] if options.time == "none" else [_unlabelled(named, "time")]
        advice = Advice(*columns, give(rate_hz="HZ"))
        raise _unclear(named, "no column of times", advice)
    return time


def _value(named: Named, options: Options) -> tuple[Column, str]:
    """Return the column of the current, or of the power where there is none, and which
    it is."""
    if options.shunt_ohm:
        return _across_shunt(named, options), "current"
    current = None if options.power else _one(named, "current", options.current)
    if current is not None:
        return current, "current"
    power = _one(named, "power", options.power)
    if power is not None:
        return power, "power"
    ways = [_unlabelled(named, "current"), give(power="COLUMN:UNIT")]
    if named.of_role("voltage"):
        across = " for the voltage across a shunt"
        ways.append(give(across, current="COLUMN", shunt_ohm="OHMS"))
    raise _unclear(named, "no column of current or power", Advice(*ways))


def _across_shunt(named: Named, options: Options) -> Column:
    """Return the column of the voltage across a shunt, which stands for the current."""
    column = _named(named, "voltage", options.current, option="current")
    return replace(column, ohm=options.shunt_ohm)


def _voltage(
    named: Named, options: Options, line: SyncColumn | None, current: Column
) -> Column:
    """Return the column of the voltage beside a current."""
    taken = [current.at]
    if line is not None and not options.voltage:
        taken.append(line.column.at)
    voltage = _one(named.without(taken), "voltage", options.voltage)
    if voltage is not None and line is not None and line.column.at == voltage.at:
        raise _unclear(
            named,
            f"{voltage.name} cannot be voltage and SYNC",
            _OTHER_SYNC,
        )
    if voltage is None:
        raise _unclear(named, "no voltage beside the current", _VOLTAGE)
    return voltage


def _notes(
    names: Sequence[str],
    options: Options,
    time: Column | None,
    power: Column | None,
    line: SyncColumn | None,
) -> Iterator[str]:
    """Yield remarks on the choice for the user."""
    if time is None and options.time == "none":
        yield "no column of times is looked at, as asked: each row is one sample"
    if power is None and options.supply_v:
        yield f"voltage: {options.supply_v} V, as given"
    if options.shunt_ohm:
        yield (
            f"current: the voltage across {options.shunt_ohm:g} ohm, as given; what the"
            " shunt errs by is in the ± as far as the calibration's gain of the"
            " current has it"
        )
    if power is not None:
        yield f"{power.name} alone: there is no charge and no current"
    if line is not None:
        which = "" if line.bit is None else f", character {line.bit + 1}"
        yield f"SYNC: {line.column.name}{which}"
        return
    digital = [name for name in names if re.fullmatch(r"D\d(\s*-\s*D\d)?", name)]
    among = (
        f" among the columns {', '.join(filter(None, names))}"
        if options.sync != "none"
        else ""
    )
    if not digital:
        yield NoSync(f"no SYNC{among}")
        return
    yield NoSync(
        f"no SYNC{among}; there are the lines {', '.join(digital)}",
        Advice(give(sync="D0")),
    )


def _one(named: Named, role: str, name: str) -> Column | None:
    if name:
        return _named(named, role, name)
    columns = named.of_role(role)
    if len(columns) > 1:
        which = ", ".join(named.names[at] for at in columns)
        ways = [give(**{role: "COLUMN"})]
        if role == "time":
            ways.append(give(time="none", rate_hz="HZ"))
        raise _unclear(
            named,
            f"{len(columns)} columns in a unit of {role}: {which}",
            Advice(*ways),
        )
    return _column(named, columns[0]) if columns else None


def _only(named: Named, role: str, line: SyncColumn | None) -> Column | None:
    """Return the column in a unit of `role` that is not asked for; None where there is
    none, or more than one.
    """
    columns = named.of_role(role)
    if len(columns) != 1 or (line is not None and line.column.at == columns[0]):
        return None
    return _column(named, columns[0])


def _named(named: Named, role: str, wanted: str, option: str = "") -> Column:
    """Return the column that is asked for, in a unit of `role`."""
    option = option or role
    name, unit = wanted, ""
    if wanted not in named.names and ":" in wanted:
        name, _, unit_text = wanted.rpartition(":")
        unit = unit_as_written(unit_text)
    count = named.names.count(name)
    if count != 1:
        raise _unclear(
            named,
            f"{count or 'no'} columns are called {name}",
            Advice(give(", one of these", **{option: "COLUMN:UNIT"})),
        )
    at = named.names.index(name)
    if name == wanted:
        unit = named.units[at]
    if unit not in UNITS or UNITS[unit][0] != role:
        units = ", ".join(WRITTEN[key] for key, (of, _) in UNITS.items() if of == role)
        suggestion = give(f" with one of {units}", **{option: f"{name}:UNIT"})
        raise _unclear(
            named, f"column {name} has no unit of {role}", Advice(suggestion)
        )
    return _column(named, at, unit)


def _unlabelled(named: Named, role: str) -> Suggestion:
    """Suggest the column of a role and its unit, with the column where one alone is
    called so.
    """
    pairs = zip(named.names, named.units, strict=True)
    unlabelled = [
        name
        for name, unit in pairs
        if not unit and re.search(_CALLED[role], name, re.IGNORECASE)
    ]
    example = f"as '{unlabelled[0]}:UNIT'" if len(unlabelled) == 1 else _AS[role]
    return give(f", {example}", **{role: "COLUMN:UNIT"})


def _column(named: Named, at: int, unit: str = "") -> Column:
    """Return the column at a place, in its own unit or in another one."""
    unit = unit or named.units[at]
    return Column(named.names[at], at, WRITTEN[unit], UNITS[unit][1])


def _line(named: Named, wanted: str, others: Sequence[Column]) -> SyncColumn | None:
    names = named.names
    if wanted == "none":
        return None
    if not wanted:
        numbered = enumerate(names)
        places = [
            at
            for at, name in numbered
            if re.sub(r"[\s_]*[(_/]m?v\)?$", "", name.lower()) in SYNC_NAMES
        ]
        if len(places) != 1:
            return None
        wanted = names[places[0]]
    if wanted in names:
        at = names.index(wanted)
        unit = named.units[at]
        role = UNITS[unit][0] if unit else ""
        is_taken = any(column.at == at for column in others)
        has_unit = wanted.rstrip().endswith((")", "]"))
        if is_taken or (has_unit and role not in ("", "voltage")):
            raise _unclear(
                named,
                f"{wanted} is a column of {role}, and no SYNC",
                _OTHER_SYNC,
            )
        if role == "voltage":
            return SyncColumn(_column(named, at), None, True)
        return SyncColumn(Column(wanted, at))
    for at, name in enumerate(names):
        inputs = inputs_of(name)
        if wanted in inputs:
            return SyncColumn(Column(name, at), inputs.index(wanted))
    raise _unclear(
        named,
        f"no column is called {wanted}",
        Advice(give(", one of these", sync="COLUMN"), give(sync="none")),
    )


def inputs_of(name: str) -> list[str]:
    """Return the digital inputs that a column has as one text; other columns none."""
    bits = _BITS.fullmatch(name)
    numbers = range(int(bits[1]), int(bits[2]) + 1) if bits else ()
    return [f"D{number}" for number in numbers]


class Unclear:
    """Gathers all that is not clear of a heading, so that one refusal names it."""

    def __init__(self, named: Named) -> None:
        self._named = named
        self._found: list[DataError] = []

    def unless(self, choose: Callable[[], T]) -> T | None:
        """Return the choice; None where it is not clear, which is kept."""
        try:
            return choose()
        except DataError as error:
            self._found.append(error)
            return None

    def add(self, cause: str, try_next: str) -> None:
        """Keep something else that is not clear."""
        self._found.append(_unclear(self._named, cause, try_next))

    def look_at(self, column: Column) -> None:
        """Keep what the first row has in a column and is not understood; an empty cell
        is a lost sample, and a number in itself is looked at when it is read.
        """
        cell = self._named.cells[column.at]
        if self._found and cell and not re.search(r"\d", cell) and not is_number(cell):
            self.add(
                f"{column.name} is not a number in the first row:"
                f" {shortened(repr(cell), 40)}",
                "a number, or an empty cell where there is none",
            )

    def require_none(self) -> None:
        """Raise DataError that names all of it, where there is any."""
        if len(self._found) < 2:
            for error in self._found:
                raise error
            return
        causes = "; ".join(error.cause for error in self._found)
        advice = Advice.joined(error.try_next for error in self._found)
        raise _unclear(self._named, causes, advice)


def _unclear(named: Named, cause: str, try_next: str) -> DataError:
    return DataError(
        cause, evidence=f"the columns are {named.listed}", try_next=try_next
    )
