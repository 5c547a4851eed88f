# SPDX-License-Identifier: Apache-2.0
"""The list of labels of an MLPerf Tiny data folder: `file,classes,class` a line, and
for sliding windows `,window bytes,stride`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rig.errors import DataError
from rig.files import small_text

_COLUMNS = ("file", "classes", "class", "window bytes", "stride bytes")
_FORMS = (3, 5)
#: Python refuses to read numbers of thousands of digits; no file is so long.
_DIGITS = 15
_TRY = (
    "file,classes,class, or file,classes,class,window bytes,stride bytes; classes count"
    " from 0"
)


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One line: the file, how many classes there are, which one is right, and the
    window slid over it (0: the whole file).
    """

    line: int
    file: str
    classes: int
    label: int
    window_b: int = 0
    stride_b: int = 0


def read_labels(path: Path) -> list[LabelRow]:
    """Read a list of labels; raises DataError with file and line of a row that is not
    valid."""
    try:
        with io.StringIO(small_text.read(path, newline="")) as file:
            reader = csv.reader(file, skipinitialspace=True, strict=True)
            lines = [
                (reader.line_num, list(map(str.strip, fields))) for fields in reader
            ]
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing", try_next=_where(path)) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{path} cannot be read as a list of labels",
            evidence=str(error),
            try_next=_TRY,
        ) from error
    rows = [_row(path, number, fields) for number, fields in lines if any(fields)]
    if not rows:
        raise DataError(f"{path} names no file", try_next=_TRY)
    _agree(path, rows)
    return rows


def _row(path: Path, line: int, fields: Sequence[str]) -> LabelRow:
    where = f"{path}, line {line}"
    evidence = ",".join(fields)
    if len(fields) not in _FORMS:
        raise DataError(
            f"{where} has {len(fields)} fields, 3 or 5 are due",
            evidence=evidence,
            try_next=_TRY,
        )
    name = fields[0]
    numbers = []
    for column, text in zip(_COLUMNS[1:], fields[1:], strict=False):
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            raise DataError(
                f"{where}: {column} {text[:40]!r} is no whole number of up to {_DIGITS}"
                " digits",
                evidence=evidence[:200],
                try_next=_TRY,
            )
        numbers.append(int(text))
    row = LabelRow(line, name, *numbers)
    if (
        not name
        or PurePosixPath(name).is_absolute()
        or ".." in PurePosixPath(name).parts
    ):
        raise DataError(
            f"{where}: {name!r} is no file of this folder", evidence=evidence
        )
    if row.classes < 2 or row.label >= row.classes:
        raise DataError(
            f"{where}: class {row.label} of {row.classes} classes",
            evidence=evidence,
            try_next=_TRY,
        )
    if len(fields) == max(_FORMS) and (row.window_b < 1 or row.stride_b < 1):
        raise DataError(
            f"{where}: window and stride are 1 byte or more", evidence=evidence
        )
    return row


def _agree(path: Path, rows: Sequence[LabelRow]) -> None:
    """Raise where a file is listed twice, or rows differ in values of a whole set."""
    first: dict[str, int] = {}
    for row in rows:
        if row.file in first:
            raise DataError(
                f"{path}, line {row.line}: {row.file} is listed twice, first in line "
                f"{first[row.file]}"
            )
        first[row.file] = row.line
        if row.classes != rows[0].classes:
            raise DataError(
                f"{path}, line {row.line}: {row.classes} classes, line {rows[0].line}"
                f" has {rows[0].classes}"
            )
        if bool(row.window_b) != bool(rows[0].window_b):
            raise DataError(
                f"{path}, line {row.line}: a window in some rows only; line"
                f" {rows[0].line} is of the other form"
            )


def _where(path: Path) -> str:
    """Return where such a list lies, if not here."""
    near = sorted(
        neighbour.parent.name for neighbour in path.parent.glob(f"*/{path.name}")
    )
    if near:
        return f"one of the folders in it: {', '.join(near)}"
    return (
        "the folder of one benchmark, as datasets/kws01, with its list of labels and"
        " its tensors"
    )
