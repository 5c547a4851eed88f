# SPDX-License-Identifier: Apache-2.0
"""Rows of a list of sessions, kept in the user's cache folder from one command to the
next.

The first line of a file is the hash of the second, which is JSON. A file that is
damaged, or of other sources of the rig, is ignored and made again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import DataError, RigError
from rig.files import typed, user_folders
from rig.store.provenance import sources_sha256
from rig.store.session_folder import write_text

_FOLDER = "sessions"

#: The stamp of a session's folder when its row was read, and the values of the row.
StampedValues = tuple[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The file of a folder's rows, by the names of its sessions, and the hashes of the
    sources that read them.
    """

    sources: str
    rows: dict[str, Any]


def stamp(folder: Path) -> str:
    """Return a hash of names, sizes and times of the files at the top of a session: it
    changes whenever one of these, or the list of files of a trial, does.
    """
    facts = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            times = (about.st_mtime_ns, about.st_ctime_ns)
            facts.append((entry.name, about.st_ino, about.st_size, *times))
    return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()[:32]


def load(root: Path) -> dict[str, StampedValues]:
    """Return the rows that are kept of a folder of sessions, by the names of these."""
    try:
        digest, _, text = _file(root).read_text(encoding="utf-8").partition("\n")
    except (RigError, OSError, ValueError):
        return {}
    if digest != _digest(text):
        return {}
    try:
        kept = typed.from_json(KeptRows, json.loads(text), _FOLDER)
    except DataError:
        return {}
    return kept.rows if kept.sources == sources_sha256() else {}


def save(root: Path, rows: Mapping[str, StampedValues]) -> None:
    """Keep rows; a missing or full cache folder is no error."""
    text = json.dumps(typed.to_json(KeptRows(sources_sha256(), dict(rows))))
    with suppress(RigError, OSError):
        write_text(_file(root), f"{_digest(text)}\n{text}")


def _file(root: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return user_folders.remembered(_FOLDER) / f"{name}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
