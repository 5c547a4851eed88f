# SPDX-License-Identifier: Apache-2.0
"""Inventory of a session folder, made before any of its files is opened: it may be from
an untrusted source.

Only folders and regular files belong there. A link leads to another folder, a pipe
blocks its reader, a device never ends.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from rig.errors import DataError, unread
from rig.files import foreign_files
from rig.model.finding import Finding

#: No folder of the rig has more files.
_ENTRIES_MAX = 100_000
#: A folder whose name ends so stands where a file should be.
_FILES = (
    ".toml",
    ".json",
    ".jsonl",
    ".csv",
    ".html",
    ".txt",
    ".log",
    ".jls",
    ".npz",
    ".sig",
)
_NUL_AND_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def is_relative(name: str) -> bool:
    """Check whether a name means a file below any folder, and can mean no other."""
    parts = name.split("/")
    return (
        not _NUL_AND_CONTROLS.search(name)
        and "\\" not in name
        and not {"", ".", ".."} & set(parts)
    )


def files(folder: Path) -> dict[str, Path]:
    """Return every regular file of a folder by its name in it, in order."""
    return {
        name: path for name, path, mode in sorted(_walk(folder)) if stat.S_ISREG(mode)
    }


def folders(folder: Path) -> list[str]:
    """Return every folder in a folder and below, by its name in it."""
    return [name for name, _, mode in _walk(folder) if stat.S_ISDIR(mode)]


def strange(folder: Path) -> list[Finding]:
    """Return what does not belong into any session folder, each with the reason; what
    is there twice or more, once.
    """
    found: list[Finding] = []
    for count, (name, path, mode) in enumerate(_walk(folder)):
        why = (
            "more files than any session has"
            if count >= _ENTRIES_MAX
            else _why(name, path, mode)
        )
        if why:
            found.append(Finding(name, False, why))
        if count >= _ENTRIES_MAX:
            break
    return found


def refuse_strange(folder: Path) -> None:
    """Raise DataError where something lies in a session folder that belongs into
    none."""
    for finding in strange(folder):
        raise DataError(
            f"{folder / finding.name} {finding.detail}",
            try_next=(
                "nothing of this folder was read; ask whoever made it for another copy"
            ),
        )


def _why(name: str, path: Path, mode: int) -> str:
    if not stat.S_ISDIR(mode) and (why := foreign_files.why_strange(mode)):
        return why
    if stat.S_ISDIR(mode) and path.suffix in _FILES:
        return "is a folder"
    if name.count("/") >= foreign_files.DEPTH_MAX:
        return "lies deeper than any file of a session"
    if not is_relative(name) or not name.isprintable():
        return "has a name that no file of a session has"
    if stat.S_ISREG(mode):
        size_b = path.lstat().st_size
        if size_b > foreign_files.largest_b(path.name):
            return foreign_files.too_large(size_b)
    return ""


def _walk(
    folder: Path, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Path, int]]:
    """Yield name, path and mode of everything in a folder; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise unread(error, folder) from error
    for entry in inside:
        mode = entry.stat(follow_symlinks=False).st_mode
        yield prefix + entry.name, Path(entry.path), mode
        if stat.S_ISDIR(mode) and depth < foreign_files.DEPTH_MAX:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", depth + 1)
