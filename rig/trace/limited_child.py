# SPDX-License-Identifier: Apache-2.0
"""A process that reads a file which may be damaged, as its reader in C may crash or
never end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from rig.host import processor_limit
from rig.host.stop import LOOK_S, look


def run(
    arguments: Sequence[str], asked: bytes, limit_s: float
) -> subprocess.CompletedProcess[bytes]:
    """Run Python with these arguments, give it `asked`, and return what became of it.

    The program applies `limit_s` of processor time itself
    (rig/host/processor_limit.py). Raises subprocess.TimeoutExpired where it is late by
    the clock, and Stopped; it is killed then. Ctrl-C is for this process alone: a
    reader that it ends would be taken for one that failed.
    """
    # -P: no import from the current folder, which may be untrusted.
    command = [sys.executable, "-P", *arguments]
    end_s = time.monotonic() + processor_limit.wall_s(limit_s)
    pipe = subprocess.PIPE
    unsent: bytes | None = asked
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as child:
        try:
            while True:
                left_s = end_s - time.monotonic()
                try:
                    stdout, stderr = child.communicate(
                        unsent, max(min(left_s, LOOK_S), 0.0)
                    )
                    return subprocess.CompletedProcess(
                        command, child.returncode, stdout, stderr
                    )
                except subprocess.TimeoutExpired:
                    unsent = None
                    look()
                    if left_s <= LOOK_S:
                        raise
        finally:
            child.kill()
