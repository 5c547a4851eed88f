# SPDX-License-Identifier: Apache-2.0
"""The file events.jsonl, open to be written by one process: lines are appended, none is
changed.

A file and the line that names it have one order everywhere: the file appears whole
under its name, then its line is appended. A process that is killed between the two
leaves a file without a line, which the same command makes again, with its line.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.errors import DataError, DeviceBusy, storage_error
from rig.files import foreign_files
from rig.host import file_lock
from rig.store import journal, session_folder
from rig.store.session_folder import EVENTS, READ_ONLY_TRY, SessionFolder, write_bytes

#: Lines of events.jsonl that vouch for files which a power cut must not take.
_LASTING = ("session_started", "trial_finished", "session_finished", "derived")


class EventFile:
    """The lines of a session, for the one process that appends to them; raises
    DeviceBusy where another one does.

    A beginning of a line that a killed process left is cut off.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / EVENTS
        try:
            with suppress(FileExistsError):
                path.open("xb").close()
            flags = os.O_RDWR | os.O_APPEND
            descriptor = foreign_files.descriptor(path, folder, flags)
            self._stream = os.fdopen(descriptor, "a", encoding="utf-8")
        except OSError as error:
            raise storage_error(error, folder, READ_ONLY_TRY) from error
        try:
            is_ours = file_lock.take(self._stream)
        except OSError:
            self._stream.close()
            raise
        if not is_ours:
            self._stream.close()
            raise DeviceBusy(
                f"{folder} is being written",
                try_next="wait until its session has ended, or stop it",
            )
        content = foreign_files.read_bytes(path, folder)
        os.truncate(self._stream.fileno(), content.rfind(b"\n") + 1)
        self.journal = journal.read(path)
        self._before = self.journal.last

    def append(self, event: str, **fields: Any) -> None:
        """Append a line, and sync it to the disk if its files must last. The chain and
        the fields of each event are those of rig/store/journal.py.
        """
        begin = {"schema": journal.SCHEMA} if event == "session_started" else {}
        content = begin | {"event": event} | fields
        text, self._before = journal.line(content, self._before)
        self._stream.write(text)
        self._stream.flush()
        if event in _LASTING:
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        self._stream.close()

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_derived(folder: SessionFolder, name: str, content: str | bytes) -> Path:
    """Write a file that is made of a finished session, then the line that names it,
    unless the last such line names the same bytes; return the file's path. Raises
    DeviceBusy, StorageFull and BenchError.

    Where events.jsonl is not as it was written, no line is added to it: the check says
    so.
    """
    path = folder.path / name
    block = content.encode() if isinstance(content, str) else content
    try:
        with EventFile(folder.path) as events:
            write_bytes(path, block, READ_ONLY_TRY)
            digest = session_folder.sha256(path)
            derived = [
                event.files
                for event in events.journal.events
                if event.event == "derived"
            ]
            known = [files[name] for files in derived if name in files]
            is_whole = not events.journal.faults and events.journal.events
            if is_whole and known[-1:] != [digest]:
                events.append("derived", files={name: digest})
    except OSError as error:
        raise storage_error(error, folder.path, READ_ONLY_TRY) from error
    return path


def mend(folder: SessionFolder) -> None:
    """Cut off the beginning of a line that a killed process left in events.jsonl, if
    there is one.
    """
    if folder.journal().torn:
        EventFile(folder.path).close()


def is_running(path: Path) -> bool:
    """Check whether a process writes a session now: it holds a lock on
    events.jsonl."""
    try:
        with foreign_files.opened(path / EVENTS, path) as stream:
            return not file_lock.take(stream, shared=True)
    except (OSError, DataError):
        return False
