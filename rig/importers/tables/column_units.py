# SPDX-License-Identifier: Apache-2.0
"""Units of the columns of a text table: as headings name them, and as cells carry them
beside their numbers. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from rig.importers.tables.numeral import is_number

_PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_ROLES = {"a": "current", "v": "voltage", "w": "power", "s": "time", "j": "energy"}
#: Role of each unit's quantity, and the unit's factor to SI.
UNITS = {
    prefix + unit: (_ROLES[unit], _PREFIXES[prefix])
    for unit, prefix in product(_ROLES, _PREFIXES)
}
#: How a unit is written; M is mega, which is never milli.
WRITTEN = {
    key: key[:-1] + (key[-1].upper() if key[-1] in "avwj" else key[-1]) for key in UNITS
}
_WORDS = {
    "s": ("second", "seconds", "sec", "secs"),
    "a": ("ampere", "amperes", "amp", "amps"),
    "v": ("volt", "volts"),
    "w": ("watt", "watts"),
    "j": ("joule", "joules"),
}
_WORD_PREFIXES = {"": "", "milli": "m", "micro": "u", "nano": "n"}


def _written_units() -> dict[str, str]:
    """Return the units of words such as milliseconds and msec."""
    units = {
        "millis": "ms",
        "micros": "us",
        "nanos": "ns",
        "msec": "ms",
        "usec": "us",
        "nsec": "ns",
    }
    for unit, prefix in product(_WORDS, _WORD_PREFIXES):
        for word in _WORDS[unit]:
            units[prefix + word] = _WORD_PREFIXES[prefix] + unit
    return units


#: Units that are written out; programs on microcontrollers name columns after them.
_WRITTEN_OUT = _written_units()
_BESIDE = re.compile(r"(\S*[0-9.])\s*([a-zA-Zµμ]+)", re.ASCII)


def plain(unit: str) -> str:
    """Return a unit with a Latin letter for micro."""
    return unit.strip().replace("µ", "u").replace("μ", "u")


def unit_of(name: str) -> str:
    """Return the unit in a heading, as a key of UNITS: "I (mA)", "Current[uA]",
    "current_a", "V", "time (seconds)", "millis"; empty when there is none.
    """
    text = plain(name).lower()
    for pattern in (r"[(\[]\s*(\w+)\s*[)\]]\s*$", r"[_/]\s*(\w+)$", r"^(\w+)$"):
        match = re.search(pattern, text)
        unit = _WRITTEN_OUT.get(match[1], match[1]) if match else ""
        if unit in UNITS:
            return unit
    return ""


def unit_as_written(text: str) -> str:
    """Return a unit that stands alone, as a key of UNITS, where a capital letter
    counts: MA is no milliampere. Empty where it is none.
    """
    text = plain(text)
    key = text[:-1] + text[-1:].lower()
    return key if key in UNITS else _WRITTEN_OUT.get(text.lower(), "")


def unit_beside(cell: str) -> str:
    """Return the unit after the number in a cell, as "33.30 W"; empty where there is
    none."""
    match = _BESIDE.fullmatch(cell)
    if match is None or is_number(cell) or not is_number(match[1].replace(",", ".")):
        return ""
    return unit_as_written(match[2])


def without_unit(cell: str, unit: str) -> str:
    """Return the number of a cell in a unit, which may carry another prefix; a cell
    without a unit comes back as it is. Raises ValueError where it carries a unit of
    something else.
    """
    beside = unit_beside(cell)
    if not beside:
        return cell
    match = _BESIDE.fullmatch(cell)
    assert match is not None
    if UNITS[beside][0] != UNITS[unit][0]:
        raise ValueError(f"{WRITTEN[beside]} in a column in {WRITTEN[unit]}")
    if beside == unit:
        return match[1]
    ratio = Decimal(str(UNITS[beside][1])) / Decimal(str(UNITS[unit][1]))
    return f"{Decimal(match[1].replace(',', '.')) * ratio:f}"


@dataclass(frozen=True, slots=True)
class Named:
    """The names of a table's columns, and the unit of each, as a key of UNITS; empty
    where neither heading nor the first row says one. `cells` are that row's.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    cells: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str], cells: Sequence[str] = ()) -> Named:
        """Return the columns of a heading, and of the first row below it."""
        row = [*cells, *[""] * len(names)][: len(names)]
        units = [
            unit_of(name) or unit_beside(cell)
            for name, cell in zip(names, row, strict=True)
        ]
        return cls(tuple(names), tuple(units), tuple(row))

    def of_role(self, role: str) -> list[int]:
        """Return the places of the columns in a unit of `role`."""
        return [
            at for at, unit in enumerate(self.units) if unit and UNITS[unit][0] == role
        ]

    def without(self, places: Sequence[int]) -> Named:
        """Return the columns with those at `places` nameless and without a unit."""
        names, units = list(self.names), list(self.units)
        for at in places:
            names[at] = units[at] = ""
        return Named(tuple(names), tuple(units), self.cells)

    @property
    def listed(self) -> str:
        """Columns in words, and which of them have no unit."""
        without = [
            name
            for name, unit in zip(self.names, self.units, strict=True)
            if name and not unit
        ]
        named = ", ".join(name or "(no name)" for name in self.names)
        return named + (f"; without a unit: {', '.join(without)}" if without else "")
