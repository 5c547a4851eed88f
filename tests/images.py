# SPDX-License-Identifier: Apache-2.0
"""Linked programs of a few bytes, and programs that stand in for flashing tools."""

from __future__ import annotations

import shlex
import struct
from collections.abc import Sequence
from pathlib import Path

_HEADER_B = 52
_SECTION_B = 40
_ARM = 40
_SECTIONS_AT = 0x100
_NAMES_AT = 0x1A0
_BOARD_AT = 0x1C0
_DATA_AT = 0x200


def elf(board: str = "", address: int = 0x08000000, stored: bytes = bytes(8)) -> bytes:
    """Return an executable for a 32-bit Arm, with one segment; `board` is its name in a
    section, as a build of the shared port leaves it.
    """
    length_b = len(stored)
    program = _words([1, _DATA_AT, address, address, length_b, length_b, 5, 4])
    names = b"\0.nr_board\0.shstrtab\0"
    name = board.encode() + b"\0"
    sections = bytes(_SECTION_B)
    sections += _words([1, 1, 0, 0, _BOARD_AT, len(name), 0, 0, 1, 0])
    sections += _words([11, 3, 0, 0, _NAMES_AT, len(names), 0, 0, 1, 0])
    identification = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    has_names = bool(board)
    sections_at = _SECTIONS_AT * has_names
    kind = struct.pack("<2H", 2, _ARM)
    places = _words([1, address, _HEADER_B, sections_at, 0])
    sizes = (_HEADER_B, 32, 1, _SECTION_B, 3 * has_names, 2 * has_names)
    header = identification + kind + places + struct.pack("<6H", *sizes)
    parts = {0: header + program}
    if board:
        parts |= {_SECTIONS_AT: sections, _NAMES_AT: names, _BOARD_AT: name}
    content = bytearray(_DATA_AT)
    for at, part in parts.items():
        content[at : at + len(part)] = part
    return bytes(content) + stored


def _words(words: Sequence[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def fake_tool(folder: Path, name: str, code: int = 0, says: str = "") -> Path:
    """Put a program into `folder` that adds its arguments to NAME.args, one a line,
    prints a text, and ends with `code`; return the path of NAME.args.
    """
    folder.mkdir(exist_ok=True)
    arguments = folder / f"{name}.args"
    tool = folder / name
    tool.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >>{arguments}\n'
        f"printf '%s\\n' {shlex.quote(says)}\nexit {code}\n",
        encoding="utf-8",
    )
    tool.chmod(0o755)
    return arguments
