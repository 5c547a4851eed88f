# SPDX-License-Identifier: Apache-2.0
"""The lines of uart.log: written lines are read again, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import DataError
from rig.interfaces.recount import WireBlock
from rig.store import wire_lines


def test_answers_are_logged_whole_and_long_blocks_of_the_host_by_their_beginning(
    tmp_path: Path,
) -> None:
    blocks = [
        WireBlock(-0.5, "tx", b"name%"),
        WireBlock(0.25, "rx", bytes(1000)),
        WireBlock(1.0, "tx", bytes(1000)),
    ]
    path = tmp_path / "uart.log"
    path.write_text("".join(map(wire_lines.text, blocks)) + "1.5 rx 1")
    read = wire_lines.read(path)
    assert read[:2] == blocks[:2]
    assert read[2].shortened and 0 < len(read[2].content) < 1000
    assert wire_lines.read(tmp_path / "none") == []


@pytest.mark.parametrize(
    "line",
    ["1.0 tx 1 00", "1.000000 up 1 00", "1.000000 rx 2 00", "1.000000 tx 1 00...", "x"],
)
def test_a_line_that_is_none_is_refused_with_its_number(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "uart.log"
    path.write_text(wire_lines.text(WireBlock(0.0, "rx", b"1")) + line + "\n")
    with pytest.raises(DataError, match="line 2 is no block"):
        wire_lines.read(path)
