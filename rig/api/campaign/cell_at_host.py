# SPDX-License-Identifier: Apache-2.0
"""Tasks of a Dask worker for a campaign at its host: run a cell, and hand over the
files of its session.

Sessions are kept in a folder of the user until they are copied. One that was cut off
stays there, and goes on when its cell comes to this host again.
"""

from __future__ import annotations

import shutil
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rig.api.campaign.cell_process import CellNews, CellOrder, CellRun
from rig.errors import RigError
from rig.files import foreign_files, user_folders
from rig.host.stop import LOOK_S
from rig.store import provenance, session_folder
from rig.store.event_file import is_running
from rig.store.session_folder import EVENTS, SessionFolder

_STOP = ".stop"
#: Bytes of a file that are handed over at once.
PIECE_B = 8 << 20
#: Time for a session to end whose worker was killed.
_LEAVE_S = 60.0


@dataclass(frozen=True, slots=True)
class CellAtHost:
    """A cell that ended at a host: its last news, the folder of its session there, and
    the SHA-256 of each file in it.
    """

    news: CellNews
    host: str
    worker: str = ""
    folder: str = ""
    files: dict[str, str] = field(default_factory=dict)


def sources() -> str:
    """Return the hash of the rig's sources at this host."""
    return provenance.sources_sha256()


def ask_to_stop(key: str, run: str) -> None:
    """Let all cells at this host stop that a run of a campaign ordered."""
    (_folder(key) / _STOP).write_text(run, encoding="utf-8")


def _is_to_stop(root: Path, run: str) -> bool:
    # A host that was away may have the request to an earlier run.
    with suppress(RigError, OSError):
        return foreign_files.read_text(root / _STOP, root) == run
    return False


def run_cell(order: CellOrder, key: str, run: str) -> CellAtHost:
    """Run a cell to its end, or until its run of the campaign is asked to stop."""
    root = _folder(key)
    host = socket.gethostname()
    _wait_for_earlier(root, order.text)
    if _is_to_stop(root, run):
        return CellAtHost(CellNews(ended=True, stopped=True), host)
    cell = CellRun(replace(order, root=str(root)))
    done = threading.Event()

    def stop_when_asked() -> None:
        while not done.wait(LOOK_S):
            if _is_to_stop(root, run):
                cell.stop()
                return

    watcher = threading.Thread(target=stop_when_asked)
    watcher.start()
    last = CellNews()
    try:
        for news in cell.news():
            last = replace(news, session=news.session or last.session)
    finally:
        done.set()
        watcher.join(_LEAVE_S)
    files: dict[str, str] = {}
    if last.session and not last.stopped:
        files = session_folder.hashes(Path(last.session))
    return CellAtHost(last, host, _worker(), last.session, files)


def piece(folder: str, name: str, start_b: int) -> bytes:
    """Return the bytes of a session's file from a place on."""
    path = Path(folder) / name
    with foreign_files.opened(path, Path(folder)) as stream:
        stream.seek(start_b)
        return stream.read(PIECE_B)


def remove(folder: str) -> None:
    """Remove a session that was copied."""
    path = Path(folder)
    if (path / EVENTS).is_file():
        shutil.rmtree(path)


def _folder(key: str) -> Path:
    folder = user_folders.data() / "campaigns" / key
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _wait_for_earlier(root: Path, text: str) -> None:
    """Wait for the end of a session of the same bench whose worker was killed."""
    end_s = time.monotonic() + _LEAVE_S
    for path in root.glob(f"*/{EVENTS}"):
        with suppress(RigError, OSError):
            if SessionFolder(path.parent).bench_text() != text:
                continue
            while is_running(path.parent) and time.monotonic() < end_s:
                time.sleep(LOOK_S)
