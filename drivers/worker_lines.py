# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON that a worker appends to a file, followed by the driver of a
monitor."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from rig.errors import BenchError


class Lines(Protocol):
    """Source of the worker's lines."""

    def new(self) -> list[dict[str, Any]]:
        """Return the lines that have come since."""


class EventsFile:
    """Follows the file that the worker appends to; one that is not there yet has no
    lines. `named_by`: the two settings that name it.
    """

    def __init__(self, path: Path, named_by: str) -> None:
        self._path = path
        self._named_by = named_by
        self._at = 0
        self._rest = b""
        self._inode = 0

    def new(self) -> list[dict[str, Any]]:
        """Return the lines that have come since; those of a new file after those of an
        old one."""
        try:
            with self._path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode or os.fstat(file.fileno()).st_size < self._at:
                    self._inode = inode
                    self._at = 0
                    self._rest = b""
                file.seek(self._at)
                content = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BenchError(
                "the worker's file cannot be read",
                evidence=f"{self._path}: {error.strerror}",
                try_next=f"{self._named_by} name one file",
            ) from error
        self._at += len(content)
        *whole, self._rest = (self._rest + content).split(b"\n")
        try:
            lines = [json.loads(line) for line in whole]
        except ValueError as error:
            raise self._foreign(whole[0]) from error
        if not all(isinstance(line, dict) for line in lines):
            raise self._foreign(whole[0])
        return lines

    def _foreign(self, line: bytes) -> BenchError:
        return BenchError(
            "this file holds no lines of a worker",
            evidence=f"{self._path}: {line[:60]!r}",
            try_next=f"{self._named_by} name one file, which the worker writes",
        )
