# SPDX-License-Identifier: Apache-2.0
"""The lines of a bench file: which of them state a table or a key, and where a key
stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Keys = tuple[str, ...]

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(
    r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
#: An array or a text of more lines than this is not looked at as a whole.
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Statement:
    """A table's head or a key with its value: `keys` from the root on; its lines are
    `first` up to, and without, `stop`, counted from 0.
    """

    keys: Keys
    first: int
    stop: int
    is_head: bool


def statements(lines: list[str]) -> Iterator[Statement]:
    """Yield the statements of a file in their order; skip lines that are no TOML."""
    table: Keys = ()
    at = 0
    while at < len(lines):
        line = lines[at]
        if head := _HEADER.match(line):
            table = _keys(head[1])
            yield Statement(table, at, at + 1, True)
        elif key := _KEY.match(line):
            stop = _end(lines, at)
            yield Statement((*table, *_keys(key[1])), at, stop, False)
            at = stop
            continue
        at += 1


def line_of(text: str, path: str) -> int | None:
    """Return the line, from 1, of a key, or else of the table or key around it; None if
    there is none.
    """
    keys = tuple(re.sub(r"\[\d+\]", "", path).split("."))
    best: Statement | None = None
    for each in statements(text.splitlines()):
        common = _common(each.keys, keys)
        # A head of a table below says less than the table's own.
        fits = common == len(each.keys) or common == len(keys)
        if fits and common and (best is None or common > _common(best.keys, keys)):
            best = each
    return best.first + 1 if best is not None else None


def comment_of(statement: str) -> str:
    """Return the comment after a key's value, "" if there is none."""
    value = statement.rstrip("\r\n")
    for at, sign in enumerate(value):
        # The first # that begins a comment: the text before it is whole TOML.
        if sign == "#" and _parsed(value[:at]) is not None:
            return value[at:]
    return ""


def _common(keys: Keys, wanted: Keys) -> int:
    count = 0
    for one, other in zip(keys, wanted, strict=False):
        if one != other:
            break
        count += 1
    return count


def _keys(dotted: str) -> Keys:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _end(lines: list[str], first: int) -> int:
    for stop in range(first + 1, min(len(lines), first + _LONGEST) + 1):
        if _parsed("\n".join(lines[first:stop])) is not None:
            return stop
    return first + 1


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
