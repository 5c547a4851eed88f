# SPDX-License-Identifier: Apache-2.0
"""Needs of the window beside its packages: libraries of the system and a display."""

from __future__ import annotations

import os
import sys

#: What helps where Qt's libraries do not load.
LIBRARIES_TRY = (
    "pip install 'neurorig[gui]'; on Debian also apt-get install libegl1"
    " libgl1 libfontconfig1 libxkbcommon0 libdbus-1-3"
)
#: What helps where Qt finds no display.
DISPLAY_TRY = (
    "a desktop session, or ssh -X; on Debian apt-get install"
    " libxcb-cursor0. rig run, rig check and rig report need none"
)


def display() -> str | None:
    """Return the display that a window would open on, None where there is none."""
    chosen = os.environ.get("QT_QPA_PLATFORM")
    if chosen:
        return f"QT_QPA_PLATFORM={chosen}"
    if sys.platform in ("win32", "darwin"):
        return "of this computer"
    for variable in ("WAYLAND_DISPLAY", "DISPLAY"):
        if value := os.environ.get(variable):
            return f"{variable}={value}"
    return None
