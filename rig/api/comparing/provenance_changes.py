# SPDX-License-Identifier: Apache-2.0
"""What differs between two sessions in how they came about: bench file and provenance,
key by key.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import RigError
from rig.store.session_folder import PROVENANCE, SessionFolder, read_json

#: Facts that differ between any two sessions, and explain no difference in their
#: numbers.
_ORDINARY = ("created_utc", "bench_sha256")
#: Shown where a key is in one session only.
ABSENT = "(none)"
_MANY = 16


@dataclass(frozen=True, slots=True)
class ProvenanceChange:
    """One key that differs: `path` as "bench.sut.uart.port" or "monitors.core.serial";
    `ordinary` where it differs between any two sessions.
    """

    path: str
    before: str
    after: str
    ordinary: bool = False


def changes(first: Path, second: Path) -> Iterator[ProvenanceChange]:
    """Yield the differences between two session folders: the bench files, then the
    provenance, with the ordinary ones last.
    """
    before, after = (flat(_content(folder)) for folder in (first, second))
    found = []
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            values = before.get(path, ABSENT), after.get(path, ABSENT)
            found.append(ProvenanceChange(path, *values, path in _ORDINARY))
    yield from sorted(found, key=lambda change: change.ordinary)


def flat(content: Any, place: str = "") -> dict[str, str]:
    """Return the leaves of a tree as text by their path; a list of plain values is one
    leaf, and the one rail without a name is called "rail".
    """
    found: dict[str, str] = {}
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            name = str(key) or "rail"
            found |= flat(value, f"{place}.{name}" if place else name)
    elif isinstance(content, list) and any(
        isinstance(each, (dict, list)) for each in content
    ):
        for number, value in enumerate(content, start=1):
            found |= flat(value, f"{place}[{number}]")
    else:
        found[place] = _text(content)
    return found


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, list) and len(value) > _MANY:
        return (
            f"{json.dumps(value[:_MANY], ensure_ascii=False)[:-1]}, ... {len(value)} in"
            " all]"
        )
    return json.dumps(value, ensure_ascii=False)


def _content(folder: Path) -> dict[str, Any]:
    """Return bench file and provenance of a session, as far as they can be read."""
    found: dict[str, Any] = {}
    try:
        found |= {"bench": tomllib.loads(SessionFolder(folder).bench_text())}
    except (RigError, ValueError):
        found |= {"bench": "cannot be read"}
    try:
        content = read_json(folder / PROVENANCE)
        found |= content if isinstance(content, dict) else {"provenance": content}
    except RigError:
        found |= {"provenance": "cannot be read"}
    return found
