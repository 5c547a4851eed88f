# SPDX-License-Identifier: Apache-2.0
"""The emulated boards and their images, built on demand. A missing tool is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builds import built

#: Folder of the port -> name of the machine in QEMU.
BOARDS = {"mps2": "mps2-an385", "stm32f405": "netduinoplus2", "microbit": "microbit"}
_PACKAGES = {
    "make": "make",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}


def image(port: str, workload: str) -> Path:
    """Return the image of a workload for a port; skip the test where a tool is not
    installed."""
    for tool, package in _PACKAGES.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing (Debian: apt-get install {package})")
    return built("emulated") / port / f"{workload}.elf"
