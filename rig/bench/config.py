# SPDX-License-Identifier: Apache-2.0
"""Bench file (TOML) -> frozen dataclasses; unknown keys and wrong types are refused, with the path
of the key.

[bench]                      name, trials, seed [sut.KIND] [monitor.KIND]    exactly one kind each;
keys are the Settings of that kind; [monitor.none]: there is no monitor [scenario.KIND] [task.KIND]
[claim]                      metric = value: what the five trials are compared with [metadata]
anything; stored as it is
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import cattrs
import tomli_w
from annotated_types import Ge, doc
from cattrs.strategies import configure_union_passthrough

from rig.bench import plugins
from rig.errors import ConfigError
from rig.settings.check import checked
from rig.settings.declare import PATH, Count, Matches, Number, Why

#: The kind of monitor that a bench without one names.
NO_MONITOR = "none"


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Settings of the bench as a whole."""

    name: Annotated[
        str,
        Matches(r"(?!\.)[\w .+-]{1,80}", "letters, digits, space, and . _ + - inside"),
        doc("Name of the bench; names its sessions' folders."),
    ] = "bench"
    trials: Annotated[
        Count, Ge(1), Why("the replication rule wants 5"), doc("How many trials are run.")
    ] = 5
    seed: Annotated[Number, doc("Seed from which every trial's own seed comes.")] = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind and its settings, an instance of the kind's Settings."""

    kind: str
    settings: Any


@dataclass(frozen=True, slots=True)
class Config:
    """A whole bench file, resolved; `monitors` are named by their rails, the only one of a bench by
    the empty name.

    A bench without a monitor has `no_monitor` instead: what is stated of the device's own clock.
    """

    bench: BenchSettings
    sut: Choice
    monitors: dict[str, Choice]
    scenario: Choice
    task: Choice
    claim: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)
    no_monitor: Choice | None = None

    def toml(self) -> str:
        """Return the file as resolved: every setting, also the defaults; it loads to the same
        Config.
        """
        tree: dict[str, Any] = {"bench": dataclasses.asdict(self.bench)}
        tree["sut"] = _table(self.sut)
        for rail, choice in self.monitors.items():
            if rail:
                tree.setdefault("rail", {})[rail] = _table(choice)
            else:
                tree["monitor"] = _table(choice)
        if self.no_monitor is not None:
            tree["monitor"] = _table(self.no_monitor)
        tree |= {"scenario": _table(self.scenario), "task": _table(self.task)}
        tree |= {"claim": self.claim, "metadata": self.metadata}
        return tomli_w.dumps(tree)


def _table(choice: Choice) -> dict[str, Any]:
    return {choice.kind: dataclasses.asdict(choice.settings)}


