# SPDX-License-Identifier: Apache-2.0
"""Printed screens beside the tests, so that a person sees each change of one in the diff.

`RIG_SCREENS=write` in the environment writes them again; look at them before you commit.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

from rig.cli.printed.terminal import Terminal

WIDTHS = (80, 100, 140)


def screen(show: Callable[[Terminal], None], width: int, *, piped: bool = False) -> str:
    """Return what is printed in a terminal of a width, or for a program that reads it, without
    colours or trailing blanks.
    """
    out = io.StringIO()
    show(Terminal(file=out, width=width, force_terminal=not piped, color_system=None))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n"


def compare(path: Path, found: str) -> None:
    """Compare a screen with the stored one."""
    if os.environ.get("RIG_SCREENS") == "write":
        path.write_text(found, encoding="utf-8")
    assert path.exists(), f"{path.name} is new: RIG_SCREENS=write"
    assert found == path.read_text(encoding="utf-8"), "look at it, then RIG_SCREENS=write"
