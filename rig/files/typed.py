# SPDX-License-Identifier: Apache-2.0
"""Frozen dataclasses to and from the JSON of the rig's files: the one use of cattrs for
them.

A class is the form of a JSON object: its fields are the keys, in their order. No value
is converted silently, and an unknown key is refused with its path. null stands for a
number that does not exist or is not finite: a field `float | None` reads it as None, a
field `float` as NaN. bytes are a text in hexadecimal.

A field may carry metadata, made by these functions:

- `optional()`: the key is left out where the field has its default;
- `beside("other")`: the key is there with another one, never alone;
- `since(N, default)`: the key is there from schema N on. A file of an older schema is
  read with the default, and written in its own form without the key. So a field is
  added to a stored class, and a session of before still compares byte for byte;
- `renamed(N, "old")`: the key had another name before schema N;
- `rest()`: a dict of all keys that the class does not name; in the file they stand
  beside the others;
- `verbatim()`: the whole object as it was read, which is written again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar, cast

import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from rig.errors import DataError

T = TypeVar("T")

#: Newer than every schema: its form has all keys, under their present names.
NEWEST = 1_000_000
_OPTIONAL = "optional"
_BESIDE = "beside"
_SINCE = "since"
_RENAMED = "renamed"
_REST = "rest"
_VERBATIM = "verbatim"


def optional(default: Any = None) -> Any:
    """Return a field whose key is left out where it has its default."""
    return _field(default, None, {_OPTIONAL: True})


def beside(other: str, default: Any = None) -> Any:
    """Return a field whose key is there with another one."""
    return _field(default, None, {_BESIDE: other})


def since(
    schema: int,
    default: Any = None,
    *,
    factory: Callable[[], Any] | None = None,
    left_out: bool = False,
) -> Any:
    """Return a field that files have from a schema on; `left_out` where it has its
    default."""
    return _field(default, factory, {_SINCE: schema, _OPTIONAL: left_out})


def renamed(schema: int, old: str, default: Any) -> Any:
    """Return an optional field whose key had another name before a schema."""
    return _field(default, None, {_RENAMED: (schema, old), _OPTIONAL: True})


def rest() -> Any:
    """Return a field for the keys that the class does not name."""
    return _field(None, dict, {_REST: True})


def verbatim() -> Any:
    """Return a field for the whole object as it was read."""
    return _field(None, dict, {_VERBATIM: True})


def is_rest(part: dataclasses.Field[Any]) -> bool:
    """Check whether a field holds the keys that its class does not name."""
    return bool(part.metadata.get(_REST))


def is_verbatim(part: dataclasses.Field[Any]) -> bool:
    """Check whether a field is the whole object, and no key of it."""
    return bool(part.metadata.get(_VERBATIM))


def _field(
    default: Any, factory: Callable[[], Any] | None, metadata: dict[str, Any]
) -> Any:
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def to_json(content: Any, schema: int = NEWEST) -> Any:
    """Return the JSON tree of a dataclass, in the form of a schema: dicts, lists,
    strings, numbers and None.
    """
    return _converter(schema).unstructure(content)


def from_json(kind: type[T], tree: Any, place: str, schema: int = NEWEST) -> T:
    """Return the dataclass that a JSON tree is; raise DataError that names what does
    not fit, with its path.
    """
    try:
        return _converter(schema).structure(tree, kind)
    except cattrs.BaseValidationError as error:
        raise DataError(
            f"{place} is not of the form of its schema",
            evidence="; ".join(
                cattrs.transform_error(error, format_exception=_said)[:5]
            ),
        ) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{place} is not of the form of its schema", evidence=str(error)
        ) from error


def like(kind: type[T], source: Any, **own: Any) -> T:
    """Return a dataclass whose fields have the values that another object has under the
    same names, but for its `own` ones.
    """
    names, values_of = _taken(cast(Any, kind), tuple(own))
    return kind(**dict(zip(names, values_of(source), strict=True)), **own)


def take(kind: type[T], tree: dict[str, Any], place: str) -> T:
    """Read the keys of a dataclass out of a larger tree, and remove them from it; raise
    DataError as `from_json` does.
    """
    found = {name: tree.pop(name) for name in _names(cast(Any, kind)) if name in tree}
    return from_json(kind, found, place)


@cache
def _taken(
    kind: type, own: tuple[str, ...]
) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the fields of a dataclass without its `own` ones, and how they are read
    of an object, all at once.
    """
    names = tuple(name for name in _names(kind) if name not in own)
    if len(names) > 1:
        return names, attrgetter(*names)
    # Of one name attrgetter returns no tuple, of none it does not work.
    return names, lambda source: tuple(getattr(source, name) for name in names)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(part.name for part in dataclasses.fields(kind))


def from_row(kind: type[T], row: Mapping[str, str | None], place: str) -> T:
    """Return the dataclass that a row of a CSV file is, its cells by the names of their
    columns; raise DataError. Truth is yes or no, an empty cell None where a field may
    be that.
    """
    names = _names(cast(Any, kind))
    missing = [name for name in names if row.get(name) is None]
    if missing:
        evidence = f"a row without {missing[0]}"
        raise DataError(f"{place} has a row of another form", evidence=evidence)
    try:
        return _rows().structure({name: row[name] for name in names}, kind)
    except cattrs.BaseValidationError as error:
        raise DataError(
            f"{place} has a row of another form",
            evidence="; ".join(
                cattrs.transform_error(error, format_exception=_said)[:5]
            ),
        ) from error


