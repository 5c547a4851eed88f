# SPDX-License-Identifier: Apache-2.0
"""Commands that outer folders and other packages bring, found by entry point."""

from __future__ import annotations

from typing import Any

from rig.bench.plugins import installed, loaded

_GROUP = "rig.commands"


def names() -> list[str]:
    """Return the names of these commands."""
    return sorted(entry_point.name for entry_point in installed(_GROUP))


def find(name: str) -> Any:
    """Return the click command of a name, or None. Raise ConfigError if a package that
    it needs is not installed.
    """
    entry_point = next((each for each in installed(_GROUP) if each.name == name), None)
    return entry_point and loaded(entry_point, f"rig {name}", name)
