# SPDX-License-Identifier: Apache-2.0
"""Refuse what cannot be looked at at once: files that are still being written, and
large ones that would have to be copied first.
"""

from __future__ import annotations

import time
from pathlib import Path

from rig.errors import DataError

#: A file that was written to so shortly ago is looked at twice.
_FRESH_S = 5.0
_AGAIN_S = 0.1
#: A larger file is not copied to be looked at: that would take minutes, and as much
#: room.
_MOST_RECOVERED_B = 512_000_000
_MOST_CONVERTED_B = 2_000_000_000


def require_recoverable(path: Path) -> None:
    """Raise DataError for a JLS file without its end that is still being written, or
    too large to be recovered while the user waits.
    """
    about = path.stat()
    if time.time() - about.st_mtime < _FRESH_S:
        time.sleep(_AGAIN_S)
        grown_b = path.stat().st_size - about.st_size
        if grown_b:
            raise DataError(
                f"{path} is still being written",
                evidence=(
                    f"it grew by {grown_b} bytes in {_AGAIN_S} s, and its end is"
                    " missing"
                ),
                try_next="open it when the recording is over",
            )
    if about.st_size > _MOST_RECOVERED_B:
        raise DataError(
            f"{path} was not closed properly",
            evidence=(
                f"its end is missing; what is left of it is {_gigabytes(about.st_size)}"
            ),
            try_next=(
                f"rig measure {path} --whole recovers it into a temporary folder, which"
                " takes time and as much room; or open it in the program that recorded"
                " it, which repairs it"
            ),
        )


def require_convertible(path: Path) -> None:
    """Raise DataError for a file that is too large to be converted while the user
    waits."""
    size_b = path.stat().st_size
    if size_b > _MOST_CONVERTED_B:
        raise DataError(
            f"{path} is too large to be converted for a look at it",
            evidence=(
                f"it has {_gigabytes(size_b)}; in place only JLS of version 2 in single"
                " precision is looked at"
            ),
            try_next=(
                "a part of it, or export it as JLS version 2 from the program it is of"
            ),
        )


def _gigabytes(size_b: int) -> str:
    return f"{size_b / 1e9:.1f} GB"
