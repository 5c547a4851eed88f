# SPDX-License-Identifier: Apache-2.0
"""The text of a bench file, edited key by key: comments and order stay, and only what
differs from the defaults is written.

A text is a value: each edit returns another one, so that undo is to keep the one
before.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from rig.bench import config, plugins
from rig.bench.bench_lines import Keys, Statement, comment_of, line_of, statements
from rig.errors import ConfigError
from rig.settings.fields import REQUIRED, SettingField, fields_of, flat

_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_ORDER = ("bench", "sut", "monitor", "rail", "scenario", "task", "claim", "metadata")


class Unset:
    """The value of a key that a file does not state."""

    def __repr__(self) -> str:
        return "unset"


UNSET: Final = Unset()


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Why a text is no bench file, and at which line, from 1, where one is to blame."""

    error: ConfigError
    line: int | None

    @property
    def sentence(self) -> str:
        """The line, the cause and what to try, in one line."""
        error = self.error
        parts = [
            error.cause,
            error.evidence,
            f"try: {error.try_next}" if error.try_next else "",
        ]
        place = f"line {self.line}: " if self.line else ""
        return place + "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class BenchText:
    """A bench file as text."""

    text: str

    def problem(self, folder: Path) -> TextProblem | None:
        """Find the first problem, in the words of `rig run`; None if there is none."""
        try:
            config.parsed(self.text, folder)
        except ConfigError as error:
            return TextProblem(error, self._line(error))
        return None

    @property
    def is_toml(self) -> bool:
        """Whether it can be read at all: a form can be made of it."""
        try:
            tomllib.loads(self.text)
            tomlkit.parse(self.text)
        except (ValueError, TOMLKitError, RecursionError):
            return False
        return True

    def tree(self) -> dict[str, Any]:
        """Return its tables; raises ConfigError where it is no TOML."""
        return config.tree_of(self.text, "the text")

    def value(self, path: str) -> Any:
        """Return the value of a key, UNSET where it is not stated."""
        return value_at(self.tree(), path)

    def kind(self, place: str) -> str:
        """Return the kind that stands at a place as "sut" or "rail.core"; "" where not
        one does."""
        table = self.value(place)
        return (
            next(iter(table)) if isinstance(table, Mapping) and len(table) == 1 else ""
        )

    def monitors(self) -> dict[str, str]:
        """Return the place of each monitor, by its rail; of the only one by the empty
        name."""
        rails = self.value("rail")
        if isinstance(rails, Mapping) and rails:
            return {name: f"rail.{name}" for name in rails}
        return (
            {"": "monitor"}
            if self.kind("monitor") not in ("", config.NO_MONITOR)
            else {}
        )

    def with_value(self, path: str, value: Any) -> BenchText:
        """Return the text with a value for a key. The default is not written, unless a
        comment follows the key.
        """
        field = field_at(path)
        if (
            field is not None
            and field.default is not REQUIRED
            and _same(value, field.default)
        ):
            stated = self._statement(tuple(path.split(".")))
            if stated is None or not comment_of(
                "\n".join(self._lines[stated.first : stated.stop])
            ):
                return self.without(path)
        if self.value(path) is not UNSET:
            return self._changed(path, value)
        return self._added(path, value)

    def without(self, path: str) -> BenchText:
        """Return the text without a key; a comment after it stays, on a line of its
        own.
        """
        if self.value(path) is UNSET:
            return self
        stated = self._statement(tuple(path.split(".")))
        if stated is None:  # inside an inline table
            return self._changed(path, UNSET)
        lines = self._lines
        comment = comment_of("\n".join(lines[stated.first : stated.stop]))
        lines[stated.first : stated.stop] = [comment] if comment else []
        return self._of(lines)._tidied(tuple(path.split("."))[:-1])

    def with_kind(self, place: str, kind: str) -> BenchText:
        """Return it with another kind at a place, as "sut" or "rail.core": keys that
        the new kind has as well stay, with all comments.
        """
        old = self.kind(place)
        if old == kind:
            return self
        if not old:
            return self._with_table((*place.split("."), kind))
        section, _ = config.section_of(place.split("."))
        known = {
            field.name for field in fields_of(plugins.find(section, kind).Settings)
        }
        edited = self
        for name in self.value(f"{place}.{old}"):
            if name not in known:
                edited = edited._without_table(f"{place}.{old}.{name}")
        was = (*place.split("."), old)
        return edited._renamed(was, (*was[:-1], kind))

    def with_monitor(self, kind: str, rail: str = "", first: str = "main") -> BenchText:
        """Return it with a monitor more: for the only supply, or for a `rail`; the
        monitor of the only supply then becomes that of the rail `first`.
        """
        there = self.monitors()
        if not there:
            if self.kind("monitor"):
                return self.with_kind("monitor", kind)
            return self._with_table(("monitor", kind))
        if not rail or rail in there or (set(there) == {""} and rail == first):
            raise ConfigError(
                f"the supply {rail!r} is measured already"
                if rail
                else "a second supply has a name",
                path="rail",
                try_next="another name, of small letters, digits and _",
            )
        edited = self
        if "" in there:
            edited = self._renamed(("monitor",), ("rail", first))
        return edited._with_table(("rail", rail, kind))

    def without_monitor(self, rail: str = "") -> BenchText:
        """Return it without the monitor of a rail; without the last one, none
        measures."""
        there = self.monitors()
        if len(there) > 1:
            return self._without_table(there[rail])
        place = there[rail]
        edited = self._without_table(place)
        return edited._with_table(("monitor", config.NO_MONITOR))

    # Lines and tables

    @property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _of(self, lines: list[str]) -> BenchText:
        return BenchText("\n".join(lines))

    def _line(self, error: ConfigError) -> int | None:
        if match := _AT_LINE.search(error.evidence):
            return int(match[1])
        if "(at end of document)" in error.evidence:
            return max(len(self.text.rstrip("\n").split("\n")), 1)
        return line_of(self.text, error.keys[0]) if error.path else None

    def _statement(self, keys: Keys) -> Statement | None:
        for each in statements(self._lines):
            if each.keys == keys and not each.is_head:
                return each
        return None

    def _below(self, keys: Keys) -> list[Statement]:
        return [
            each for each in statements(self._lines) if each.keys[: len(keys)] == keys
        ]

    def _changed(self, path: str, value: Any) -> BenchText:
        """Set a key of a table that is there; UNSET removes it."""
        document = tomlkit.parse(self.text)
        node: Any = document
        *above, last = path.split(".")
        for key in above:
            node = node[key]
        if value is UNSET:
            del node[last]
        else:
            node[last] = value
        return BenchText(tomlkit.dumps(document))

    def _added(self, path: str, value: Any) -> BenchText:
        keys = tuple(path.split("."))
        edited = self._with_table(keys[:-1])
        within = edited._below(keys[:-1])
        heads = [each for each in within if each.is_head and each.keys == keys[:-1]]
        if not heads:  # the table is an inline one, or made of dotted keys
            return edited._changed(path, value)
        *_, last = edited._table(heads[0])
        lines = edited._lines
        line = f"{_key(keys[-1])} = {tomlkit.item(value).as_string()}"
        lines.insert(last.stop, line)
        return edited._of(lines)

    def _table(self, head: Statement) -> list[Statement]:
        """Return a head with the keys that follow it, up to the next head."""
        lines_of_table = [head]
        for each in statements(self._lines):
            if each.first <= head.first:
                continue
            if each.is_head:
                break
            lines_of_table.append(each)
        return lines_of_table

    def _with_table(self, keys: Keys) -> BenchText:
        """Add a table, after the tables that belong together with it."""
        if self.value(".".join(keys)) is not UNSET:
            return self
        lines = self._lines
        depths = range(len(keys) - 1, 0, -1)
        together = list(
            chain.from_iterable(self._below(keys[:depth]) for depth in depths)
        )
        rank = _rank(keys)
        before = [each for each in statements(lines) if _rank(each.keys) <= rank]
        at = max((each.stop for each in together or before), default=0)
        head = f"[{'.'.join(map(_key, keys))}]"
        lines[at:at] = ["", head] if at else [head]
        return self._of(lines)

    def _without_table(self, path: str) -> BenchText:
        """Return it without a table or key and all below; comments above a removed head
        go with it, as they speak of it.
        """
        keys = tuple(path.split("."))
        lines = self._lines
        gone: set[int] = set()
        for each in self._below(keys):
            gone |= set(range(each.first, each.stop))
            above = each.first - 1
            while each.is_head and above >= 0 and lines[above].lstrip().startswith("#"):
                gone.add(above)
                above -= 1
            if each.is_head and above >= 0 and not lines[above].strip():
                gone.add(above)
        if not gone:
            return self.without(path)
        return self._of([line for at, line in enumerate(lines) if at not in gone])

    def _renamed(self, was: Keys, now: Keys) -> BenchText:
        """Return it with other first keys of a table and of all tables below it."""
        edited = self
        lines = self._lines
        heads = [each for each in self._below(was) if each.is_head]
        for each in heads:
            name = ".".join(map(_key, (*now, *each.keys[len(was) :])))
            line = lines[each.first]
            end = line.index("]", line.index("["))
            lines[each.first] = f"{line[: line.index('[') + 1]}{name}{line[end:]}"
            edited = self._of(lines)
        if not heads:  # of inline tables and dotted keys
            document = tomlkit.parse(self.text)
            node: Any = document
            for key in was[:-1]:
                node = node[key]
            table = tomlkit.item(node.pop(was[-1]).unwrap())
            node = document
            for key in now[:-1]:
                node = node.setdefault(key, tomlkit.table())
            node[now[-1]] = table
            edited = BenchText(tomlkit.dumps(document))
        return edited

    def _tidied(self, keys: Keys) -> BenchText:
        """Return it without the head of a table inside a kind's that has become
        empty."""
        _, depth = config.section_of(keys)
        heads = [each for each in self._below(keys) if each.is_head]
        if len(keys) <= depth + 1 or len(heads) != 1 or len(self._table(heads[0])) > 1:
            return self
        lines = self._lines
        at = heads[0].first
        # a comment speaks of the table
        if lines[at + 1 : at + 2] and lines[at + 1].strip():
            return self
        first = at - 1 if at and not lines[at - 1].strip() else at
        return self._of(lines[:first] + lines[at + 1 :])


