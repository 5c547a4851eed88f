# SPDX-License-Identifier: Apache-2.0
"""Rows of a list of sessions, kept in the user's cache folder from one command to the
next.

The first line of a file is the hash of the second, which is JSON. A file that is
damaged, or of another version of the rig, is ignored and made again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.errors import ConfigError
from rig.files import user_folders
from rig.store.provenance import version_of

_FOLDER = "sessions"
#: Changes with the meaning of a value or of a stamp within one version of the rig.
_FORM = 1

#: The stamp of a session's folder when its row was read, and the values of the row.
StampedValues = tuple[str, Sequence[Any]]


def stamp(folder: Path) -> str:
    """Return a hash of names, sizes and times of what lies at the top of a session: it
    changes whenever one of these files, or the list of files of a trial, does.
    """
    facts = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            times = (about.st_mtime_ns, about.st_ctime_ns)
            facts.append((entry.name, about.st_ino, about.st_size, *times))
    return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()[:32]


def load(root: Path, fields: Sequence[str]) -> dict[str, StampedValues]:
    """Return the rows that are kept of a folder of sessions, by the names of these."""
    try:
        digest, _, text = _file(root).read_text(encoding="utf-8").partition("\n")
    except (ConfigError, OSError, ValueError):
        return {}
    if digest != _digest(text):
        return {}
    content = json.loads(text)
    if content["about"] != _about(fields):
        return {}
    rows: dict[str, StampedValues] = content["rows"]
    return rows


def save(root: Path, fields: Sequence[str], rows: Mapping[str, StampedValues]) -> None:
    """Keep rows; without a cache folder nothing is kept."""
    text = json.dumps({"about": _about(fields), "rows": rows})
    with suppress(ConfigError, OSError):
        path = _file(root)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(f"{_digest(text)}\n{text}", encoding="utf-8")
        partial.replace(path)


def _about(fields: Sequence[str]) -> list[Any]:
    return [_FORM, version_of("neurorig"), list(fields)]


def _file(root: Path) -> Path:
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:32]
    return user_folders.remembered(_FOLDER) / f"{name}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
