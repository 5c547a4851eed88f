# SPDX-License-Identifier: Apache-2.0
"""The firmware, built in its own folder by one process at a time: tests run side by
side, and two `make` would mix their files. What one run of the tests has built, the
next one finds.
"""

from __future__ import annotations

import fcntl
import re
from functools import cache
from pathlib import Path

from tests.conftest import ROOT
from tests.programs import captured

FIRMWARE = ROOT / "firmware"
BUILD = FIRMWARE / "build"


def make(*words: str | Path) -> str:
    """Run make with targets and settings in the firmware's folder; return its output."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file
        done = captured(["make", "-s", "-C", str(FIRMWARE), *map(str, words)])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def built(target: str) -> Path:
    """Make `posix`, `host` or `emulated`; returns the folder of builds."""
    make(target)
    return BUILD


@cache
def built_with(target: str, *settings: str, folder: str = ".") -> Path:
    """Make a target of a folder with settings, whose file names do not contain them;
    returns the folder of these builds.
    """
    build = BUILD / re.sub(r"\W+", "-", " ".join(settings))
    make("-C", folder, f"BUILD={build}", *settings, target)
    return build