def value_at(tree: Mapping[str, Any], path: str) -> Any:
    """Return the value below dotted keys, UNSET where there is none."""
    node: Any = tree
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return UNSET
        node = node[key]
    return node


def field_at(path: str) -> SettingField | None:
    """Return the setting that a path names, with its kind in it; None where there is
    none."""
    keys = path.split(".")
    section, depth = config.section_of(keys)
    if section not in ("bench", *plugins.GROUPS) or len(keys) <= depth:
        return None
    try:
        settings, prefix = settings_at(keys)
    except ConfigError:
        return None
    return dict(flat(fields_of(settings))).get(path.removeprefix(f"{prefix}."))


def settings_at(keys: list[str]) -> tuple[type, str]:
    """Return the Settings that a key belongs to, and the path of their table; raises
    ConfigError where there is no such kind.
    """
    if keys[0] == "bench":
        return config.BenchSettings, "bench"
    section, depth = config.section_of(keys)
    settings = plugins.find(section, keys[depth]).Settings
    return settings, ".".join(keys[: depth + 1])


def _rank(keys: Keys) -> int:
    """Return where a section stands in a file; other tables come last."""
    return _ORDER.index(keys[0]) if keys[0] in _ORDER else len(_ORDER)


def _same(value: Any, default: Any) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and tuple(value) == default
    return bool(value == default) and isinstance(value, bool) == isinstance(
        default, bool
    )


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
