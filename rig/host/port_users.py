# SPDX-License-Identifier: Apache-2.0
"""Processes that have a serial port open, for the message that it is busy."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def users(path: str) -> list[str]:
    """Return "open in process 4711 (minicom)" for each process that has the file open,
    as far as the system reports it.
    """
    wanted = Path(path).resolve()
    processes = []
    for process in sorted(_PROC.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        with suppress(OSError):
            if any(_is(link, wanted) for link in (process / "fd").iterdir()):
                processes.append(
                    f"open in process {process.name}"
                    f" ({(process / 'comm').read_text().strip()})"
                )
    return processes


def _is(link: Path, wanted: Path) -> bool:
    try:
        return link.readlink() == wanted
    except OSError:
        return False  # closed meanwhile
