# SPDX-License-Identifier: Apache-2.0
"""Isolation of a worker: folders of its own, no pip, and an end for every process it
started.

Vendors' SDKs write into the home folder, call pip when they are imported, and leave
processes running. Their files land in a folder that is deleted with the worker; pip
finds no index; every process that inherits the worker's environment carries its token
and is found and ended by it, also when this process is killed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rig.host.kill_with_parent import TOKEN, KillWithParent, kill_marked

#: What would lead the worker's interpreter to other code than its own.
_REMOVED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "XDG_RUNTIME_DIR",
)
_HOMES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_WROTE_MAX = 20


class Isolation:
    """Folders and environment of one worker; `work` is the folder that it starts in."""

    def __init__(self, further: Mapping[str, str]) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="neurorig-worker-"))
        self._token = secrets.token_hex(16)
        self._keeper: KillWithParent | None = None
        self.work = self._root / "work"
        home = self._root / "home"
        scratch = self._root / "tmp"
        for folder in (self.work, home, scratch):
            folder.mkdir()
        kept = {name: text for name, text in os.environ.items() if name not in _REMOVED}
        for name in _HOMES:
            kept.pop(name, None)
        self.environment = kept | {
            "HOME": str(home),
            "TMPDIR": str(scratch),
            "PYTHONNOUSERSITE": "1",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **further,
            TOKEN: self._token,
        }

    def hold(self, pid: int) -> None:
        """Have the worker ended, and all it started, when this process is gone."""
        self._keeper = KillWithParent(pid, self._token)

    def wrote(self) -> tuple[str, ...]:
        """List the files in its home and working folder, the first of them."""
        files: list[str] = []
        for folder in ("home", "work"):
            paths = sorted((self._root / folder).rglob("*"))
            files += [
                str(path.relative_to(self._root)) for path in paths if path.is_file()
            ]
        return tuple(files[:_WROTE_MAX])

    def end(self) -> None:
        """End every process of the worker, itself among them."""
        kill_marked(self._token)

    def close(self) -> None:
        """Remove the folders; closing twice is allowed."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        shutil.rmtree(self._root, ignore_errors=True)
