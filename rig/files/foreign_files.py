# SPDX-License-Identifier: Apache-2.0
"""Files of a folder that another person made: regular files that lie in it, and no
others.

A link leads to another folder, a pipe blocks its reader, a device never ends. Every
file of a session folder is opened here; tests/test_foreign_files.py lists files that
are opened in other modules, and why.

A path below a session folder is walked from that folder on, one component after
another, and no link is followed. A path outside of any session folder was named by the
user, whose links are followed; it must lead to a regular file all the same.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from rig.errors import DataError, unread

#: The file that marks a session folder, also where another one is missing.
MARK = "events.jsonl"
#: No file of a session lies deeper: trial, segment, rail.
DEPTH_MAX = 8
#: Larger files than the rig writes would only keep their reader busy.
_LARGEST_TRACE_B = 1 << 38
_LARGEST_B = 1 << 30
_LARGEST_PAGE_B = 1 << 28
_LARGEST_SMALL_B = 1 << 24
_TRACES = (".jls", ".jls.partial")
_PAGES = (MARK, "results.json", "catalogue.csv", "report.html")
_SMALL = ("bench.toml", "provenance.json", "tags.json", "events.jsonl.sig")
_KINDS = {
    stat.S_IFLNK: "is a link, which leads elsewhere",
    stat.S_IFIFO: "is a pipe, whose reader may wait for ever",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a device, which may have no end",
    stat.S_IFBLK: "is a device",
    stat.S_IFDIR: "is a folder",
}
_ASK = "ask whoever made the folder for another copy"
#: What helps where a user names a path outside of any session folder.
_NAME = "the path of a regular file"
# Not on every system: a file of Windows has no such kinds.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _BINARY
_CAN_WALK = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd


def opened(path: Path, folder: Path | None = None) -> BufferedReader:
    """Open a file for reading.

    `folder` is the folder that the file must lie in; left out, the session folder
    around it. Raises FileNotFoundError, and DataError where the file is a link, lies
    below one, is not a regular file, is larger than any of its name, or cannot be read.
    """
    return os.fdopen(descriptor(path, folder), "rb")


def read_bytes(path: Path, folder: Path | None = None) -> bytes:
    """Return the content of a file; raises as `opened`."""
    with opened(path, folder) as stream:
        return stream.read()


def read_text(path: Path, folder: Path | None = None, errors: str = "strict") -> str:
    """Return the text of a file; raises as `opened`, and UnicodeDecodeError where
    `errors` is "strict".
    """
    text = read_bytes(path, folder).decode("utf-8", errors)
    # as a file opened as text gives it
    return text.replace("\r\n", "\n").replace("\r", "\n")


def checked(path: Path, folder: Path | None = None) -> str:
    """Return the name of a file for a library that opens it by its name; raises as
    `opened`.

    Between this check and the library's call another process of this computer could put
    a link there; a folder from another computer cannot.
    """
    os.close(descriptor(path, folder))
    return str(path)


def descriptor(path: Path, folder: Path | None = None, flags: int = os.O_RDONLY) -> int:
    """Open a file with flags of os.open and return its descriptor; raises as `opened`,
    and PermissionError where it may be read and not written.
    """
    within = folder if folder is not None else session_of(path)
    try:
        found = (
            _walked(path, within, flags)
            if within is not None
            else _open(path, flags, None)
        )
    except FileNotFoundError:
        raise
    except OSError as error:
        if flags != os.O_RDONLY and isinstance(error, PermissionError):
            # Who writes says what then helps.
            raise PermissionError(error.errno, error.strerror, str(path)) from error
        hint = _ASK if within is not None else _NAME
        raise unread(error, path, hint) from error
    try:
        about = os.fstat(found)
        _require_regular(path, about.st_mode, within)
        if within is not None and about.st_size > largest_b(path.name):
            raise _refused(path, too_large(about.st_size))
    except BaseException:
        os.close(found)
        raise
    return found


def session_of(path: Path) -> Path | None:
    """Return the session folder that a file lies in; of one inside another, the outer
    one."""
    above = _whole(path).parents[: DEPTH_MAX + 1]
    return next(
        (each for each in reversed(above) if os.path.lexists(each / MARK)), None
    )


def why_strange(mode: int) -> str:
    """Return why a file of this mode belongs into no session folder; empty for a
    regular file."""
    if stat.S_ISREG(mode):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "is neither a file nor a folder")


def largest_b(name: str) -> int:
    """Return how many bytes a file of a session may have, by its name."""
    if name.endswith(_TRACES):
        return _LARGEST_TRACE_B
    if name in _PAGES:
        return _LARGEST_PAGE_B
    return _LARGEST_SMALL_B if name in _SMALL else _LARGEST_B


def too_large(size_b: int) -> str:
    """Return the message about a file that is larger than any of its name."""
    return f"has {size_b} bytes, more than any file of its kind"


def _walked(path: Path, folder: Path, flags: int) -> int:
    """Open a file below a folder without following a link."""
    if not _whole(path).is_relative_to(_whole(folder)):
        raise _refused(path, f"does not lie in {folder}")
    parts = _whole(path).relative_to(_whole(folder)).parts
    if not parts:
        raise _refused(path, _KINDS[stat.S_IFDIR])
    if not _CAN_WALK:
        return _looked_at(path, folder, parts, flags)
    at = os.open(folder, _FOLDER)
    try:
        for depth, part in enumerate(parts[:-1], start=1):
            _require_folder(folder.joinpath(*parts[:depth]), _mode(part, at))
            inner = os.open(part, _FOLDER | _NO_LINK, dir_fd=at)
            os.close(at)
            at = inner
        # A device is not opened at all: that alone may do something to it.
        _require_regular(path, _mode(parts[-1], at), folder)
        return os.open(parts[-1], flags | _NO_LINK | _NO_WAIT | _BINARY, dir_fd=at)
    finally:
        os.close(at)


def _looked_at(path: Path, folder: Path, parts: tuple[str, ...], flags: int) -> int:
    """Open a file below a folder where the system cannot walk: look at each component
    first."""
    for depth in range(1, len(parts)):
        above = folder.joinpath(*parts[:depth])
        _require_folder(above, above.lstat().st_mode)
    _require_regular(path, path.lstat().st_mode, folder)
    return _open(path, flags, folder)


def _open(path: Path, flags: int, within: Path | None) -> int:
    _require_regular(path, path.stat().st_mode, within)
    return os.open(path, flags | _NO_WAIT | _BINARY)


def _whole(path: Path) -> Path:
    """Return a path from the root on, without dots; links stay links."""
    return Path(os.path.abspath(path))  # noqa: PTH100, Path.resolve follows links


def _mode(name: str, folder: int) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def _require_folder(path: Path, mode: int) -> None:
    if not stat.S_ISDIR(mode):
        raise _refused(path, why_strange(mode) or "is a file, where a folder should be")


def _require_regular(path: Path, mode: int, within: Path | None) -> None:
    """Refuse what is no regular file, in a session folder or named by the user."""
    if why := why_strange(mode):
        raise DataError(f"{path} {why}", try_next=_ASK if within else _NAME)


def _refused(path: Path, why: str) -> DataError:
    return DataError(f"{path} {why}", try_next=_ASK)
