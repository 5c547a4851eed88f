# SPDX-License-Identifier: Apache-2.0
"""Text that people write: a file that is larger than any of its kind is not read to its end."""

from __future__ import annotations

import errno
import io
from pathlib import Path

from rig import foreign_files

#: More than a bench, a list of labels, or a calibration has.
LARGEST_B = 1 << 24


def read_block(path: Path) -> bytes:
    """Return the content of a file; raises OSError, also where it is too large, and
    DataError where it is no regular file.
    """
    with foreign_files.opened(path) as stream:
        block = stream.read(LARGEST_B + 1)
    if len(block) > LARGEST_B:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST_B} bytes", str(path))
    return block


def read(path: Path, *, encoding: str = "utf-8", newline: str | None = None) -> str:
    """Return the text of a file; raises OSError, also where it is too large, and UnicodeError."""
    with io.TextIOWrapper(io.BytesIO(read_block(path)), encoding, newline=newline) as stream:
        return stream.read()
