# SPDX-License-Identifier: Apache-2.0
"""Bench file (TOML) -> frozen dataclasses; unknown keys and wrong types are refused,
with the path of the key.

    [bench]           name, trials, seed
    [sut.KIND]        exactly one kind each; the keys are the Settings of that kind
    [monitor.KIND]    [monitor.none]: there is no monitor
    [scenario.KIND]
    [task.KIND]
    [labgrid]         place: labgrid hands out what the other tables call "labgrid"
    [claim]           metric = value: the five trials are compared with it
    [metadata]        anything; stored as it is
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import tomli_w
from annotated_types import Ge, doc

from rig.bench import plugins
from rig.bench.place_settings import LENT, LabgridSettings, is_lent
from rig.bench.structure import nearest, typed, with_defaults
from rig.errors import ConfigError, DataError
from rig.files import small_text
from rig.files.user_folders import expanded
from rig.settings.declare import PATH, PROGRAM, Count, Matches, Number, Why

#: The kind of monitor that a bench without one names.
NO_MONITOR = "none"
#: Samples of a trace between windows: all of them, or means.
FULL_RATE: Final = "full"
REDUCED_RATE: Final = "reduced"


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Settings of the bench as a whole."""

    name: Annotated[
        str,
        Matches(r"(?!\.)[\w .+-]{1,80}", "letters, digits, space, and . _ + - inside"),
        doc("Name of the bench; names its sessions' folders."),
    ] = "bench"
    trials: Annotated[
        Count,
        Ge(1),
        Why("the replication rule wants 5"),
        doc("How many trials are run."),
    ] = 5
    seed: Annotated[Number, doc("Seed from which every trial's own seed comes.")] = 1
    between_windows: Annotated[
        Literal["full", "reduced"],
        doc(
            "What traces keep while a sample is loaded: the full rate, or means of 1"
            " ms; 10 ms around each mark are kept whole."
        ),
    ] = FULL_RATE


@dataclass(frozen=True, slots=True)
class PluginChoice:
    """A kind and its settings, an instance of the kind's Settings."""

    kind: str
    settings: Any


@dataclass(frozen=True, slots=True)
class Config:
    """A whole bench file, resolved; `monitors` are named by their rails, the only one
    of a bench by the empty name.

    A bench without a monitor has `no_monitor` instead: the statements about the
    device's own clock.
    """

    bench: BenchSettings
    sut: PluginChoice
    monitors: dict[str, PluginChoice]
    scenario: PluginChoice
    task: PluginChoice
    claim: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)
    no_monitor: PluginChoice | None = None
    labgrid: LabgridSettings | None = None

    def toml(self) -> str:
        """Return the file as resolved: every setting, also the defaults; it loads to
        the same Config.
        """
        sut = _table(self.sut)
        tree: dict[str, Any] = {
            "bench": dataclasses.asdict(self.bench),
            "sut": sut,
        }
        for rail, choice in self.monitors.items():
            if rail:
                tree.setdefault("rail", {})[rail] = _table(choice)
            else:
                tree |= {"monitor": _table(choice)}
        if self.no_monitor is not None:
            tree |= {"monitor": _table(self.no_monitor)}
        tree |= {"scenario": _table(self.scenario), "task": _table(self.task)}
        tree |= {"claim": self.claim, "metadata": self.metadata}
        if self.labgrid is not None:
            tree |= {"labgrid": dataclasses.asdict(self.labgrid)}
        return tomli_w.dumps(tree)


def _table(choice: PluginChoice) -> dict[str, Any]:
    settings = dataclasses.asdict(choice.settings, dict_factory=_without_none)
    return {choice.kind: settings}


