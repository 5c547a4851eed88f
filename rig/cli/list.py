# SPDX-License-Identifier: Apache-2.0
"""`rig list`: installed kinds and existing sessions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig.bench import plugins
from rig.cli.options import (
    NO_SESSIONS,
    has_sessions,
    json_option,
    refuse_idle,
    sessions_option,
)
from rig.cli.printed.terminal import Terminal, escape, print_rows, say
from rig.errors import ConfigError, RigError, did_you_mean

if TYPE_CHECKING:
    from rig.api.archive.listing import Listed
    from rig.settings.fields import SettingField

_TITLES = {
    "sut": "systems under test",
    "monitor": "monitors",
    "scenario": "scenarios",
    "task": "tasks",
}


@dataclass(frozen=True, slots=True)
class ListedKind:
    """A kind for a bench file: its description, or the reason why it is not usable."""

    name: str
    about: str
    not_usable: str = ""

    @property
    def text(self) -> str:
        """The description or the reason."""
        return f"not usable: {self.not_usable}" if self.not_usable else self.about


@click.command("list")
@click.argument("name", metavar="[SECTION.KIND]", default="")
@sessions_option
@json_option
def list_(name: str, sessions: Path, as_json: bool) -> None:
    """List backends, monitors, scenarios, tasks and sessions.

    With a name such as sut.uart, list the settings of that kind; with bench, those of
    the bench.
    """
    if name:
        refuse_idle("beside SECTION.KIND", "sessions")
        _list_settings(name, as_json=as_json)
    else:
        _list_kinds(sessions, as_json=as_json)


def _list_settings(name: str, *, as_json: bool) -> None:
    from rig.settings.fields import fields_of, flat

    out = Terminal()
    fields = list(flat(fields_of(_settings(name))))
    if as_json:
        settings = [_of_field(*each) for each in fields]
        out.out(json.dumps({"name": name, "settings": settings}))
    else:
        print_settings(out, name, fields)


def _list_kinds(sessions: Path, *, as_json: bool) -> None:
    out = Terminal()
    kinds: dict[str, list[ListedKind]] = {}
    for section in _TITLES:
        kinds[section] = [_listed(section, kind) for kind in plugins.names(section)]
    is_there = has_sessions(sessions)
    rows: Sequence[Listed] = ()
    if is_there:
        # Imported here: it brings numpy and pyjls, most of the command's time.
        from rig.api.archive.listing import Listing

        rows = Listing(sessions).rows()
    if as_json:
        out.out(json.dumps(document(kinds, rows), indent=1))
    else:
        print_lists(out, kinds, sessions, rows)
        if not is_there:
            say(out, escape(NO_SESSIONS.format(sessions)))


def document(
    kinds: Mapping[str, Sequence[ListedKind]], rows: Sequence[Listed]
) -> dict[str, Any]:
    """Return all lists as JSON holds them; a session that was changed has no
    outcome."""
    tree: dict[str, Any] = {}
    for section, listed in kinds.items():
        tree[section] = [dataclasses.asdict(kind) for kind in listed]
    return tree | {"sessions": [_of_session(row) for row in rows]}


def _of_session(row: Listed) -> dict[str, Any]:
    path = str(row.path)
    outcome = None if row.changed else row.verdict
    return {
        "session": path,
        "status": row.status,
        "outcome": outcome,
        "labels": row.labels,
        "reason": row.reason,
    }


def print_lists(
    out: Terminal,
    kinds: Mapping[str, Sequence[ListedKind]],
    sessions: Path,
    rows: Sequence[Listed],
) -> None:
    """Print the kinds of each section, and the sessions, the newest first."""
    width = max(len(kind.name) for kind in chain.from_iterable(kinds.values()))
    for section, listed in kinds.items():
        print_rows(
            out, _TITLES[section], [(kind.name, kind.text) for kind in listed], width
        )
    print_rows(
        out, f"sessions in {sessions}", [(row.name, _status(row)) for row in rows]
    )
    say(out, "next: rig list SECTION.KIND shows settings, as rig list sut.uart")


def print_settings(
    out: Terminal, name: str, fields: Sequence[tuple[str, SettingField]]
) -> None:
    """Print type, unit, default, range and help of every key of a table of a bench
    file."""
    say(out, f"[bold]{escape(f'[{name}]')}[/]")
    for key, field in fields:
        say(out, escape(field.summary), f"  [bold]{escape(key)}[/]  ")
        say(out, f"[dim]{escape(field.help)}[/]", " " * 6)


def _settings(name: str) -> type:
    """Return the settings of a kind, or of the bench."""
    section, _, kind = name.partition(".")
    if name != "bench" and section not in plugins.GROUPS:
        names = ", ".join(f"{each}.KIND" for each in plugins.GROUPS)
        raise ConfigError(
            "no such section",
            path=section,
            try_next=(
                f"{did_you_mean(section, ('bench', *plugins.GROUPS))}bench, {names}"
            ),
        )
    if name == "bench":
        from rig.bench.config import BenchSettings

        return BenchSettings
    settings: type = plugins.find(section, kind).Settings
    return settings


def _of_field(key: str, field: SettingField) -> dict[str, Any]:
    return {
        "key": key,
        "type": field.type,
        "unit": field.unit,
        "default": field.shown_default,
        "allowed": field.allowed,
        "help": field.help,
    }


def _listed(section: str, kind: str) -> ListedKind:
    """Return a kind with its description, or with the reason why it is not usable."""
    try:
        return ListedKind(kind, plugins.description(section, kind))
    except RigError as error:
        return ListedKind(kind, "", error.cause)


def _status(row: Listed) -> str:
    from rig.api.archive.listing import UNREADABLE

    reason = row.reason if row.status == UNREADABLE else ""
    outcome = "" if row.outcome.upper() in row.labels else row.outcome
    return ", ".join(filter(None, (outcome, reason, *row.labels)))
