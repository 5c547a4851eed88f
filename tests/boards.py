# SPDX-License-Identifier: Apache-2.0
"""The emulated boards and their images, built on demand. A missing tool is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builds import built, built_with
from tests.conftest import ROOT

#: The folder of npm's packages: the emulator of the Pico, playwright-core.
NODE_MODULES = ROOT / "build" / "node" / "node_modules"
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
    return built("emulated") / emulated(port) / f"{workload}.elf"


def emulated(port: str) -> str:
    """Return the folder below build/ of the images that QEMU runs."""
    return f"{port}-emulated" if port == "stm32f405" else port


def pico(workload: str) -> Path:
    """Return the image of a workload for the Pico; skip the test where a tool is
    missing.
    """
    for tool in ("make", "arm-none-eabi-gcc"):
        if shutil.which(tool) is None:
            pytest.skip(
                f"{tool} is missing (Debian: apt-get install {_PACKAGES[tool]})"
            )
    return built_with("boards", "WORKLOADS=null asc") / "pico" / f"{workload}.elf"


def need_rp2040js(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let node find rp2040js where `make build/node` puts it; skip the test where it
    did not.
    """
    if shutil.which("node") is None:
        pytest.skip("node is missing (Debian: apt-get install nodejs npm)")
    if not (NODE_MODULES / "rp2040js").is_dir():
        pytest.skip("rp2040js is missing (make build/node/node_modules)")
    monkeypatch.setenv("NODE_PATH", str(NODE_MODULES))
