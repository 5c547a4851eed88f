# SPDX-License-Identifier: Apache-2.0
"""The folders of the user: for data that can be made again, for settings, for installed
SDKs.

An account of a cluster or a container may have no home: HOME is unset and no user has
its number.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from rig.errors import ConfigError

#: Names another folder than the user's own for data that can be made again.
CACHE_VARIABLE = "NEURORIG_CACHE"


def cache() -> Path:
    """Return the folder of data that can be made again; ConfigError where there is no
    home."""
    return _base("XDG_CACHE_HOME", ".cache") / "neurorig"


def remembered(kind: str) -> Path:
    """Return the folder of data that commands keep about sessions, made where it is
    missing; raises OSError, and ConfigError where there is no home, or where other
    users could write into the folder: such data pass for the rig's own.
    """
    given = os.environ.get(CACHE_VARIABLE)
    folder = (Path(given) if given else cache()) / kind
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        about = folder.stat()
        if about.st_uid != os.getuid() or about.st_mode & 0o022:
            raise ConfigError(f"{folder} is open to other users")
    return folder


def config() -> Path:
    """Return the folder of settings; ConfigError where there is no home."""
    return _base("XDG_CONFIG_HOME", ".config") / "neurorig"


def data() -> Path:
    """Return the folder of installed SDKs; ConfigError where there is no home."""
    return _base("XDG_DATA_HOME", ".local/share") / "neurorig"


def meeting_file(what: str) -> Path:
    """Return the file where a worker and a monitor of this user meet."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    if sys.platform == "win32":  # where each user has a folder of temporary files
        return folder / f"neurorig-{what}.jsonl"
    return folder / f"neurorig-{what}-{os.getuid()}.jsonl"


def home() -> Path | None:
    """Return the home of the user, None where there is none."""
    folder = expanded("~")
    return folder if folder.is_absolute() else None


def expanded(path: Path | str) -> Path:
    """Return a path with the home of its user in place of `~`; it stays as it is, as in
    a shell, where there is no such user or home.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises RuntimeError


def _base(variable: str, below: str) -> Path:
    stated = os.environ.get(variable)
    if stated:
        return Path(stated)
    place = home()
    if place is None:
        raise ConfigError(
            "this account has no home folder",
            evidence=(
                f"neither HOME nor {variable} is set, and the user has no entry in"
                " passwd"
            ),
            try_next=f"set {variable} to a folder that you may write to",
        )
    return place / below
