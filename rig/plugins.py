# SPDX-License-Identifier: Apache-2.0
"""Find backends, monitors, scenarios and tasks by entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from rig.errors import ConfigError

#: Section of a bench file -> entry point group.
GROUPS = {"sut": "rig.suts", "monitor": "rig.monitors", "scenario": "rig.scenarios", "task": "rig.tasks"}


def names(section: str) -> list[str]:
    """Return the kinds that a section of a bench file may name."""
    return sorted(entry_point.name for entry_point in entry_points(group=GROUPS[section]))


def extra(kind: str) -> str:
    """Return the name of the extra that holds what a kind needs: keysight for keysight_n6705."""
    return kind.partition("_")[0]


def find(section: str, kind: str) -> Any:
    """Return the class behind a kind: it has a frozen dataclass `Settings` and a classmethod `open(settings, table)`."""
    for entry_point in entry_points(group=GROUPS[section]):
        if entry_point.name == kind:
            try:
                return entry_point.load()
            except ImportError as error:
                raise ConfigError(
                    f"needs a package that is not installed: {error.name}",
                    path=f"{section}.{kind}",
                    try_next=f"pip install 'neurorig[{extra(kind)}]'",
                ) from error
    raise ConfigError(
        f"no such kind of {section}", path=f"{section}.{kind}", try_next=f"one of: {', '.join(names(section)) or 'none installed'}"
    )
