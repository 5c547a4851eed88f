# SPDX-License-Identifier: Apache-2.0
"""What stands above the rows of a table: lines of an instrument that tell the interval
of its samples, and headings of two rows. Pure.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rig.importers.tables import dated
from rig.importers.tables.column_units import unit_beside
from rig.importers.tables.numeral import is_number

_DELIMITERS = (",", ";", "\t")
#: So many rows of numbers below each other are a table.
_ROWS = 2
_INTERVAL = re.compile(
    r"(sampl(e|ing) (interval|period|time)|x?[ _]?increment|time (step|increment)|delta"
    r" t)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"sampl(e|ing) (rate|frequency)\b", re.IGNORECASE)
_VALUE = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*([a-zA-Zµ/]*)", re.ASCII)
#: A unit beside the name, where the number has none.
_UNIT = re.compile(r"[(\[]\s*([a-zA-Zµ/]+)\s*[)\]]", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_HERTZ = {"": 1.0, "hz": 1.0, "khz": 1e3, "mhz": 1e6}
_HERTZ |= {
    "sa/s": 1.0,
    "ksa/s": 1e3,
    "msa/s": 1e6,
    "s/s": 1.0,
    "ks/s": 1e3,
    "ms/s": 1e6,
}
#: Units as instruments write them out, in a row of their own.
_WORDS = {
    "second": "s",
    "seconds": "s",
    "sec": "s",
    "volt": "V",
    "volts": "V",
    "ampere": "A",
    "amperes": "A",
    "amp": "A",
    "amps": "A",
    "watt": "W",
    "watts": "W",
}


@dataclass(frozen=True, slots=True)
class Preamble:
    """The table after it: its heading, how many lines stand before its rows, the
    interval of its samples in seconds (0: not stated), and the words that state it.
    """

    names: tuple[str, ...]
    delimiter: str
    skipped: int
    interval_s: float = 0.0
    told_by: str = ""


def find(lines: Sequence[str]) -> Preamble | None:
    """Return what stands above the first rows of numbers; None where there are none, or
    where a heading of one line is all.
    """
    for at in range(len(lines) - _ROWS):
        for delimiter in _DELIMITERS:
            rows = [_cells(line, delimiter) for line in lines[at : at + _ROWS]]
            widths = {len(row) for row in rows}
            if len(widths) == 1 and all(_is_row(cells) for cells in rows):
                return _above(lines, at, delimiter, len(rows[0]))
    return None


def _above(
    lines: Sequence[str], first: int, delimiter: str, width: int
) -> Preamble | None:
    above = [
        at
        for at in range(first)
        if lines[at].strip() and not lines[at].startswith("sep=")
    ]
    if len(above) < 2:
        return None
    interval_s, told_by = interval(lines[: above[-1] + 1], delimiter)
    heads = [_cells(lines[at].lstrip("# "), delimiter) for at in above[-2:]]
    names = heads[-1]
    if are_units(heads[-1]) and len(heads[0]) >= 2:
        units = [*heads[1], *[""] * len(heads[0])]
        names = [
            _with_unit(name, unit) for name, unit in zip(heads[0], units, strict=False)
        ]
    if len(names) < width:
        names += [""] * (width - len(names))
    return Preamble(tuple(names[:width]), delimiter, first, interval_s, told_by)


def interval(lines: Sequence[str], delimiter: str) -> tuple[float, str]:
    """Return the interval that some line states, after its name or in the line below
    it."""
    for at, line in enumerate(lines):
        cells: list[str] = []
        for part in _cells(line, delimiter):
            cells += part.split(":")
        for number, cell in enumerate(cells):
            is_rate = bool(_RATE.search(cell))
            if not is_rate and not _INTERVAL.search(cell):
                continue
            units = _HERTZ if is_rate else _SECONDS
            below = _cells(lines[at + 1], delimiter) if at + 1 < len(lines) else []
            behind = cells[number + 1 : number + 3]
            if len(behind) == 2 and behind[1].lower() in units:
                behind[0] += behind[1]
            for text in (*behind[:1], *below[number : number + 1]):
                size = _size(text, cell, delimiter, units)
                if size:
                    return (1 / size if is_rate else size), cell.strip().lstrip("# ")
    return 0.0, ""


def _size(text: str, name: str, delimiter: str, units: Mapping[str, float]) -> float:
    """Return a number in a unit of its own, or in that of its name; 0 where it is none
    of them."""
    value = _VALUE.fullmatch(
        text.strip().replace(",", "," if delimiter == "," else ".")
    )
    if value is None:
        return 0.0
    beside = _UNIT.search(name)
    unit = value[2] or (beside[1] if beside else "")
    size = float(value[1]) * units.get(unit.lower(), 0.0)
    return size if math.isfinite(size) else 0.0


def are_units(cells: Sequence[str]) -> bool:
    """Check whether a row has units, and else only numbers."""
    others = [cell for cell in cells if cell.lower() not in _WORDS]
    if len(others) == len(cells):
        return False
    return all(cell.lower() in ("", "sequence") or is_number(cell) for cell in others)


def _with_unit(name: str, unit: str) -> str:
    word = _WORDS.get(unit.lower(), "")
    return f"{name} ({word})" if word else name


def _is_row(cells: Sequence[str]) -> bool:
    """Check whether a line is a row of numbers: two at least, or one that is alone."""
    filled = [cell for cell in cells if cell]
    numbers = [
        cell
        for cell in filled
        if is_number(cell.replace(",", ".")) or unit_beside(cell)
    ]
    texts = [
        cell
        for cell in filled
        if cell not in numbers and dated.seconds(cell) is not None
    ]
    return bool(numbers) and len(numbers) + len(texts) == len(filled)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except (csv.Error, StopIteration):
        return []
