# SPDX-License-Identifier: Apache-2.0
"""The lines of uart.log, written and read: a block of bytes that passed the line to the
device."""

from __future__ import annotations

import re
from pathlib import Path

from rig.errors import DataError
from rig.files import foreign_files
from rig.interfaces.recount import WireBlock

#: Bytes of the device are logged whole: `rig check` decodes it again. Longer blocks of
#: the host carry payloads, and are logged by their length and beginning.
_SENT_SHOWN_B = 160
_LINE = re.compile(r"(-?\d{1,12}\.\d{6}) (tx|rx) (\d{1,9}) ((?:[0-9a-f]{2})*)(\.\.\.)?")


def text(block: WireBlock) -> str:
    """Return the line of a block: seconds, direction, length in bytes, content."""
    shown = block.content[:_SENT_SHOWN_B] if block.direction == "tx" else block.content
    more = "..." if len(block.content) > len(shown) else ""
    return (
        f"{block.at_s:.6f} {block.direction} {len(block.content)} {shown.hex()}{more}\n"
    )


def read(path: Path) -> list[WireBlock]:
    """Return the blocks of a log; of a file that is not there none. An incomplete last
    line, as a killed process leaves it, is left out; raise DataError for any other that
    is none.
    """
    if not path.exists():
        return []
    lines = foreign_files.read_text(path, errors="replace").split("\n")
    blocks = []
    for number, line in enumerate(lines[:-1], start=1):
        found = _LINE.fullmatch(line)
        content = bytes.fromhex(found[4]) if found else b""
        is_shortened = found is not None and found[5] is not None
        if found is None or (len(content) < int(found[3])) is not is_shortened:
            raise DataError(
                f"{path}, line {number} is no block of the line", evidence=line[:80]
            )
        blocks.append(WireBlock(float(found[1]), found[2], content, is_shortened))
    return blocks
