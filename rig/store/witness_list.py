# SPDX-License-Identifier: Apache-2.0
"""The list of first hashes beside sessions: a line for each session that was begun with
a witness, in the order in which they began.

A list that lies with a witness shows which sessions were left out.
"""

from __future__ import annotations

import os
from pathlib import Path

from rig.errors import DataError, storage_error
from rig.store.session_folder import SessionFolder

WITNESS = "witness.txt"


def first_hash(folder: SessionFolder) -> str:
    """Return the hash of a session's first line, which covers bench file, device and
    catalogue; raise DataError where there is none.
    """
    events = folder.journal().events
    if not events:
        raise DataError(
            f"{folder.path} has no first line",
            try_next=f"rig check {folder.path}",
        )
    return events[0].sha256


def add(folder: SessionFolder) -> Path:
    """Add a session to the list beside it, brought to the disk; return the list's
    path.
    """
    path = folder.path.parent / WITNESS
    line = f"{first_hash(folder)} {folder.path.name}\n"
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise storage_error(error, path) from error
    return path
