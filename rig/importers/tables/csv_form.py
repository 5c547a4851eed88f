# SPDX-License-Identifier: Apache-2.0
"""The layout of a text table: encoding, delimiter, heading, and what stands above
it."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rig.errors import DataError
from rig.files import small_text
from rig.importers.tables import csv_preamble, dated
from rig.importers.tables.numeral import is_number

_HEAD_B = 1 << 16
_DELIMITERS = (";", "\t", ",")

#: Where a table has zero bytes.
ZEROS = (
    "a file has zero bytes where its computer lost power before all of it was written: "
    "export it again, or take them out"
)


@dataclass(frozen=True, slots=True)
class Form:
    """The layout of a table: its heading, where its rows begin (the number of lines
    before them), and the cells of the first.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    skipped: int
    interval_s: float = 0.0
    told_by: str = ""
    dates: dated.DateColumns | None = None
    cells: tuple[str, ...] = ()


def form_of(path: Path) -> Form:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_B)
    if not head.strip():
        raise DataError(f"{path} is empty")
    encoding = _encoding(head)
    if encoding != "utf-16" and b"\0" in head:
        before, _, _ = head.partition(b"\0")
        line = before.count(b"\n") + 1
        raise DataError(
            f"{path} is neither a JLS file nor a text table",
            evidence=f"it begins with {head[:16]!r}, and line {line} has a zero byte",
            try_next=small_text.UTF_8_TRY if b"\0" in head[:2] else ZEROS,
        )
    lines = (
        StringIO(head.decode(encoding, errors="ignore"), newline=None)
        .read()
        .split("\n")
    )
    comments = [at for at, line in enumerate(lines) if line.startswith("#")]
    numbered = enumerate(lines)
    rows = [
        at
        for at, line in numbered
        if line.strip() and not line.startswith(("#", "sep="))
    ]
    if not rows:
        raise DataError(f"{path} has no rows")
    first = rows[0]
    delimiter = max(_DELIMITERS, key=lines[first].count)
    cells = split(lines[first], delimiter)
    names = cells
    if all(is_number(cell.replace(",", ".")) for cell in cells):
        # NumPy puts its heading after a #; without any, the columns are called by
        # their numbers.
        commented = (
            split(lines[comments[-1]].lstrip("# "), delimiter) if comments else []
        )
        if len(commented) == len(cells):
            names = commented
        else:
            names = [str(number) for number in range(1, len(cells) + 1)]
        first -= 1
    below = _below(lines, first, delimiter)
    if names is cells:
        above = csv_preamble.find(lines)
        is_heading = _is_data(below, len(cells)) and not csv_preamble.are_units(below)
        if above is not None and (len(above.names) != len(cells) or not is_heading):
            below = _below(lines, above.skipped - 1, above.delimiter)
            return Form(
                encoding=encoding,
                delimiter=above.delimiter,
                names=above.names,
                skipped=above.skipped,
                interval_s=above.interval_s,
                told_by=above.told_by,
                dates=dated.find_columns(above.names, below),
                cells=tuple(below),
            )
    interval_s = csv_preamble.interval([lines[at] for at in comments], delimiter)
    dates = dated.find_columns(names, below)
    return Form(
        encoding, delimiter, tuple(names), first + 1, *interval_s, dates, tuple(below)
    )


def _below(lines: Sequence[str], at: int, delimiter: str) -> list[str]:
    """Return the cells of the first row after a line."""
    row = next((line for line in lines[at + 1 :] if line.strip()), "")
    return split(row, delimiter) if row else []


def _is_data(cells: Sequence[str], width: int) -> bool:
    """Check whether a row is one of a table so wide: it has a number, or a date."""
    return len(cells) >= width and any(_is_datum(cell) for cell in cells)


def _is_datum(cell: str) -> bool:
    return is_number(cell.replace(",", ".")) or dated.seconds(cell) is not None


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        # A character that the end of the piece cuts in two is none that this decoder
        # minds.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def split(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
