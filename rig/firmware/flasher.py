# SPDX-License-Identifier: Apache-2.0
"""The command lines of the tools that write an image to a board."""

from __future__ import annotations

from pathlib import Path

from rig.errors import ConfigError

TOOLS = ("openocd", "st-flash", "pyocd")
_EXAMPLES = {"openocd": "--target target/stm32f4x.cfg", "pyocd": "--target stm32f405rg"}


def command(tool: str, image: Path, target: str, interface: str) -> list[str]:
    """Return the words that make `tool` write and verify `image` and reset the board;
    raise ConfigError where one is missing.

    `target` is OpenOCD's target file or pyOCD's name of the part; st-flash asks the
    board. `interface` is OpenOCD's file of the adapter.
    """
    if tool in _EXAMPLES and not target:
        raise ConfigError(
            f"{tool} wants to know the part",
            path="--target",
            try_next=f"for example {_EXAMPLES[tool]}",
        )
    if tool == "openocd":
        # Braces: in OpenOCD's language a word with spaces or brackets in it.
        return [
            tool,
            "-f",
            interface,
            "-f",
            target,
            "-c",
            f"program {{{image}}} verify reset exit",
        ]
    if tool == "pyocd":
        return [tool, "flash", "--target", target, str(image)]
    hexadecimal = image.with_suffix(".hex")  # it names its address, a .bin does not
    if not hexadecimal.exists():
        raise ConfigError(
            f"st-flash wants {hexadecimal}",
            try_next=f"arm-none-eabi-objcopy -O ihex {image} {hexadecimal}",
        )
    return [tool, "--reset", "--format", "ihex", "write", str(hexadecimal)]