def load(path: Path, overrides: Sequence[str] = (), *, monitor_needed: bool = True) -> Config:
    """Read a bench file and apply overrides like "sut.uart.port=/dev/ttyACM1"; raises ConfigError.

    Where no monitor is needed, a file that says nothing of one has none.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"bench file {path} cannot be read",
            evidence=error.strerror or str(error),
            try_next="the path of a bench file; rig bench new virtual-asc writes one",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML", evidence=str(error)) from error
    from_command_line = [_override(tree, override) for override in overrides]
    if not monitor_needed and not tree.keys() & {"monitor", "rail"}:
        tree["monitor"] = {NO_MONITOR: {}}
    return _structure(tree, path.resolve().parent, {tuple(keys) for keys in from_command_line})


def _override(tree: dict[str, Any], override: str) -> list[str]:
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or len(keys) < 2 or not all(keys):
        raise ConfigError(
            f"--set {override}",
            try_next="--set section.kind.key=value, as --set task.asc.data=FOLDER",
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    depth = 2 if keys[0] == "rail" else 1
    if (keys[0] in plugins.GROUPS or keys[0] == "rail") and len(keys) > depth:
        # Naming another kind switches to it: --set scenario.offline.idle_s=1
        kinds = tree
        for key in keys[:depth]:
            kinds = kinds.setdefault(key, {})
            if not isinstance(kinds, dict):
                raise ConfigError(f"{kinds!r} is a value, not a table", path=key)
        for other in [kind for kind in kinds if kind != keys[depth]]:
            del kinds[other]
    node = tree
    for key in keys[:-1]:
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise ConfigError(f"{key} is a value, not a table", path=name)
    node[keys[-1]] = value
    return keys


def _structure(tree: Mapping[str, Any], folder: Path, overridden: set[tuple[str, ...]]) -> Config:
    known = ["bench", *plugins.GROUPS, "rail", "claim", "metadata"]
    for key in tree:
        if key not in known:
            raise ConfigError("no such section", path=key, try_next=_nearest(key, known))
    for section in ("bench", "claim", "metadata", "rail"):
        if not isinstance(tree.get(section, {}), dict):
            raise ConfigError(f"{tree[section]!r} is a value, not a table", path=section)
    try:
        json.dumps(tree.get("metadata", {}), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            "holds what JSON cannot say",
            path="metadata",
            evidence=str(error),
            try_next="dates as text, no nan",
        ) from error
    choices = {
        section: _choice(section, tree.get(section), folder, overridden)
        for section in plugins.GROUPS
        if section != "monitor"
    }
    claim = _typed(dict[str, float], tree.get("claim", {}), "claim")
    for name, value in claim.items():
        if not math.isfinite(value):
            raise ConfigError(
                f"{value} is no value that {name} can have",
                path=f"claim.{name}",
                try_next="a finite number, in SI units",
            )
    bench = _typed(BenchSettings, tree.get("bench", {}), "bench")
    monitors = _monitors(tree, folder, overridden)
    none = monitors.pop("") if "" in monitors and monitors[""].kind == NO_MONITOR else None
    return Config(
        bench=bench,
        **choices,
        monitors=monitors,
        claim=claim,
        metadata=dict(tree.get("metadata", {})),
        folder=folder,
        no_monitor=none,
    )


def _monitors(
    tree: Mapping[str, Any], folder: Path, overridden: set[tuple[str, ...]]
) -> dict[str, Choice]:
    rails = tree.get("rail", {})
    if not rails:
        return {"": _choice("monitor", tree.get("monitor"), folder, overridden)}
    if "monitor" in tree:
        raise ConfigError(
            "both are given",
            path="monitor, rail",
            try_next="[monitor.KIND] for one supply, [rail.NAME.KIND] for several",
        )
    for name in rails:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
            raise ConfigError(
                f"{name!r} names a folder",
                path="rail",
                try_next="small letters, digits and _: [rail.core.joulescope]",
            )
        if isinstance(rails[name], dict) and NO_MONITOR in rails[name]:
            raise ConfigError(
                "a rail is a supply that is measured",
                path=f"rail.{name}.{NO_MONITOR}",
                try_next=f"leave the rail out; [monitor.{NO_MONITOR}] where nothing is measured",
            )
    return {
        name: _choice("monitor", table, folder, overridden, f"rail.{name}")
        for name, table in rails.items()
    }


def _choice(
    section: str, table: Any, folder: Path, overridden: set[tuple[str, ...]], place: str = ""
) -> Choice:
    place = place or section
    if (
        not isinstance(table, dict)
        or len(table) != 1
        or not isinstance(next(iter(table.values())), dict)
    ):
        have = ", ".join(table) if isinstance(table, dict) else repr(table)
        kinds = ", ".join(plugins.names(section))
        raise ConfigError(
            f"exactly one table [{place}.KIND] is needed",
            path=place,
            evidence=f"there is {have or 'none'}",
            try_next=f"KIND is one of {kinds}",
        )
    kind, values = next(iter(table.items()))
    kind_of_settings = plugins.find(section, kind).Settings
    settings = _typed(kind_of_settings, _with_defaults(kind_of_settings, values), f"{place}.{kind}")
    here = (*place.split("."), kind)
    from_here = {
        keys[len(here)]
        for keys in overridden
        if keys[: len(here)] == here and len(keys) > len(here)
    }
    return Choice(kind, _absolute(settings, folder, from_here))


def _with_defaults(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill up tables inside a table from their defaults, so that one key of them can be given
    alone.
    """
    filled = dict(values)
    for part in dataclasses.fields(kind):
        default = (
            part.default_factory()
            if part.default_factory is not dataclasses.MISSING
            else part.default
        )
        if (
            isinstance(filled.get(part.name), dict)
            and dataclasses.is_dataclass(default)
            and not isinstance(default, type)
        ):
            filled[part.name] = dataclasses.asdict(default) | filled[part.name]
    return filled


