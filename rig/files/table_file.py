# SPDX-License-Identifier: Apache-2.0
"""Tables written as text: the one writer of CSV, and lines with tabs for the clipboard.

A spreadsheet takes a cell that begins with =, +, -, @, a tab or a carriage return for a
formula, and a formula can start a program. Such a cell gets an apostrophe before it
(OWASP, CSV Injection); a number, also with its unit, stays as it is. A cell with
characters that command a terminal is written as an apostrophe, a backslash and the text
as JSON escapes it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from rig.files.plain_text import one_line, visible

_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
_VALUE = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?: ?[%°µμΩa-zA-Z]{1,4})?"
#: A number, maybe with its unit and its uncertainty, or a dash in the place of one.
_NUMBER = re.compile(rf"{_VALUE}(?: ?± ?{_VALUE})?|[+-]?(?:inf|nan)|-")
#: Bytes in base64: as a formula it is none, or one without a bracket, which calls no
#: function.
_BYTES = re.compile(r"\+[A-Za-z0-9+/]*={1,2}|\+[A-Za-z0-9+/]{23,}")
_LABELS = "# neurorig: "
_BETWEEN = ", "
_MARK = "'"
_ESCAPED = "'\\"


def text(
    rows: Iterable[Iterable[object]], *, delimiter: str = ",", end: str = "\n"
) -> str:
    """Return rows as CSV; `end` ends each line."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end)
    for row in rows:
        writer.writerow([cell(value) for value in row])
    return stream.getvalue()


def of_records(records: Sequence[Mapping[str, object]]) -> str:
    """Return records as CSV with a column for each key of any; a cell is empty where a
    record lacks the key or has None.
    """
    empty = dict.fromkeys(chain.from_iterable(records))
    return text([empty, *((empty | dict(record)).values() for record in records)])


def tabbed(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as lines with tabs, to be pasted into a spreadsheet."""
    lines = []
    for row in rows:
        cells = [one_line(value.replace("\t", " ")) for value in row]
        lines.append("\t".join(map(_guarded, cells)))
    return "\n".join(lines)


def labels_line(labels: Sequence[str], place: str = "") -> str:
    """Return the line above a table of text that says what must stand beside its
    numbers, and where they are from; empty where there are no labels.
    """
    line = one_line(f"{_LABELS}{_BETWEEN.join(labels)}{'; ' if place else ''}{place}")
    return f"{line}\n" if labels else ""


def labels_of(line: str) -> tuple[str, ...]:
    """Return the labels that `labels_line` wrote into the first line of a file; of
    another line none.
    """
    if not line.startswith(_LABELS):
        return ()
    return tuple(line.removeprefix(_LABELS).rstrip().partition("; ")[0].split(_BETWEEN))


def cell(value: object) -> object:
    """Return a value as it is written; a text is changed so that it is no formula and
    no command.
    """
    if not isinstance(value, str):
        return value
    if visible(value) != value:
        return _ESCAPED + json.dumps(value)[1:-1]
    return _guarded(value)


def original(written: str) -> str:
    """Return the text that `cell` wrote so."""
    if written.startswith(_ESCAPED):
        try:
            return str(json.loads(f'"{written.removeprefix(_ESCAPED)}"'))
        except ValueError:
            return written
    is_marked = written.startswith(_MARK) and _is_formula(written)
    return written.removeprefix(_MARK) if is_marked else written


def _guarded(value: str) -> str:
    return _MARK + value if _is_formula(value) else value


def _is_formula(value: str) -> bool:
    """Check whether a text would be taken for a formula, or for one that was
    marked."""
    inner = value.lstrip(_MARK)
    if inner != value and inner.startswith("\\"):
        return True
    is_harmless = _NUMBER.fullmatch(inner) or _BYTES.fullmatch(inner)
    return bool(_FORMULA.match(inner)) and not is_harmless
