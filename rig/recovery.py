# SPDX-License-Identifier: Apache-2.0
"""What a killed process left of a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rig.errors import DataError

_LIMIT_S = 600


def recover(partial: Path, into: Path) -> None:
    """Copy what a killed process left of a trace into a new, readable file; raises DataError when nothing can be read.

    Runs in a subprocess, and never on the original: the reader of an unclosed JLS file may crash or rewrite it.
    """
    # The copy may complain of the torn end although it is complete: what counts is that the copy opens.
    tried = "try:\n    pyjls.copy(sys.argv[1], sys.argv[2])\nexcept RuntimeError:\n    pass\n"
    code = f"import sys, pyjls\n{tried}pyjls.Reader(sys.argv[2]).close()"
    command = [sys.executable, "-P", "-c", code, str(partial), str(into)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise DataError(f"{partial} cannot be recovered", evidence=f"not done after {_LIMIT_S} s") from error
    if done.returncode:
        raise DataError(f"{partial} cannot be recovered", evidence=f"exit code {done.returncode}: {done.stderr[-200:]}")
