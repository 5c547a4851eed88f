# SPDX-License-Identifier: Apache-2.0
"""Linked programs of 32-bit processors: the bytes that they store, and the board that
they were built for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError, unread

#: Section that no memory holds: the name of the board, or BOARD-emulated
#: (firmware/ports/cortex_m/main.c).
_BOARD_SECTION = b".nr_board"
_MAGIC = b"\x7fELF\x01\x01"  # 32 bits, little end first
_HEADER = struct.Struct("<16x2xH4x4x2I4x2x4H2x")
_SEGMENT = struct.Struct("<3I4xI12x")
_SECTION = struct.Struct("<I12x2I16x")
_NAMES_AT = struct.Struct("<50xH")
_LOAD = 1
_NAME_MAX_B = 64
#: No part of a board that the rig knows has more flash.
_LARGEST_B = 1 << 26


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes, and the address at which they are stored."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class ElfImage:
    """The stored parts of a linked program, in the order of addresses; the board that
    it was built for, empty where it names none.
    """

    segments: tuple[Segment, ...]
    board: str

    def flat(self) -> Segment:
        """Return it as one segment, as a .bin file has it: gaps are 0xFF, as erased
        flash. Raises ConfigError for an image without a part, or with distant ones.
        """
        if not self.segments:
            raise ConfigError(
                "the image is empty",
                try_next="rig firmware build DIR makes images",
            )
        first = self.segments[0].address
        if self.segments[-1].end - first > _LARGEST_B:
            raise ConfigError(
                "the image lies in memories that are far apart",
                evidence=f"from {first:#010x} to {self.segments[-1].end:#010x}",
                try_next="a tool that takes an ELF file: openocd, pyocd, probe-rs",
            )
        data = bytearray()
        for segment in self.segments:
            data += b"\xff" * (segment.address - first - len(data))
            data += segment.data
        return Segment(first, bytes(data))


def read_elf(path: Path) -> ElfImage:
    """Read an image; raise ConfigError where it is no linked program of a board."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_B)
    except OSError as error:
        raise unread(error, path) from error
    if not content.startswith(_MAGIC):
        raise ConfigError(
            f"{path} is a program of this computer, or of no board",
            evidence="no ELF of 32 bits, little end first",
            try_next="an image below build/BOARD; rig firmware boards lists boards",
        )
    try:
        segments = sorted(_segments(content), key=lambda segment: segment.address)
        return ElfImage(tuple(segments), _board(content))
    except (struct.error, ValueError) as error:
        raise ConfigError(
            f"{path} is damaged",
            evidence=str(error),
            try_next="rig firmware build DIR makes it again",
        ) from error


def _segments(content: bytes) -> Iterator[Segment]:
    _, at_b, _, size_b, count, _, _ = _HEADER.unpack_from(content)
    for number in range(count):
        place = at_b + number * size_b
        kind, offset_b, _, address, stored_b = struct.unpack_from("<5I", content, place)
        if kind == _LOAD and stored_b:
            yield Segment(address, _part(content, offset_b, stored_b))


def _board(content: bytes) -> str:
    _, _, at_b, _, _, size_b, count = _HEADER.unpack_from(content)
    (names_number,) = _NAMES_AT.unpack_from(content)
    if not names_number:
        return ""
    names_at = at_b + names_number * size_b
    _, names_b, names_length_b = _SECTION.unpack_from(content, names_at)
    names = _part(content, names_b, names_length_b)
    for number in range(count):
        name_b, offset_b, length_b = _SECTION.unpack_from(
            content, at_b + number * size_b
        )
        if names[name_b:].partition(b"\0")[0] == _BOARD_SECTION:
            text = _part(content, offset_b, min(length_b, _NAME_MAX_B))
            return text.partition(b"\0")[0].decode("ascii")
    return ""


def _part(content: bytes, offset_b: int, length_b: int) -> bytes:
    part = content[offset_b : offset_b + length_b]
    if len(part) < length_b:
        raise ValueError(f"it ends at {len(content)} bytes, in a part of it")
    return part
