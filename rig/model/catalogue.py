# SPDX-License-Identifier: Apache-2.0
"""The catalogue of a task's samples: label, recording and city of each, which a session
keeps without the data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

from rig.errors import DataError
from rig.files import table_file


@dataclass(frozen=True, slots=True)
class Entry:
    """One sample: its label, as the task names it, and its clusters.

    Samples of one `recording` are stretches of it, and recordings of one `city` were
    made there; empty where they are not known.
    """

    label: str
    recording: str = ""
    city: str = ""


_COLUMNS = ("index", *(field.name for field in fields(Entry)))


def text(entries: Sequence[Entry]) -> str:
    """Write catalogue.csv: a line a sample, in the task's order."""
    rows = ((index, *astuple(entry)) for index, entry in enumerate(entries))
    return table_file.text([_COLUMNS, *rows])


def parse(content: str) -> tuple[Entry, ...]:
    """Read catalogue.csv; raises DataError where it has another form."""
    try:
        rows = list(csv.reader(io.StringIO(content), strict=True))
    except csv.Error as error:
        raise DataError("catalogue.csv is no table", evidence=str(error)) from error
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise DataError(
            "catalogue.csv has other columns",
            evidence=",".join(rows[0] if rows else [])[:80],
        )
    for index, row in enumerate(rows[1:]):
        if len(row) != len(_COLUMNS) or row[0] != str(index):
            raise DataError(
                f"catalogue.csv, line {index + 2} has another form",
                evidence=",".join(row)[:80],
            )
    return tuple(Entry(*map(table_file.original, row[1:])) for row in rows[1:])
