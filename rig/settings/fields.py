# SPDX-License-Identifier: Apache-2.0
"""The fields of a Settings dataclass, described: for checks, documentation and
forms."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union

from annotated_types import DocInfo, GroupedMetadata, Unit

from rig.settings.declare import FOLDER, PATH, Matches
from rig.settings.ranges import UNBOUNDED, SettingRange, number

#: The default of a field that must be given.
REQUIRED = dataclasses.MISSING
#: TOML's words for types, as they stand in a bench file.
_TYPES = {bool: "boolean", int: "integer", float: "float", str: "string", dict: "table"}


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting: `range` is that of its number, or of each number of an array;
    `nested` are the fields of a table.

    `type` is TOML's word for it, or "path", of a file or as `is_folder` says; `default`
    is REQUIRED where there is none.
    """

    name: str
    type: str
    default: Any
    help: str = ""
    unit: str = ""
    range: SettingRange = UNBOUNDED
    length: SettingRange = UNBOUNDED
    choices: tuple[Any, ...] = ()
    form: Matches | None = None
    nested: tuple[SettingField, ...] = ()
    is_array: bool = False
    is_folder: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number, or an array of numbers."""
        return self.type.removeprefix("array of ") in ("integer", "float")

    @property
    def allowed(self) -> str:
        """Return in words which values are allowed, "" where every one of the type
        is."""
        words = [
            " or ".join(map(_quoted, self.choices)),
            self.form.meaning if self.form else "",
        ]
        words.append(self.range.text(self.unit, self.is_array))
        if self.length.bounded:
            words.append(
                f"{self.length.text()} {'values' if self.is_array else 'characters'}"
            )
        return "; ".join(filter(None, words))

    @property
    def summary(self) -> str:
        """Return type, unit, default and range in a line: "float, s; default 0.5; above
        0 s"."""
        kind = f"{self.type}, {self.unit}" if self.unit else self.type
        default = (
            "needed" if self.default is REQUIRED else f"default {self.shown_default}"
        )
        return "; ".join(filter(None, (kind, default, self.allowed)))

    @property
    def shown_default(self) -> str:
        """The default as it would stand in a bench file; "needed" where there is
        none."""
        return "needed" if self.default is REQUIRED else _toml(self.default)

    def allows(self, value: Any) -> bool:
        """Check whether a value of the right type is in the declared range."""
        each = value if self.is_array else (value,)
        if self.length.bounded and not self.length.holds(len(value)):
            return False
        if self.choices and not all(part in self.choices for part in each):
            return False
        if self.form is not None and not all(map(self.form.holds, each)):
            return False
        return not self.is_number or all(map(self.range.holds, each))


@cache
def fields_of(kind: type) -> tuple[SettingField, ...]:
    """Return the fields of a Settings dataclass, in their order."""
    return tuple(_fields(kind, None))


def flat(
    fields: Iterable[SettingField], prefix: str = ""
) -> Iterator[tuple[str, SettingField]]:
    """Yield all fields with their dotted names, those of a table in its place; an array
    of tables is one field.
    """
    for field in fields:
        if field.nested and not field.is_array:
            yield from flat(field.nested, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field


def _fields(kind: type, defaults: Any) -> Iterator[SettingField]:
    """Yield a dataclass's fields; `defaults` is an instance that has other ones than
    the class."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for part in dataclasses.fields(kind):
        default = default_of(part) if defaults is None else getattr(defaults, part.name)
        yield _field(part.name, hints[part.name], default)


def default_of(part: dataclasses.Field[Any]) -> Any:
    """Return the default of a field, made where it has a factory."""
    if part.default_factory is not dataclasses.MISSING:
        return part.default_factory()
    return part.default


def _field(name: str, hint: Any, default: Any) -> SettingField:
    kind, words = _split(hint)
    is_array = typing.get_origin(kind) is tuple
    if is_array:
        kind, of_each = _split(typing.get_args(kind)[0])
        words = [*of_each, *words]
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    if choices:
        kind = type(choices[0])
    nested: tuple[SettingField, ...] = ()
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if default is REQUIRED or is_array:
            nested = fields_of(kind)
        else:
            nested = tuple(_fields(kind, default))
    word = "table" if nested else _TYPES[typing.get_origin(kind) or kind]
    word = "path" if PATH in words else word
    return SettingField(
        name=name,
        type=f"array of {word}" if is_array else word,
        default=default,
        help=next(
            (word.documentation for word in words if isinstance(word, DocInfo)), ""
        ),
        unit=next((word.unit for word in words if isinstance(word, Unit)), ""),
        range=SettingRange.of(words),
        length=SettingRange.of_length(words),
        choices=choices,
        form=next((word for word in words if isinstance(word, Matches)), None),
        nested=nested,
        is_array=is_array,
        is_folder=FOLDER in words,
    )


def _split(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without its metadata, and these, those of groups one by one."""
    words: list[Any] = []
    if typing.get_origin(hint) is typing.Annotated:
        for word in hint.__metadata__:
            words += word if isinstance(word, GroupedMetadata) else [word]
        hint = hint.__origin__
    if typing.get_origin(hint) in (Union, UnionType):
        (hint,) = (each for each in typing.get_args(hint) if each is not NoneType)
    return hint, words


def _toml(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    plain_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(value) if plain_number else json.dumps(value)


def _quoted(choice: Any) -> str:
    return f'"{choice}"' if isinstance(choice, str) else str(choice)
