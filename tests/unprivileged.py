# SPDX-License-Identifier: Apache-2.0
"""Commands for which permissions count, also where the tests run as root, who may read
every file: the command then runs without the capabilities that let root.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

#: Another account than root.
STRANGER = 65534
_IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
_DROPPED = "-dac_override,-dac_read_search"
TOOL = ("setpriv", "--bounding-set", _DROPPED) if _IS_ROOT else ()
RIG = (*TOOL, str(Path(sys.executable).with_name("rig")))
#: Root without setpriv can give up no capability.
needed = pytest.mark.skipif(
    sys.platform == "win32" or (_IS_ROOT and shutil.which("setpriv") is None),
    reason="no account at hand for which permissions count",
)


def given_away(folder: Path) -> None:
    """Let a folder and all that lies in it belong to another account, which lets others
    read and not write it; without being root, be its owner who may not write it either.
    """
    for path in (folder, *folder.rglob("*")):
        if _IS_ROOT:
            os.chown(path, STRANGER, STRANGER)
        path.chmod(
            0o755 if path.is_dir() and _IS_ROOT else 0o555 if path.is_dir() else 0o444
        )