def _absolute(settings: Any, folder: Path, overridden: set[str]) -> Any:
    hints = typing.get_type_hints(type(settings), include_extras=True)
    changes = {}
    for part in dataclasses.fields(settings):
        value = getattr(settings, part.name)
        if PATH in getattr(hints[part.name], "__metadata__", ()) and value != part.default:
            base = Path.cwd() if part.name in overridden else folder
            changes[part.name] = str((base / Path(value).expanduser()).resolve())
    return dataclasses.replace(settings, **changes)


def _typed(kind: Any, value: Any, path: str) -> Any:
    try:
        settings = _converter().structure(value, kind)
    except cattrs.BaseValidationError as error:
        place, cause = _first_cause(error, path)
        if isinstance(
            cause, ConfigError
        ):  # of the settings' own check: it has said all, and where within
            own = cause.cause.removeprefix(f"{cause.path}: ")
            place = f"{place}.{cause.path}" if cause.path else place
            raise ConfigError(
                own, path=place, evidence=cause.evidence, try_next=cause.try_next
            ) from error
        raise ConfigError(_message(cause), path=place, try_next=_hint(cause)) from error
    return checked(settings, path) if dataclasses.is_dataclass(settings) else settings


def _message(cause: BaseException) -> str:
    if isinstance(cause, KeyError):
        return "this key is needed"
    return "no such key" if isinstance(cause, cattrs.ForbiddenExtraKeysError) else str(cause)


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
    # Nothing is converted silently: cattrs alone would turn 2.7 into 2 and "5" into 5; true is not
    # 1.
    if not isinstance(value, (int, float) if kind is float else kind) or (
        isinstance(value, bool) and kind is not bool
    ):
        raise _WrongTypeError(f"{value!r} is not {'an' if kind is int else 'a'} {kind.__name__}")
    return kind(value)


def _is_choice(kind: Any) -> bool:
    return typing.get_origin(kind) is typing.Literal


def _one_of(value: Any, kind: Any) -> Any:
    choices = typing.get_args(kind)
    if value not in choices:
        raise _ChoiceError(value, choices)
    return value


def _first_cause(error: BaseException, path: str) -> tuple[str, BaseException]:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return f"{path}.{sorted(error.extra_fields)[0]}", error
    if not isinstance(error, BaseExceptionGroup):
        return path, error
    inner = error.exceptions[0]
    for note in getattr(inner, "__notes__", ()):
        path = f"{path}.{note.name}" if hasattr(note, "name") else path
    return _first_cause(inner, path)


def _hint(cause: BaseException) -> str:
    if isinstance(cause, _ChoiceError):
        return f"one of {', '.join(map(str, cause.choices))}"
    if not isinstance(cause, cattrs.ForbiddenExtraKeysError):
        return ""
    allowed = (
        [part.name for part in dataclasses.fields(cause.cl)]
        if dataclasses.is_dataclass(cause.cl)
        else []
    )
    return _nearest(sorted(cause.extra_fields)[0], allowed)


def _nearest(key: str, allowed: Sequence[str]) -> str:
    close = difflib.get_close_matches(key, allowed, 1)
    return (f"did you mean {close[0]}? " if close else "") + f"allowed: {', '.join(allowed)}"
