# SPDX-License-Identifier: Apache-2.0
"""The memory of the part that a project is for, as its linker script states it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError

#: Size of an image without its network, measured on the three Cortex-M ports (gcc
#: 12.2, kernels at -O2): up to 23.3 kB of flash on M3 and M4, 27.2 kB on M0; 6.8 to
#: 8.9 kB of RAM, the stack with it.
IMAGE_FLASH_B = 28_000
IMAGE_RAM_B = 9_000

_REGION = re.compile(r"^\s*(FLASH|RAM)\b.*\bLENGTH\s*=\s*(\d+)\s*([KM]?)", re.MULTILINE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


@dataclass(frozen=True, slots=True)
class BoardMemory:
    """Bytes of flash and RAM, and the linker script that says so."""

    flash_b: int
    ram_b: int
    stated_in: Path


def part(folder: Path, settings: Sequence[str] = ()) -> BoardMemory | None:
    """Return the part of a project, `settings` being those of make; None where no
    linker script states one, as for a process. Raises ConfigError for a script without
    FLASH and RAM.
    """
    board = next(
        (one.partition("=")[2] for one in settings if one.startswith("BOARD=")), "*"
    )
    found = sorted(folder.glob("ports/*/memory.ld")) or sorted(
        folder.glob(f"boards/{board}/memory.ld")
    )
    if not found:
        return None
    if len(found) > 1:
        # The Makefile of the port has a board of its own where none is named.
        chosen = re.search(
            r"^BOARD \?= (\S+)", (folder / "Makefile").read_text("utf-8"), re.M
        )
        found = [
            path for path in found if chosen and path.parent.name == chosen[1]
        ] or found
    regions = {
        name: int(size) * _UNITS[unit]
        for name, size, unit in _REGION.findall(found[0].read_text(encoding="utf-8"))
    }
    if sorted(regions) != ["FLASH", "RAM"]:
        raise ConfigError(
            f"{found[0]} states no LENGTH of FLASH and RAM",
            try_next="FLASH (rx) : ... LENGTH = 1M",
        )
    return BoardMemory(regions["FLASH"], regions["RAM"], found[0])
