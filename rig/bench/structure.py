# SPDX-License-Identifier: Apache-2.0
"""A table of a bench file -> a frozen dataclass of settings; unknown keys, wrong types
and values out of range are refused, with the path of the key.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import cattrs
from cattrs.strategies import configure_union_passthrough

from rig.errors import ConfigError, did_you_mean
from rig.settings.check import checked, violations
from rig.settings.fields import default_of


def typed(kind: Any, value: Any, path: str) -> Any:
    """Return a value as one of this kind; raises ConfigError with the first thing that
    is wrong."""
    try:
        settings = _converter().structure(value, kind)
    except cattrs.BaseValidationError as error:
        place, cause = next(_causes(error, path))
        raise _refusal(place, cause) from error
    return checked(settings, path) if dataclasses.is_dataclass(settings) else settings


def refusals(settings: type, values: Mapping[str, Any], path: str) -> list[ConfigError]:
    """Return everything that is wrong with a table of settings, where `typed` raises
    the first."""
    errors: list[ConfigError] = []
    try:
        made: Any = _converter().structure(with_defaults(settings, values), settings)
    except cattrs.BaseValidationError as error:
        return [_refusal(place, cause) for place, cause in _causes(error, path)]
    for each in violations(made, path):
        errors.append(ConfigError(each.value, path=each.path, try_next=each.allowed))
    return errors


def with_defaults(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill up tables inside a table from their defaults, so that one key of them can be
    given alone.
    """
    filled = dict(values)
    for part in dataclasses.fields(kind):
        default = default_of(part)
        is_table = dataclasses.is_dataclass(default) and not isinstance(default, type)
        if is_table and isinstance(filled.get(part.name), dict):
            filled[part.name] = dataclasses.asdict(default) | filled[part.name]
    return filled


def _refusal(place: str, cause: BaseException) -> ConfigError:
    if isinstance(cause, ConfigError):
        # raised by the check of the settings, which names the key within them
        place = f"{place}.{cause.path}" if cause.path else place
        return ConfigError(
            cause.fault, path=place, evidence=cause.evidence, try_next=cause.try_next
        )
    if isinstance(cause, KeyError):
        return ConfigError("this key is needed", path=place)
    if isinstance(cause, _ChoiceError):
        named = ", ".join(str(choice) for choice in cause.choices if choice != "")
        hint = f"one of {named}{', or empty' if '' in cause.choices else ''}"
        return ConfigError(str(cause), path=place, try_next=hint)
    if isinstance(cause, cattrs.ForbiddenExtraKeysError):
        allowed: list[str] = []
        if dataclasses.is_dataclass(cause.cl):
            allowed = [part.name for part in dataclasses.fields(cause.cl)]
        hint = nearest(sorted(cause.extra_fields)[0], allowed)
        return ConfigError("no such key", path=place, try_next=hint)
    return ConfigError(str(cause), path=place)


class _WrongTypeError(ValueError):
    """A value of another type than the key's."""


class _ChoiceError(ValueError):
    """A value that is none of a key's choices."""

    def __init__(self, value: Any, choices: Sequence[Any]) -> None:
        super().__init__(repr(value))
        self.choices = choices


@cache  # it writes and compiles a function for each class of settings
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind in (int, float, str, bool):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook_func(_is_choice, _one_of)
    configure_union_passthrough(int | float | str | bool | None, converter)
    return converter


def _exactly(value: Any, kind: type) -> Any:
    # No value is converted silently: cattrs alone would turn 2.7 into 2 and "5" into 5;
    # true is not 1.
    is_right = isinstance(value, (int, float) if kind is float else kind)
    if not is_right or (isinstance(value, bool) and kind is not bool):
        raise _WrongTypeError(
            f"{value!r} is not {'an' if kind is int else 'a'} {kind.__name__}"
        )
    return kind(value)


def _is_choice(kind: Any) -> bool:
    return typing.get_origin(kind) is typing.Literal


def _one_of(value: Any, kind: Any) -> Any:
    choices = typing.get_args(kind)
    if value not in choices:
        raise _ChoiceError(value, choices)
    return choices[choices.index(value)]


def _causes(error: BaseException, path: str) -> Iterator[tuple[str, BaseException]]:
    """Yield the place and the cause of each thing that is wrong."""
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        yield f"{path}.{sorted(error.extra_fields)[0]}", error
        return
    if not isinstance(error, BaseExceptionGroup):
        yield path, error
        return
    for inner in error.exceptions:
        place = path
        for note in getattr(inner, "__notes__", ()):
            place = f"{place}.{note.name}" if hasattr(note, "name") else place
        yield from _causes(inner, place)


def nearest(key: str, allowed: Sequence[str]) -> str:
    """Return the most similar key, and all allowed keys."""
    return f"{did_you_mean(key, allowed)}allowed: {', '.join(allowed)}"