def to_row(content: Any) -> dict[str, Any]:
    """Return the cells of a dataclass as a row of a CSV file, by the names of their
    columns."""
    tree: dict[str, Any] = to_json(content)
    return {name: _cell(value) for name, value in tree.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


@cache
def _rows() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook(
        bool, lambda cell, _: {"yes": True, "no": False}[cell]
    )
    converter.register_structure_hook_func(
        lambda kind: kind in (int | None, float | None),
        lambda cell, kind: (
            converter.structure(cell, kind.__args__[0]) if cell else None
        ),
    )
    return converter


def _said(error: BaseException, kind: type | None) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return f"unknown key {', '.join(map(repr, sorted(error.extra_fields)))}"
    if isinstance(error, KeyError):
        return f"key {error.args[0]!r} is missing"
    return str(error)


@cache
def _converter(schema: int) -> cattrs.Converter:
    converter = cattrs.Converter(
        forbid_extra_keys=True,
        unstruct_collection_overrides={tuple: list, Sequence: list},
    )
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook(
        bytes, lambda value, _: bytes.fromhex(_exactly(value, str))
    )
    converter.register_unstructure_hook(bytes, bytes.hex)
    # A StrEnum is a str, whose hook would take its text for itself.
    converter.register_structure_hook(StrEnum, lambda told, kind: kind(told))
    converter.register_structure_hook(float, _number)
    converter.register_unstructure_hook(float, _finite)
    converter.register_structure_hook_factory(
        dataclasses.is_dataclass,
        lambda kind: _with_rest(
            make_dict_structure_fn(kind, converter, **_overrides(kind, schema)), kind
        ),
    )
    converter.register_unstructure_hook_factory(
        dataclasses.is_dataclass, partial(_unstructuring, converter, schema)
    )
    return converter


def _unstructuring(
    converter: cattrs.Converter, schema: int, kind: Any
) -> Callable[[Any], dict[str, Any]]:
    """Return an unstructure hook of a class in the form of a schema."""
    unstructure = make_dict_unstructure_fn(kind, converter, **_overrides(kind, schema))
    parts = dataclasses.fields(kind)
    if not any(part.metadata for part in parts):
        return unstructure
    return _in_order(
        unstructure,
        [_key(part, schema) for part in parts],
        _marked(kind, _REST),
        _marked(kind, _VERBATIM),
        {
            part.name: part.metadata[_BESIDE]
            for part in parts
            if _BESIDE in part.metadata
        },
    )


def _in_order(
    unstructure: Callable[[Any], dict[str, Any]],
    keys: Sequence[str],
    rest: str,
    verbatim: str,
    beside: Mapping[str, str],
) -> Callable[[Any], dict[str, Any]]:
    """Return an unstructure hook that keeps the order of fields; cattrs puts optional
    keys last."""

    def ordered(content: Any) -> dict[str, Any]:
        tree = unstructure(content)
        if verbatim:
            return dict(tree[verbatim])
        for key, other in beside.items():
            if other not in tree:
                del tree[key]
        named = {key: tree[key] for key in keys if key in tree and key != rest}
        return named | tree[rest] if rest else named

    return ordered


def _with_rest(
    structure: Callable[[Any, Any], Any], kind: Any
) -> Callable[[Any, Any], Any]:
    """Return a structure hook that gives a class the other keys, and the original
    object.
    """
    rest = _marked(kind, _REST)
    verbatim = _marked(kind, _VERBATIM)
    if not rest and not verbatim:
        return structure
    names = {part.name for part in dataclasses.fields(kind)} - {rest, verbatim}

    def filled(tree: Any, own: Any) -> Any:
        if not isinstance(tree, dict):
            raise ValueError(f"{repr(tree)[:60]} is not an object")
        known = {key: value for key, value in tree.items() if key in names or not rest}
        if rest:
            known[rest] = {
                key: value for key, value in tree.items() if key not in names
            }
        if verbatim:
            known[verbatim] = tree
        return structure(known, own)

    return filled


def _marked(kind: Any, mark: str) -> str:
    """Return the name of the field with a mark; empty where there is none."""
    return next(
        (part.name for part in dataclasses.fields(kind) if part.metadata.get(mark)), ""
    )


def _overrides(kind: Any, schema: int) -> dict[str, Any]:
    """Return how a schema has the fields of a class."""
    return {part.name: _override(part, schema) for part in dataclasses.fields(kind)}


def _override(part: dataclasses.Field[Any], schema: int) -> Any:
    if part.metadata.get(_SINCE, 0) > schema:
        return override(omit=True)
    left_out = bool(part.metadata.get(_OPTIONAL))
    return override(omit_if_default=left_out, rename=_key(part, schema))


def _key(part: dataclasses.Field[Any], schema: int) -> str:
    before, old = part.metadata.get(_RENAMED, (0, ""))
    return old if schema < before else part.name


def _exactly(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(
            f"{repr(value)[:60]} is not {'an' if kind is int else 'a'} {kind.__name__}"
        )
    return value


def _number(value: Any, _: type) -> Any:
    """Take a number as it is: an int stays one, so that it is written as it was."""
    if value is None:
        return math.nan
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{repr(value)[:60]} is not a number")
    return value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
