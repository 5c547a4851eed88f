# SPDX-License-Identifier: Apache-2.0
"""A file of time stamps: JSON as EEMBC's tools write it, or text, in seconds from the
first sample.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rig.errors import DataError
from rig.files import small_text

HINT = (
    "a JSON list of seconds, or of [start, stop]; or text with one or two numbers a"
    " line"
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def stamps_in(path: Path) -> list[str]:
    """Return the single stamps of a file as they are written; DataError where it has
    others."""
    rows = rows_in(path)
    if any(len(row) != 1 for row in rows):
        raise DataError(f"{path.name} is no list of time stamps", try_next=HINT)
    return [row[0] for row in rows]


def resolution_s(stamps: Sequence[str]) -> float:
    """Return one step of the last digit that is written, of the coarsest stamp that is
    not 0."""
    steps = [step_s(stamp) for stamp in stamps if float(stamp)]
    return max(steps, default=1e-6)


def rows_in(path: Path) -> list[list[str]]:
    """Return the numbers of a file, as they are written, row by row."""
    try:
        text = small_text.read(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read",
            evidence=error.strerror or str(error),
            try_next=HINT,
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is no text", try_next=HINT) from error
    if text.lstrip()[:1] in ("[", "{"):
        rows = _json_rows(path, text)
    else:
        rows = _text_rows(path, text)
    for row in rows:
        for word in row:
            if not _NUMBER.fullmatch(word):
                raise DataError(
                    f"{path.name}: no time stamp",
                    evidence=repr(word[:40]),
                    try_next=HINT,
                )
    return rows


def _json_rows(path: Path, text: str) -> list[list[str]]:
    try:
        # As they are written: the last digit says how well a stamp is known.
        content: Any = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str
        )
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path.name} is no JSON", evidence=str(error), try_next=HINT
        ) from error
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else None
    if not isinstance(content, list):
        raise DataError(f"{path.name} has no list of time stamps", try_next=HINT)
    rows = [row if isinstance(row, list) else [row] for row in content]
    return [list(map(str, row)) for row in rows]


def _text_rows(path: Path, text: str) -> list[list[str]]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [re.split(r"[\s,;]+", line) for line in lines if line]


def step_s(stamp: str) -> float:
    """Return one step of the last digit of a number as it is written."""
    digits, _, exponent = stamp.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
