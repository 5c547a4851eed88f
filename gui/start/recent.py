# SPDX-License-Identifier: Apache-2.0
"""Recent files as rows: what each is, and whether it is still there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SESSION = "session"
BENCH = "bench file"
TRACE = "trace"
MISSING = "not there"


@dataclass(frozen=True, slots=True)
class RecentRow:
    """A recent path: its name, its kind, and its folder."""

    path: Path
    kind: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name

    @property
    def place(self) -> str:
        """The folder that it lies in, from the user's own where it is in
        there."""
        folder = self.path.parent
        try:
            return str(Path("~") / folder.relative_to(Path.home()))
        except (ValueError, RuntimeError):
            return str(folder)


def rows(paths: Iterable[Path]) -> list[RecentRow]:
    """Return the rows of paths, in their order; looks at the disk."""
    return [RecentRow(path, _kind(path)) for path in paths]


def _kind(path: Path) -> str:
    try:
        if path.is_dir():
            return SESSION
        if path.is_file():
            return BENCH if path.suffix == ".toml" else TRACE
    except OSError:
        pass
    return MISSING