def _without_none(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table without the keys that have no value, as TOML has none for it."""
    return {name: value for name, value in items if value is not None}


def load(
    path: Path, overrides: Sequence[str] = (), *, monitor_needed: bool = True
) -> Config:
    """Read a bench file and apply overrides like "sut.uart.port=/dev/ttyACM1"; raises
    ConfigError.

    If no monitor is needed, a file without a monitor is accepted.
    """
    tree = stated(path, overrides)
    if not monitor_needed and not tree.keys() & {"monitor", "rail"}:
        tree |= {"monitor": {NO_MONITOR: {}}}
    return structured(tree, path.resolve().parent)


def stated(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the tables of a bench file with overrides applied, as they are stated;
    raises ConfigError where it cannot be read, or is no TOML.
    """
    tree = tree_in(
        path,
        "bench file",
        "the path of a bench file; rig bench new virtual-asc writes one",
    )
    for override in overrides:
        _override(tree, override)
    return tree


def tree_in(path: Path, what: str, try_next: str) -> dict[str, Any]:
    """Return the tables of a file; raises ConfigError where it cannot be read, or is no
    TOML.
    """
    try:
        text = small_text.read(path)
    except (OSError, DataError) as error:
        evidence = error.strerror if isinstance(error, OSError) else error.cause
        raise ConfigError(
            f"{what} {path} cannot be read",
            evidence=evidence or str(error),
            try_next=try_next,
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not TOML", evidence=str(error), try_next=small_text.UTF_8_TRY
        ) from error
    return tree_of(text, str(path))


def parsed(text: str, folder: Path) -> Config:
    """Return the configuration in the text of a bench file in this folder; raises
    ConfigError.
    """
    return structured(tree_of(text, "the text"), folder)


def tree_of(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a text; raises ConfigError where it is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of a number of 5 000 digits, too
        raise ConfigError(
            f"{name} is not TOML",
            evidence=str(error),
            try_next=(
                "texts in quotes, tables in brackets; the line before may lack its end"
            ),
        ) from error


def value_of(text: str) -> Any:
    """Return the value that is written in TOML; raises TOMLDecodeError."""
    (value,) = tomllib.loads(f"value = {text}").values()
    return value


class _CommandLineText(str):
    """A text of the command line: a path in it starts at the working folder."""

    __slots__ = ()


def _override(tree: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or len(keys) < 2 or not all(keys):
        raise ConfigError(
            f"--set {override}",
            try_next="--set section.kind.key=value, as --set task.asc.data=FOLDER",
        )
    try:
        value = value_of(text)
    except (ValueError, RecursionError):
        value = text
    section, depth = section_of(keys)
    if section in plugins.GROUPS and len(keys) > depth:
        # Naming another kind switches to it: --set scenario.offline.idle_s=1
        kinds = table_at(tree, keys[:depth], name)
        for other in [kind for kind in kinds if kind != keys[depth]]:
            del kinds[other]
    node = table_at(tree, keys[:-1], name)
    node[keys[-1]] = _of_command_line(value)


def _of_command_line(value: Any) -> Any:
    """Return a value whose texts are known to be of the command line."""
    if isinstance(value, str):
        return _CommandLineText(value)
    if isinstance(value, list):
        return [_of_command_line(item) for item in value]
    if isinstance(value, dict):
        return {key: _of_command_line(item) for key, item in value.items()}
    return value


def table_at(tree: dict[str, Any], keys: Sequence[str], name: str) -> dict[str, Any]:
    """Return the table of these keys, made where there is none; `name` is the key that
    is set in it.
    """
    for key in keys:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{key} is a value, not a table", path=name)
    return tree


def section_of(keys: Sequence[str]) -> tuple[str, int]:
    """Return the section that a key is in, and where its kind stands among the keys: a
    rail, as in rail.core.joulescope, has a monitor.
    """
    return ("monitor", 2) if keys[0] == "rail" else (keys[0], 1)


def structured(tree: Mapping[str, Any], folder: Path) -> Config:
    """Return the configuration of the tables of a bench file in this folder; raises
    ConfigError.
    """
    known = ["bench", *plugins.GROUPS, "rail", "labgrid", "claim", "metadata"]
    for key in tree:
        if key not in known:
            raise ConfigError("no such section", path=key, try_next=nearest(key, known))
    for section in ("bench", "claim", "metadata", "rail"):
        if not isinstance(tree.get(section, {}), dict):
            raise ConfigError(
                f"{tree[section]!r} is a value, not a table", path=section
            )
    metadata = dict(tree.get("metadata", {}))
    try:
        json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            "holds what JSON cannot say",
            path="metadata",
            evidence=str(error),
            try_next="dates as text, no nan",
        ) from error
    parts = ("sut", "scenario", "task")
    sut, scenario, task = (_choice(part, tree.get(part), folder) for part in parts)
    claim = _claim(tree.get("claim", {}))
    bench = typed(BenchSettings, tree.get("bench", {}), "bench")
    monitors = _monitors(tree, folder)
    no_monitor = None
    if [choice.kind for choice in monitors.values()] == [NO_MONITOR]:
        no_monitor = monitors.pop("")
    resolved = Config(
        bench=bench,
        sut=sut,
        monitors=monitors,
        scenario=scenario,
        task=task,
        claim=claim,
        metadata=metadata,
        folder=folder,
        no_monitor=no_monitor,
        labgrid=_labgrid(tree, folder),
    )
    _refuse_unlent(resolved)
    return resolved


def _labgrid(tree: Mapping[str, Any], folder: Path) -> LabgridSettings | None:
    table = tree.get("labgrid")
    if table is None:
        return None
    settings = typed(LabgridSettings, table, "labgrid")
    if not settings.place and not settings.environment:
        raise ConfigError(
            "a place is needed",
            path="labgrid",
            try_next='place = "NAME" (labgrid-client places), or environment = "FILE"',
        )
    found: LabgridSettings = _absolute(settings, table, folder)
    return found


def _refuse_unlent(resolved: Config) -> None:
    """Refuse a port of a place where no place is named."""
    if resolved.labgrid is not None:
        return
    for choice in (resolved.sut, *resolved.monitors.values()):
        for part in dataclasses.fields(choice.settings):
            if is_lent(getattr(choice.settings, part.name)):
                raise ConfigError(
                    f"{LENT!r} is a resource of a place, and the bench has none",
                    path=f"{choice.kind}.{part.name}",
                    try_next='[labgrid] with place = "NAME", or the port itself',
                )


def _claim(table: Mapping[str, Any]) -> dict[str, float]:
    claim: dict[str, float] = typed(dict[str, float], table, "claim")
    for name, value in claim.items():
        if not math.isfinite(value):
            raise ConfigError(
                f"{value} is no value that {name} can have",
                path=f"claim.{name}",
                try_next="a finite number, in SI units",
            )
    return claim


def _monitors(tree: Mapping[str, Any], folder: Path) -> dict[str, PluginChoice]:
    rails = tree.get("rail", {})
    if not rails:
        return {"": _choice("monitor", tree.get("monitor"), folder)}
    if "monitor" in tree:
        raise ConfigError(
            "both are given",
            path=("monitor", "rail"),
            try_next="[monitor.KIND] for one supply, [rail.NAME.KIND] for several",
        )
    for name, table in rails.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
            raise ConfigError(
                f"{name!r} names a folder",
                path="rail",
                try_next="small letters, digits and _: [rail.core.joulescope]",
            )
        if isinstance(table, dict) and NO_MONITOR in table:
            hint = f"[monitor.{NO_MONITOR}] where nothing is measured"
            raise ConfigError(
                "a rail is a supply that is measured",
                path=f"rail.{name}.{NO_MONITOR}",
                try_next=f"leave the rail out; {hint}",
            )
    return {
        name: _choice("monitor", table, folder, f"rail.{name}")
        for name, table in rails.items()
    }


def _choice(section: str, table: Any, folder: Path, place: str = "") -> PluginChoice:
    place = place or section
    is_choice = isinstance(table, dict) and len(table) == 1
    if not is_choice or not isinstance(next(iter(table.values())), dict):
        raise ConfigError(
            f"exactly one table [{place}.KIND] is needed",
            path=place,
            evidence=f"there is {_said(table)}",
            try_next=f"KIND is one of {', '.join(plugins.names(section))}",
        )
    kind, values = next(iter(table.items()))
    form = plugins.find(section, kind).Settings
    settings = typed(form, with_defaults(form, values), f"{place}.{kind}")
    return PluginChoice(kind, _absolute(settings, values, folder))


def _said(table: Any) -> str:
    """Return in words what stands in the place of one table of a kind."""
    if table is None or table == {}:
        return "none"
    if not isinstance(table, dict):
        return f"the value {table!r}"
    return ", ".join(
        name if isinstance(values, dict) else f"{name} = {values!r}, which is a value"
        for name, values in table.items()
    )


def settings_of(section: str, kind: str, changes: Sequence[str]) -> Any:
    """Return the settings of a kind without a bench file; `changes` are NAME=VALUE,
    paths of them from the working folder. ConfigError as of a bench file.
    """
    tree: dict[str, Any] = {section: {kind: {}}}
    for change in changes:
        _override(tree, f"{section}.{kind}.{change}")
    return _choice(section, tree[section], Path.cwd()).settings


@cache
def hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a kind's settings by their names, with what declares
    them."""
    return typing.get_type_hints(kind, include_extras=True)


def paths(form: type) -> list[str]:
    """Return the names of the settings of a kind that are paths of this computer."""
    types = hints(form)
    return [name for name in types if PATH in getattr(types[name], "__metadata__", ())]


def programs(settings: Any) -> list[str]:
    """Return the names of the settings that name the program that a device is."""
    types = hints(settings.__class__)
    return [
        name for name in types if PROGRAM in getattr(types[name], "__metadata__", ())
    ]


def tables(value: Any) -> list[Any]:
    """Return the tables of settings that a setting is made of, such as the problems of
    a task; none where it is a plain value.
    """
    items = value if isinstance(value, tuple) else (value,)
    return [item for item in items if dataclasses.is_dataclass(item)]


def states_path(settings: Any, name: str) -> bool:
    """Check whether a setting is a path of this computer, or has one in a table."""
    value = getattr(settings, name)
    if name in paths(type(settings)):
        default = type(settings).__dataclass_fields__[name].default
        return bool(value != default)
    for table in tables(value):
        if any(states_path(table, part.name) for part in dataclasses.fields(table)):
            return True
    return False


def without_paths(settings: Any) -> dict[str, Any]:
    """Return the settings by name, also those of tables, without paths."""
    result = {}
    named = paths(type(settings))
    for part in dataclasses.fields(settings):
        value = getattr(settings, part.name)
        if part.name not in named:
            inner = tables(value)
            result[part.name] = [without_paths(each) for each in inner] or value
    return result


def _absolute(settings: Any, values: Mapping[str, Any], folder: Path) -> Any:
    """Make relative paths absolute, also those in tables: they start at the bench
    file's folder, or at the working folder where the command line states them; `values`
    are as stated.
    """
    named = paths(type(settings))
    changes: dict[str, Any] = {}
    for part in dataclasses.fields(settings):
        value = getattr(settings, part.name)
        stated = values.get(part.name)
        if part.name in named and value != part.default:
            base = Path.cwd() if isinstance(stated, _CommandLineText) else folder
            # Links stay links: the Python of an environment is one, and is another
            # without it.
            changes[part.name] = os.path.abspath(base / expanded(value))  # noqa: PTH100
        elif isinstance(stated, dict) and dataclasses.is_dataclass(value):
            changes[part.name] = _absolute(value, stated, folder)
        elif isinstance(stated, list) and tables(value):
            pairs = zip(value, stated, strict=True)
            changes[part.name] = tuple(
                _absolute(item, table, folder) for item, table in pairs
            )
    return dataclasses.replace(settings, **changes)
