# SPDX-License-Identifier: Apache-2.0
"""Refuse settings outside what their fields declare."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from rig.errors import ConfigError
from rig.settings.declare import UNITLESS
from rig.settings.fields import SettingField, fields_of
from rig.settings.ranges import most, number

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Violation:
    """A value that its field does not allow: the path of the key, the value, and the
    allowed range.
    """

    path: str
    value: str
    allowed: str


def checked(settings: T, path: str) -> T:
    """Return settings; raise ConfigError for values outside the declared ranges. It
    names the first, and lists the others as evidence.
    """
    wrong = list(violations(settings, path))
    if not wrong:
        return settings
    first, *others = wrong
    also = "; ".join(
        f"{each.path}: {each.value}, allowed: {each.allowed}" for each in others
    )
    raise ConfigError(
        first.value,
        path=first.path,
        evidence=f"also {also}" if also else "",
        try_next=first.allowed,
    )


def violations(settings: Any, path: str) -> Iterator[Violation]:
    """Yield what an instance of a Settings dataclass has outside what its fields
    declare."""
    for field in fields_of(settings.__class__):
        value = getattr(settings, field.name)
        place = f"{path}.{field.name}" if path else field.name
        if field.nested:
            tables = value if field.is_array else (value,)
            for count, table in enumerate(tables):
                yield from violations(
                    table, f"{place}[{count}]" if field.is_array else place
                )
        elif value is not None and not field.allows(value):
            yield Violation(place, _shown(field, value), _allowed(field, value))


def _allowed(field: SettingField, value: Any) -> str:
    values = value if field.is_array else (value,)
    beyond = [
        each for each in values if field.is_number and most(each) < abs(each) < math.inf
    ]
    if beyond:
        whole = "" if isinstance(beyond[0], float) else "whole "
        rule = f"no {whole}number of a bench is beyond {number(most(beyond[0]))}"
        return f"{field.allowed}; {rule}" if field.allowed else rule
    return field.allowed or "a finite number"


def _shown(field: SettingField, value: Any) -> str:
    if not field.is_number:
        return repr(value)
    unit = "" if field.unit in UNITLESS else f" {field.unit}"
    if field.is_array:
        return f"[{', '.join(map(number, value))}]{unit}"
    return f"{number(value)}{unit}"
