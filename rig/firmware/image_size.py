# SPDX-License-Identifier: Apache-2.0
"""What an image of a firmware project takes of flash and RAM, as its toolchain says."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig.errors import BenchError


@dataclass(frozen=True, slots=True)
class ImageSize:
    """An image, and the bytes of its code and constants, of its variables with a value,
    and of those without.
    """

    path: Path
    text_b: int
    data_b: int
    bss_b: int

    @property
    def flash_b(self) -> int:
        """The stored bytes, including the initial values of variables."""
        return self.text_b + self.data_b

    @property
    def ram_b(self) -> int:
        """Return what variables take."""
        return self.data_b + self.bss_b


def image_size(size: Path, folder: Path, image: Path) -> ImageSize:
    """Ask the toolchain's `size` what an image takes; raises BenchError where it does
    not say."""
    done = subprocess.run([size, image], capture_output=True, text=True, check=False)
    cells = done.stdout.splitlines()[-1].split() if done.stdout else []
    if done.returncode or not all(map(str.isdecimal, cells[:3])) or len(cells) < 3:
        raise BenchError(
            f"{size.name} does not say how large {image} is",
            evidence=done.stderr or done.stdout,
        )
    return ImageSize(image.relative_to(folder), *map(int, cells[:3]))
