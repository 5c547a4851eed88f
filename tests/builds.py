# SPDX-License-Identifier: Apache-2.0
"""The firmware, built in its own folder by one process at a time: tests run side by side, and two
`make` would mix their files.
"""

from __future__ import annotations

import fcntl
import subprocess
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

FIRMWARE = ROOT / "firmware"
BUILD = FIRMWARE / "build"


@cache
def built(target: str) -> Path:
    """Make `posix`, `host` or `emulated`; returns the folder of builds."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file
        done = subprocess.run(
            ["make", "-s", "-C", str(FIRMWARE), target], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    return BUILD
