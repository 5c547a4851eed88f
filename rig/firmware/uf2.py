# SPDX-License-Identifier: Apache-2.0
"""UF2, the files that a board takes on its USB drive (github.com/microsoft/uf2): blocks
of 512 bytes, each with a page of flash, its address, and the family of chips.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from rig.errors import ConfigError, did_you_mean
from rig.firmware.elf import Segment

BLOCK_B = 512
_PAGE_B = 256
_SECTOR_B = 4096
_HEADER = struct.Struct("<8I")
_END = struct.Struct("<I")
_MAGIC = (0x0A324655, 0x9E5D5157, 0x0AB16F30)
_HAS_FAMILY = 0x2000


@dataclass(frozen=True, slots=True)
class Uf2Family:
    """A family of chips: its number in each block, and the name of the board that
    stands in INFO_UF2.TXT on its drive.
    """

    number: int
    board_id: str


#: By the names that picotool has of them.
FAMILIES = {
    "rp2040": Uf2Family(0xE48BFF56, "RPI-RP2"),
    "rp2350-arm-s": Uf2Family(0xE48BFF59, "RP2350"),
    "rp2350-riscv": Uf2Family(0xE48BFF5A, "RP2350"),
}


def family(name: str) -> Uf2Family:
    """Return a family by its name; raise ConfigError where there is none."""
    if name in FAMILIES:
        return FAMILIES[name]
    raise ConfigError(
        f"there is no UF2 family {name}" if name else "uf2 wants to know the family",
        path="--target",
        try_next=f"{did_you_mean(name, FAMILIES)}one of {', '.join(FAMILIES)}",
    )


def uf2(segments: Iterable[Segment], chips: Uf2Family) -> bytes:
    """Return segments as a UF2 file, in whole pages, zero between the segments.

    The RP2040's boot ROM erases by the number of a block: pages are missing at no place
    of a sector that holds some, but at the end.
    """
    pages: dict[int, bytearray] = {}
    for segment in segments:
        start = segment.address // _PAGE_B * _PAGE_B
        for address in range(start, segment.end, _PAGE_B):
            first = max(address, segment.address)
            last = min(address + _PAGE_B, segment.end)
            page = pages.setdefault(address, bytearray(_PAGE_B))
            taken = segment.data[first - segment.address : last - segment.address]
            page[first - address : last - address] = taken
    end = max(pages, default=0)
    for sector in {address // _SECTOR_B * _SECTOR_B for address in pages}:
        for address in range(sector, min(sector + _SECTOR_B, end), _PAGE_B):
            pages.setdefault(address, bytearray(_PAGE_B))
    blocks = []
    for number, address in enumerate(sorted(pages)):
        place = (_HAS_FAMILY, address, _PAGE_B, number, len(pages), chips.number)
        body = _HEADER.pack(*_MAGIC[:2], *place) + pages[address]
        blocks.append(body.ljust(BLOCK_B - _END.size, b"\0") + _END.pack(_MAGIC[2]))
    return b"".join(blocks)
