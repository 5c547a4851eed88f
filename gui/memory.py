# SPDX-License-Identifier: Apache-2.0
"""Settings that the window keeps between two starts: layout, theme, recent files."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.errors import ConfigError
from rig.files import user_folders

#: So many recent files are listed.
_RECENT = 12


def default_path() -> Path:
    """Return the file of the user: under XDG_CONFIG_HOME, or ~/.config; without a home,
    one that can be neither read nor written.
    """
    try:
        return user_folders.config() / "gui.json"
    except ConfigError:
        return Path(os.devnull) / "gui.json"


class Memory:
    """Values by name, in a JSON file; one that cannot be read or written is done
    without."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            values = json.loads(path.read_text("utf-8"))
            if isinstance(values, dict):
                self._values = values

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value; the default where it is absent or of another type."""
        value = self._values.get(name, default)
        return value if default is None or isinstance(value, type(default)) else default

    def set(self, name: str, value: Any) -> None:
        """Remember a value that JSON can hold."""
        if self._values.get(name) == value:
            return
        self._values[name] = value
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_suffix(".partial")
            scratch.write_text(json.dumps(self._values, indent=1), "utf-8")
            scratch.replace(self._path)

    @property
    def recent(self) -> list[Path]:
        """The files and sessions that were open last, the newest first."""
        return [Path(path) for path in self.get("recent", []) if isinstance(path, str)]

    def opened(self, path: Path) -> None:
        """Put a path in front of the recent ones."""
        path = path.absolute()
        others = [each for each in self.recent if each != path]
        self.set("recent", [str(each) for each in [path, *others][:_RECENT]])

    def forget(self, path: Path) -> None:
        """Take a path out of the recent ones."""
        self.set("recent", [str(each) for each in self.recent if each != path])
