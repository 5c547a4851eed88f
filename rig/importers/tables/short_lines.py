# SPDX-License-Identifier: Apache-2.0
"""Lines of a table: one that has no end is refused before it takes all memory."""

from __future__ import annotations

from pathlib import Path

from rig.errors import DataError
from rig.files import foreign_files

#: No row of a table is longer. A line twice as long has a whole block without an end of
#: line.
LONGEST_B = 1 << 20


def require(path: Path) -> None:
    """Raise DataError where a line of a file does not end."""
    with foreign_files.opened(path) as stream:
        while block := stream.read(LONGEST_B):
            if len(block) == LONGEST_B and b"\n" not in block and b"\r" not in block:
                raise DataError(
                    f"{path} has a line that does not end",
                    evidence=f"{LONGEST_B} bytes without an end of line",
                    try_next=(
                        "a text table; was the file cut off, or is it of another"
                        " format?"
                    ),
                )
