# SPDX-License-Identifier: Apache-2.0
"""Sessions taken away: into a trash folder beside them, from which they come back, or
for good."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.api.archive.listing import is_session
from rig.errors import DataError, DeviceBusy, storage_error
from rig.files import foreign_files
from rig.host import file_lock
from rig.store.event_file import is_running
from rig.store.session_folder import EVENTS

TRASH = ".trash"


def to_trash(path: Path) -> Path:
    """Move a session into the trash folder beside it; return where it is now."""
    with _taken(path):
        return _moved(path, path.parent / TRASH)


def restore(path: Path) -> Path:
    """Move a session out of the trash folder; return where it is now."""
    if path.parent.name != TRASH:
        raise DataError(
            f"{path} is in no trash folder", try_next=f"a folder below {TRASH}"
        )
    with _taken(path):
        return _moved(path, path.parent.parent)


def delete(path: Path) -> None:
    """Delete a session for good."""
    with _taken(path):
        try:
            # Under another name first: a half-deleted folder is no session any
            # more.
            gone = _moved(path, path.parent / TRASH, ".deleting")
            shutil.rmtree(gone)
        except OSError as error:
            raise storage_error(error, path) from error


@contextmanager
def _taken(path: Path) -> Iterator[None]:
    """Lock a session while it is moved, so that no run resumes it; refuse one that
    runs, and a folder that is no session.
    """
    if path.is_symlink() or not path.is_dir() or not is_session(path):
        raise DataError(
            f"{path} is no session folder", try_next="rig sessions shows the sessions"
        )
    if is_running(path):
        raise _busy(path)
    events = path / EVENTS
    if sys.platform == "win32" or not events.is_file():
        yield
        return
    with foreign_files.opened(events, path) as stream:
        if not file_lock.take(stream):
            raise _busy(path)
        yield


def _busy(path: Path) -> DeviceBusy:
    return DeviceBusy(
        f"{path} is running",
        try_next="wait until it has ended, or stop it; then take it away",
    )


def _moved(path: Path, place: Path, suffix: str = "") -> Path:
    try:
        place.mkdir(exist_ok=True)
        for number in ("", *(f"~{count}" for count in range(2, 1000))):
            target = place / f"{path.name}{suffix}{number}"
            if not target.exists():
                return path.rename(target)
    except OSError as error:
        raise storage_error(error, path) from error
    raise DataError(f"{place} has a thousand sessions named {path.name}")
