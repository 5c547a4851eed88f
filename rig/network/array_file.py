# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers in files that numpy.save wrote."""

from __future__ import annotations

import os
import re
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.files import foreign_files
from rig.network.trains import UNREADABLE

_TRY = "numpy.save(FILE, ARRAY)"
_OF_TEXT = 'numpy.save(FILE, numpy.loadtxt(TEXT, delimiter=","))'
_OF_ARCHIVE = "numpy.save(FILE, numpy.load(ARCHIVE)[NAME])"
_MAGIC = np.lib.format.MAGIC_PREFIX
_ARCHIVE = b"PK\x03\x04"
_TEXT = re.compile(rb"[\t\r\n\x20-\x7e]+")
#: So many bytes of a file that is none are shown.
_SHOWN_B = 20


class NoArrayError(ValueError):
    """A file is no .npy file of numbers; the text says what it is.

    `try_next` says how to write one.
    """

    def __init__(self, what: str, try_next: str = _TRY) -> None:
        super().__init__(what)
        self.try_next = try_next


def read(path: Path) -> Any:
    """Return the array in a .npy file; raises FileNotFoundError, DataError for a path
    that is no regular file, and NoArrayError for a file that holds no array of numbers
    or needs code to be read.
    """
    with foreign_files.opened(path) as stream:
        _require_magic(stream)
        try:
            values = np.load(stream, allow_pickle=False)
        except UNREADABLE as error:
            raise NoArrayError(_why_unread(stream)) from error
    if values.dtype.kind not in "fiub":
        raise NoArrayError(_of_type(values.dtype))
    return values


def array_of(path: Path) -> Any:
    """Return the array in a file that a user names; raises DataError."""
    try:
        return read(path)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist", try_next=_TRY) from error
    except NoArrayError as error:
        raise DataError(
            f"{path} is no .npy file of numbers",
            evidence=str(error),
            try_next=error.try_next,
        ) from error


def _require_magic(stream: BufferedReader) -> None:
    """Refuse a file that does not begin as a .npy file does; go back to its start."""
    start = stream.read(_SHOWN_B)
    stream.seek(0)
    if start.startswith(_MAGIC):
        return
    if not start:
        raise NoArrayError("it is empty")
    if start.startswith(_ARCHIVE):
        raise NoArrayError("it is an archive, as a .npz file is", _OF_ARCHIVE)
    if _TEXT.fullmatch(start):
        text = start.decode("ascii")
        raise NoArrayError(f"it is a text that begins with {text!r}", _OF_TEXT)
    raise NoArrayError(
        f"it begins with the bytes {start[: len(_MAGIC)].hex(' ')},"
        f" a .npy file with {_MAGIC.hex(' ')}"
    )


def _why_unread(stream: BufferedReader) -> str:
    """Return why NumPy reads no array from a file that begins as a .npy file does."""
    stream.seek(0)
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            reader = np.lib.format.read_array_header_2_0
        shape, _, kind = reader(stream)
    except UNREADABLE:
        return "its header cannot be read"
    if kind.hasobject:
        return _of_type(kind)
    size_b = os.fstat(stream.fileno()).st_size
    return f"its header states an array {shape} of {kind}, it has {size_b:,} bytes"


def _of_type(kind: np.dtype[Any]) -> str:
    if kind.hasobject:
        return "it holds objects of Python, which would need code to be read"
    return f"it holds values of the type {kind}"
