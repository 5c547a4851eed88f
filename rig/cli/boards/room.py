# SPDX-License-Identifier: Apache-2.0
"""Whether a part has room for a model and the rest of an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError
from rig.firmware.part import IMAGE_FLASH_B, IMAGE_RAM_B, BoardMemory

#: Inputs that a device may hold at a time, as many as fit; the largest is the core's
#: own limit.
_SLOTS = (4, 2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """A model on a device: bytes of flash, of RAM beside its inputs, of an input and of
    an answer; what its largest parts take, in words; and what to try without room.
    """

    flash_b: int
    memory_b: int
    input_b: int
    answer_b: int
    largest: str
    try_next: str


def fitting(path: Path, needs: Needs, part: BoardMemory) -> int:
    """Return how many inputs the part has room for; raises ConfigError where not even
    one."""
    flash_b = needs.flash_b + IMAGE_FLASH_B
    # Four answers of a stream may wait, or as many as there are slots.
    fixed_b = needs.memory_b + IMAGE_RAM_B + 4 * needs.answer_b
    if part.is_copied:
        fixed_b += flash_b
    ram_b = {slots: fixed_b + slots * needs.input_b for slots in _SLOTS}
    say_plain(
        f"with the rest of the image, about {flash_b:,} of {part.flash_b:,} B of flash"
        f" and about {ram_b[1]:,} of {part.ram_b:,} B of RAM ({part.stated_in})",
    )
    fits = [slots for slots in _SLOTS if ram_b[slots] <= part.ram_b]
    if flash_b <= part.flash_b and fits:
        return fits[0]
    lacking = []
    memories = (("flash", flash_b, part.flash_b), ("RAM", ram_b[1], part.ram_b))
    for name, wanted_b, there_b in memories:
        if wanted_b > there_b:
            lacking.append(f"{name}: about {wanted_b:,} B wanted, {there_b:,} there")
    raise ConfigError(
        f"{path} has no room on this part",
        path="--model",
        evidence=f"{', '.join(lacking)}; {needs.largest}",
        try_next=needs.try_next,
    )
