# SPDX-License-Identifier: Apache-2.0
"""JSON files of one object, whose first key names their schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from rig.errors import DataError
from rig.files import typed
from rig.store import session_folder

T = TypeVar("T")


def to_json(schema: str, content: Any) -> dict[str, Any]:
    """Convert an object to the JSON tree of its file."""
    return {"schema": schema, **typed.to_json(content)}


def text(schema: str, content: Any) -> str:
    """Write the text of a file: the same object always gives the same bytes."""
    return session_folder.json_text(to_json(schema, content))


def read(path: Path, kind: type[T], schema: str, try_next: str) -> T:
    """Read the object of a file; raise DataError for a file of another schema, with
    what to `try_next`.
    """
    tree: Any = session_folder.read_json(path)
    stated = tree.get("schema") if isinstance(tree, dict) else tree
    if stated != schema:
        raise DataError(
            f"{path} is no {schema}",
            evidence=f"schema {stated!r:.60}",
            try_next=try_next,
        )
    fields = {key: value for key, value in tree.items() if key != "schema"}
    return typed.from_json(kind, fields, path.name)
