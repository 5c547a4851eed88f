# SPDX-License-Identifier: Apache-2.0
"""Forms for a bench file: a section for each part, with the fields that its settings
declare and their values in the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rig.bench import config, plugins
from rig.bench.editing import (
    UNSET,
    BenchText,
    TextProblem,
    Unset,
    settings_at,
    value_at,
)
from rig.bench.structure import refusals
from rig.errors import ConfigError
from rig.files import toml_text
from rig.settings.declare import UNITLESS
from rig.settings.fields import REQUIRED, SettingField, fields_of, flat

_TITLES = {"sut": "Device under test", "scenario": "Scenario", "task": "Task"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One setting in a form: `value` as it stands in the file, UNSET if the default
    applies; `error` is the message of the command line.
    """

    path: str
    label: str
    setting: SettingField
    value: Any | Unset = UNSET
    error: str = ""

    @property
    def is_set(self) -> bool:
        """Whether the file states it."""
        return not isinstance(self.value, Unset)

    @property
    def shown(self) -> str:
        """Its value, or the default, as a person edits it; "" where it must be
        given."""
        if self.is_set:
            return as_typed(self.setting, self.value)
        return (
            ""
            if self.setting.default is REQUIRED
            else as_typed(self.setting, self.setting.default)
        )

    @property
    def unit(self) -> str:
        """The unit after a number; "" if it has none."""
        return "" if self.setting.unit in UNITLESS else self.setting.unit

    @property
    def help(self) -> str:
        """The meaning, the allowed values, and the default."""
        allowed = f"Allowed: {self.setting.allowed}." if self.setting.allowed else ""
        default = (
            "It must be given."
            if self.setting.default is REQUIRED
            else (
                "Default:"
                f" {self.setting.shown_default}{f' {self.unit}' if self.unit else ''}."
            )
        )
        return " ".join(part for part in (self.setting.help, allowed, default) if part)


@dataclass(frozen=True, slots=True)
class FormSection:
    """A part of the bench: its place in the file ("sut", "rail.core"), its kind, the
    kinds to choose from, and its fields. `error` concerns the part as a whole.
    """

    place: str
    title: str
    kind: str = ""
    kinds: tuple[str, ...] = ()
    about: str = ""
    fields: tuple[FormField, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class BenchForm:
    """The form of a text; without sections where the text cannot be read. `problem` is
    the first thing that is wrong with the file.
    """

    sections: tuple[FormSection, ...]
    problem: TextProblem | None = None

    def field(self, path: str) -> FormField:
        """Return the field of a path; raises KeyError."""
        for section in self.sections:
            for field in section.fields:
                if field.path == path:
                    return field
        raise KeyError(path)


def form_of(text: BenchText, problem: TextProblem | None = None) -> BenchForm:
    """Return the form of a text; `problem` is what `text.problem` found."""
    if not text.is_toml:
        return BenchForm((), problem)
    return BenchForm(tuple(_sections(text)), problem)


def as_typed(setting: SettingField, value: Any) -> str:
    """Return a value as a person edits it: a text without quotes, all else as in the
    file."""
    if isinstance(value, str) and not setting.is_array:
        return value
    if (
        isinstance(value, float | int)
        and not isinstance(value, bool)
        and not setting.choices
    ):
        return repr(value)
    return _toml(value)


def from_typed(setting: SettingField, typed: str) -> Any:
    """Return typed text as a value of the file; as with `--set`, text that is no TOML
    becomes a string.
    """
    if setting.type in ("string", "path"):
        return typed
    try:
        value = config.value_of(typed.strip())
    except (ValueError, RecursionError):
        return typed
    if (
        setting.type == "float"
        and isinstance(value, int)
        and not isinstance(value, bool)
    ):
        return float(value) if abs(value) < 2**53 else value
    return value


def entered(text: BenchText, path: str, setting: SettingField, typed: str) -> BenchText:
    """Return the bench with typed text in a field; empty text restores the default."""
    if not typed.strip() and setting.type not in ("string", "path"):
        return text.without(path)
    if not typed and (setting.default is REQUIRED or setting.choices):
        return text.without(path)
    return text.with_value(path, from_typed(setting, typed))


def refusal(path: str, setting: SettingField, typed: str) -> str:
    """Return why a typed value is refused, as the command line says it; "" where it is
    not."""
    keys = path.split(".")
    if not typed.strip() and setting.type not in ("string", "path"):
        return "" if setting.default is not REQUIRED else "this key is needed"
    settings, prefix = settings_at(keys)
    values: dict[str, Any] = {}
    node = values
    below = keys[len(prefix.split(".")) :]
    for key in below[:-1]:
        node = node.setdefault(key, {})
    node[below[-1]] = from_typed(setting, typed)
    for error in refusals(settings, values, prefix):
        if error.path == path or error.path.startswith(f"{path}["):
            return _sentence(error)
    return ""


def _sections(text: BenchText) -> Iterator[FormSection]:
    bench = FormSection("bench", "Bench", kind="bench")
    yield _filled(bench, config.BenchSettings, text.tree().get("bench", {}), "bench")
    monitors = text.monitors() or ({"": "monitor"} if text.kind("monitor") else {})
    yield _part(text, "sut", "sut", _TITLES["sut"])
    for rail, place in monitors.items():
        title = f"Energy monitor of {rail}" if rail else "Energy monitor"
        yield _part(text, "monitor", place, title)
    if not monitors:
        yield _part(text, "monitor", "monitor", "Energy monitor")
    for section in ("scenario", "task"):
        yield _part(text, section, section, _TITLES[section])


def _part(text: BenchText, section: str, place: str, title: str) -> FormSection:
    kinds = tuple(
        kind
        for kind in plugins.names(section)
        if not (place.startswith("rail") and kind == config.NO_MONITOR)
    )
    kind = text.kind(place)
    part = FormSection(place, title, kind, kinds)
    if not kind:
        return replace(part, error=f"exactly one table [{place}.KIND] is needed")
    try:
        plugin = plugins.find(section, kind)
    except ConfigError as error:
        return replace(part, error=_sentence(error))
    part = replace(part, about=plugins.first_paragraph(plugin.__doc__))
    prefix = f"{place}.{kind}"
    return _filled(part, plugin.Settings, text.value(prefix), prefix)


def _filled(part: FormSection, settings: type, values: Any, prefix: str) -> FormSection:
    """Add the fields of `settings`, with their values below `prefix` in the file."""
    if not isinstance(values, Mapping):
        return replace(part, error=f"{prefix} is a value, not a table")
    refused = {error.path: error for error in refusals(settings, values, prefix)}
    fields = []
    for name, setting in flat(fields_of(settings)):
        path = f"{prefix}.{name}"
        wrong = [key for key in refused if key == path or key.startswith(f"{path}[")]
        error = _sentence(refused.pop(wrong[0])) if wrong else ""
        fields.append(FormField(path, name, setting, value_at(values, name), error))
    other = "; ".join(f"{path}: {_sentence(error)}" for path, error in refused.items())
    return replace(part, fields=tuple(fields), error=other)


def _sentence(error: ConfigError) -> str:
    return "; ".join(filter(None, (error.fault, error.try_next)))


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{key} = {_toml(each)}' for key, each in value.items())}}}"
        )
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return toml_text.of_value(value)
    return json.dumps(value, default=str)
