# SPDX-License-Identifier: Apache-2.0
"""The memory of the part that a project is for, as its linker script states it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError

#: Size of an image without its network, measured on the three Cortex-M ports (gcc
#: 12.2, kernels at -O2): up to 23.3 kB of flash on M3 and M4, 27.2 kB on M0; 6.8 to
#: 8.9 kB of RAM, the stack with it.
IMAGE_FLASH_B = 28_000
IMAGE_RAM_B = 9_000

_REGION = re.compile(
    r"^\s*(FLASH|RAM)\b.*\bLENGTH\s*=\s*(\d+)[ \t]*([KM]?)", re.MULTILINE
)
#: In a linker script: code runs from RAM; all that is stored is loaded there.
_COPIED = 'REGION_ALIAS("CODE", RAM)'
_LOADED = 'REGION_ALIAS("FLASH", RAM)'
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


@dataclass(frozen=True, slots=True)
class BoardMemory:
    """Bytes of flash and RAM, and the linker script that says so; whether code is
    copied to RAM.
    """

    flash_b: int
    ram_b: int
    stated_in: Path
    is_copied: bool = False


def part(folder: Path) -> BoardMemory | None:
    """Return the part of a project; None where no linker script states one, as for a
    process. Raises ConfigError for a script without FLASH and RAM.
    """
    files = sorted(folder.glob("boards/*/memory.ld"))
    if not files:
        return None
    text = files[0].read_text(encoding="utf-8")
    regions = {
        name: int(size) * _UNITS[unit] for name, size, unit in _REGION.findall(text)
    }
    if _LOADED in text and list(regions) == ["RAM"]:
        regions = dict.fromkeys(("FLASH", "RAM"), *regions.values())
    if sorted(regions) != ["FLASH", "RAM"]:
        raise ConfigError(
            f"{files[0]} states no LENGTH of FLASH and RAM",
            try_next="FLASH (rx) : ... LENGTH = 1M",
        )
    is_copied = _COPIED in text
    return BoardMemory(regions["FLASH"], regions["RAM"], files[0], is_copied)
