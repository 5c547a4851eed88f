# SPDX-License-Identifier: Apache-2.0
"""Files of JSON objects, one a line, each a dataclass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from rig.errors import DataError
from rig.files import foreign_files, typed

T = TypeVar("T")


def read(path: Path, kind: type[T]) -> list[T]:
    """Read the lines of a file as values of `kind`; raises DataError for a line of
    another form, and FileNotFoundError.

    A killed process may leave half a line at the end, which is left out.
    """
    lines = foreign_files.read_text(path, errors="replace").split("\n")[:-1]
    try:
        return [typed.from_json(kind, json.loads(line), str(path)) for line in lines]
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} has a line of another form", evidence=str(error)
        ) from error
