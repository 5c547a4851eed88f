# SPDX-License-Identifier: Apache-2.0
"""Write the JSON schemas of a session's files from their dataclasses: `python -m
rig.results.schemas docs/reference/schemas`.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from rig.files import typed
from rig.results import audit_file, document, submission_file
from rig.store.provenance_file import Provenance
from rig.store.sample_lines import SampleLine, StreamLine, WindowLine
from rig.store.session_folder import json_text, write_text

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: A number that does not exist, or is not finite, is null.
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    Any: {},
}


def results() -> dict[str, Any]:
    """Make the schema of results.json as it is written."""
    return _schema(document.Results, "results.json", _schema_key())


def provenance() -> dict[str, Any]:
    """Make the schema of provenance.json."""
    return _schema(Provenance, "provenance.json", {})


def submission() -> dict[str, Any]:
    """Make the schema of submission.json."""
    key = {"schema": {"const": submission_file.SCHEMA}}
    return _schema(submission_file.Submission, submission_file.SUBMISSION, key)


def audit() -> dict[str, Any]:
    """Make the schema of audit.json."""
    key = {"schema": {"const": audit_file.SCHEMA}}
    return _schema(audit_file.Audit, audit_file.AUDIT, key)


def samples() -> dict[str, Any]:
    """Make the schema of a line of samples.jsonl."""
    parts: dict[str, Any] = {}
    kinds = {"idle": WindowLine, "stream": StreamLine}
    lines = []
    for name, kind in kinds.items():
        line = {
            "type": "object",
            "required": [name],
            "properties": {name: _of(kind, parts)},
            "additionalProperties": False,
        }
        lines.append(line)
    return {
        "$schema": _DIALECT,
        "title": "a line of samples.jsonl",
        "anyOf": [*lines, _object(SampleLine, parts)],
        "$defs": dict(sorted(parts.items())),
    }


#: File in docs/reference/schemas -> what makes it.
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "results.schema.json": results,
    "provenance.schema.json": provenance,
    "samples.schema.json": samples,
    "submission.schema.json": submission,
    "audit.schema.json": audit,
}


def _schema(kind: Any, title: str, more: dict[str, Any]) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    whole = _object(kind, parts)
    return {
        "$schema": _DIALECT,
        "title": title,
        **whole,
        "required": [*more, *whole["required"]],
        "properties": {**more, **whole["properties"]},
        "$defs": dict(sorted(parts.items())),
    }


def _schema_key() -> dict[str, Any]:
    return {"schema": {"const": f"neurorig-results-{document.SCHEMA}"}}


def _object(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a dataclass; those of its parts are put into `parts`."""
    hints = typing.get_type_hints(kind)
    shown = [part for part in dataclasses.fields(kind) if not typed.is_verbatim(part)]
    named = [part for part in shown if not typed.is_rest(part)]
    return {
        "type": "object",
        "description": _first_paragraph(kind),
        "required": [part.name for part in named if not _may_lack(part)],
        "properties": {part.name: _of(hints[part.name], parts) for part in named},
        "additionalProperties": len(named) < len(shown),
    }


def _may_lack(part: dataclasses.Field[Any]) -> bool:
    return (
        part.default is not dataclasses.MISSING
        or part.default_factory is not dataclasses.MISSING
    )


def _of(hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a type."""
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _of(arguments[0], parts)}
        return {
            "type": "array",
            "prefixItems": [_of(each, parts) for each in arguments],
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1], parts)}
    if origin in (types.UnionType, typing.Union):
        choices = [_of(each, parts) for each in arguments if each is not type(None)]
        if choices != [_PLAIN[float]]:
            return {"anyOf": [*choices, {"type": "null"}]}
        return choices[0]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in parts:
            parts[hint.__name__] = {}
            parts[hint.__name__] = _object(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"no JSON schema for {hint}")


def _first_paragraph(kind: Any) -> str:
    """Return the first paragraph of a class's docstring."""
    paragraph = (kind.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def write(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SCHEMAS.items():
        write_text(folder / name, json_text(make()))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
