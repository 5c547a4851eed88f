# SPDX-License-Identifier: Apache-2.0
"""Read JLS files that were closed properly."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyjls

from rig.errors import DataError
from rig.files import foreign_files
from rig.host.stop import look

#: User data of the file: facts known from the start, and the number of samples of
#: each signal it was given.
ABOUT = 1
LENGTHS = 2
#: No signal: how many samples of current and voltage were recorded, where some were
#: left out.
RECORDED_SAMPLES = -1

_MAGIC = b"jlsfmt\r\n \n \x1a  \xb2\x1c"


def jls_state(path: Path) -> tuple[bool, bool]:
    """Check whether a file is JLS version 2, and whether it was closed properly;
    raises DataError when it cannot be read.

    The library's reader is not asked: it may crash or never end on an unclosed file, or
    rewrite it.
    """
    try:
        with foreign_files.opened(path) as stream:
            head = stream.read(len(_MAGIC) + 8)
            size_b = os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise DataError(
            f"{path} cannot be read", evidence=error.strerror or str(error)
        ) from error
    # A writer notes the length of the file when it closes it.
    return (
        head.startswith(_MAGIC),
        int.from_bytes(head[len(_MAGIC) :], "little") == size_b,
    )


def utf8_name(path: Path) -> str:
    """Return a path for the library, which encodes it as UTF-8; DataError where that
    names no file, or another one, as in a locale of another encoding.
    """
    try:
        same = str(path).encode() == os.fsencode(path)
    except UnicodeEncodeError:
        same = False
    if not same:
        raise DataError(
            f"a trace cannot be kept in {path}: the library of traces takes UTF-8"
            " alone",
            evidence=f"this locale has file names in {sys.getfilesystemencoding()}",
            try_next=(
                "PYTHONUTF8=1 where names on the disk are UTF-8, or a path of ASCII"
            ),
        )
    return str(path)


def new_writer(path: Path) -> Any:
    """Begin a JLS file with the permissions of new files of this account; the library
    alone would hide it from other accounts. Raises DataError and OSError."""
    name = utf8_name(path)
    path.touch()
    return pyjls.Writer(name)


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a closed JLS file; its reader's errors become DataErrors. An unclosed one is
    refused: `recover` that first.
    """
    if not path.exists():  # the reader would say so on standard error, too
        raise DataError(
            f"{path} is not there",
            try_next="rig check shows what is left of a session that was cut off",
        )
    is_jls, is_closed = jls_state(path)
    if not is_jls:
        raise DataError(
            f"{path} is not a readable trace", evidence="it does not begin as JLS does"
        )
    if not is_closed:
        raise DataError(
            f"{path} was not closed properly, or was cut short",
            evidence=(
                f"it has {path.stat().st_size} bytes, and its header names another"
                " length"
            ),
            try_next=f"rig measure {path} reads what can be recovered of it",
        )
    try:
        reader = pyjls.Reader(utf8_name(Path(foreign_files.checked(path))))
    except (RuntimeError, OSError) as error:
        raise DataError(
            f"{path} is not a readable trace", evidence=str(error)
        ) from error
    try:
        yield reader
    except RuntimeError as error:
        raise DataError(
            f"{path} cannot be read to its end", evidence=str(error)
        ) from error
    finally:
        reader.close()


def about_of(reader: Any) -> dict[str, Any]:
    """Return the metadata that the recorder wrote into a trace; empty for a file of
    another origin."""
    return user_data(reader, ABOUT)


def lengths_of(reader: Any) -> dict[int, int]:
    """Return the number of samples of each signal, without padding for the index;
    RECORDED_SAMPLES where the file has it."""
    known = user_data(reader, LENGTHS)
    lengths = {
        int(signal.signal_id): int(signal.length) for signal in reader.signals.values()
    }
    for signal, length in lengths.items():
        count = known.get(str(signal))
        if isinstance(count, int) and count >= 0:
            lengths[signal] = min(length, count)
    recorded = known.get(str(RECORDED_SAMPLES))
    if isinstance(recorded, int):
        lengths[RECORDED_SAMPLES] = recorded
    return lengths


def user_data(reader: Any, number: int) -> dict[str, Any]:
    """Return user data of the file; empty where there is none, or another program's."""
    contents: dict[str, Any] = {}

    def take(meta: int, data: Any) -> bool:
        with suppress(ValueError, TypeError):
            content = data if isinstance(data, dict) else json.loads(data)
            contents.update(
                content if meta == number and isinstance(content, dict) else {}
            )
        return bool(contents)

    reader.user_data(take)
    return contents


def blocks_of(reader: Any, signal: int, length: int, block: int) -> Iterator[Any]:
    """Yield the samples of a signal, a block at a time."""
    for at in range(0, length, block):
        look()
        yield reader.fsr(signal, at, min(block, length - at))
