# SPDX-License-Identifier: Apache-2.0
"""Compilers, emulators and flashing tools: found on PATH, or named as missing with the
package that has them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rig.errors import BenchError, DeviceNotFound

#: Package or command that installs each program; packages are those of Debian.
PACKAGES = {
    "make": "apt-get install make",
    "cc": "apt-get install gcc libc6-dev",
    "arm-none-eabi-gcc": (
        "apt-get install gcc-arm-none-eabi; elsewhere: Arm GNU Toolchain, arm-none-eabi"
    ),
    "riscv64-unknown-elf-gcc": "apt-get install gcc-riscv64-unknown-elf",
    "avr-gcc": "apt-get install gcc-avr avr-libc; elsewhere: Arduino brings it",
    "qemu-system-arm": "apt-get install qemu-system-arm; elsewhere: QEMU",
    "node": "apt-get install nodejs; elsewhere: nodejs.org",
    "openocd": "apt-get install openocd",
    "st-flash": "apt-get install stlink-tools",
    "pyocd": "pip install pyocd",
    "probe-rs": "probe.rs has installers",
    "picotool": "Raspberry Pi's Pico SDK has it; the tool uf2 needs no program",
    "esptool": "pip install esptool",
    "bossac": "Arduino brings it with its boards of mbed; Debian's knows no nRF52840",
}

#: Words that make a program print its version, none for one that cannot.
VERSION_WORDS = {"picotool": ("version",), "esptool": ("version",), "bossac": ()}


def find(program: str) -> Path:
    """Return the path of `program`; raise DeviceNotFound with the package that has
    it."""
    path = shutil.which(program)
    if path is None:
        raise _missing(f"{program} is not installed", [program])
    return Path(path)


def find_first(programs: Iterable[str]) -> str:
    """Return the first of `programs` that is installed; raise DeviceNotFound with all
    their packages.
    """
    programs = list(programs)
    for program in programs:
        if shutil.which(program):
            return program
    raise _missing(f"none of {', '.join(programs)} is installed", programs)


def _missing(cause: str, programs: Iterable[str]) -> DeviceNotFound:
    hints = [
        f"{program}: {PACKAGES[program]}" for program in programs if program in PACKAGES
    ]
    return DeviceNotFound(
        cause,
        evidence="looked for on PATH",
        try_next="; or ".join(hints) or "install it, or add its folder to PATH",
        see="program-missing",
    )


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
        """The bytes of all variables."""
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
