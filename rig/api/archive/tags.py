# SPDX-License-Identifier: Apache-2.0
"""Tags of sessions: words that a person gives them, in a file beside the session
folders.

It is no file of a session: `rig check` refuses every file there that events.jsonl does
not name. A session is identified by the hash of its first event, so its tags stay when
its folder gets another name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import DataError
from rig.files import foreign_files, typed
from rig.store import strict_json
from rig.store.session_folder import EVENTS, json_text, read_json, write_text

FILE = "tags.json"
SCHEMA = "neurorig-tags-1"
_LINE_MAX_B = 1 << 20
_LETTERS_MAX = 40
_BETWEEN = re.compile(r"[\s,;#]+")


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of all sessions in a folder, by the session's identity."""

    of: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, root: Path) -> Tags:
        """Read the tags; a folder without them has none. Raise DataError where the file
        is no such file.
        """
        if not os.path.lexists(root / FILE):
            return cls({})
        return cls({key: row.tags for key, row in _rows(root).items()})

    def find(self, path: Path) -> tuple[str, ...]:
        """Return the tags of a session."""
        return self.of.get(identity(path), ()) if self.of else ()


def identity(path: Path) -> str:
    """Return the identity of a session: the hash of its first event, else its folder's
    name.
    """
    try:
        with foreign_files.opened(path / EVENTS, path) as stream:
            first = strict_json.parse_object(stream.readline(_LINE_MAX_B).decode())
        return typed.from_json(_FirstEvent, first, EVENTS).sha256
    except (OSError, ValueError, DataError):
        return f"folder {path.name}"


def cleaned(words: str | Iterable[str]) -> tuple[str, ...]:
    """Return the tags in a typed text: words between blanks, commas or #, each once, in
    order.
    """
    text = words if isinstance(words, str) else " ".join(words)
    found = []
    for word in _BETWEEN.split(text):
        if word and word.isprintable():
            found.append(word[:_LETTERS_MAX])
    return tuple(dict.fromkeys(found))


def write(path: Path, tags: str | Iterable[str]) -> tuple[str, ...]:
    """Give a session these tags in the place of those that it has; return them as they
    are kept."""
    root = path.parent
    kept = cleaned(tags)
    rows = _rows(root) if os.path.lexists(root / FILE) else {}
    rows[identity(path)] = _Tagged(path.name, kept)
    content = _TagFile(SCHEMA, {key: row for key, row in rows.items() if row.tags})
    write_text(root / FILE, json_text(typed.to_json(content)))
    return kept


@dataclass(frozen=True, slots=True)
class _Tagged:
    """The tags of one session, and how its folder was called then."""

    folder: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _TagFile:
    """The file of tags: sessions by their identity."""

    schema: str
    sessions: dict[str, _Tagged]


@dataclass(frozen=True, slots=True)
class _FirstEvent:
    """The first line of events.jsonl, as far as it is needed here."""

    sha256: str
    more: dict[str, Any] = typed.rest()


def _rows(root: Path) -> dict[str, _Tagged]:
    place = root / FILE
    try:
        content = typed.from_json(_TagFile, read_json(place), str(place))
        evidence = "" if content.schema == SCHEMA else f"it is none of schema {SCHEMA}"
    except DataError as error:
        evidence = error.evidence or error.cause
    if evidence:
        raise DataError(
            f"{place} holds no tags of sessions",
            evidence=evidence,
            try_next="give it another name: the sessions themselves need nothing of it",
        )
    return content.sessions
