# SPDX-License-Identifier: Apache-2.0
"""`rig list`: what is installed, and the sessions there are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from rig.bench import plugins
from rig.bench.config import BenchSettings
from rig.cli.options import NO_SESSIONS, has_sessions, refuse_idle, sessions_option
from rig.cli.printed.labels import of_session
from rig.cli.printed.terminal import Terminal, escape, print_rows
from rig.errors import ConfigError, DataError, RigError, did_you_mean
from rig.results import changed, document, labels
from rig.settings.fields import fields_of, flat
from rig.store import session_folder
from rig.store.session_folder import SessionFolder


@click.command("list")
@click.argument("name", metavar="[SECTION.KIND]", default="")
@sessions_option
def list_(name: str, sessions: Path) -> None:
    """List backends, monitors, scenarios, tasks and sessions.

    With a name, as sut.uart, list the settings of that kind; with bench, those of the bench.
    """
    out = Terminal()
    if name:
        refuse_idle("beside SECTION.KIND", "sessions")
        _print_settings(out, name)
        return
    is_there = has_sessions(sessions)
    titles = {
        "sut": "systems under test",
        "monitor": "monitors",
        "scenario": "scenarios",
        "task": "tasks",
    }
    for section, title in titles.items():
        print_rows(out, title, [(name, _about(section, name)) for name in plugins.names(section)])
    if not is_there:
        out.print(escape(NO_SESSIONS.format(sessions)), soft_wrap=True)
        return
    print_rows(
        out,
        f"sessions in {sessions}",
        [(path.name, _status(path)) for path in _session_folders(sessions)],
    )


def _print_settings(out: Terminal, name: str) -> None:
    """Print type, unit, default, range and help of every key of a table of a bench file."""
    section, _, kind = name.partition(".")
    if name != "bench" and section not in plugins.GROUPS:
        names = ", ".join(f"{each}.KIND" for each in plugins.GROUPS)
        raise ConfigError(
            "no such section",
            path=section,
            try_next=f"{did_you_mean(section, ('bench', *plugins.GROUPS))}bench, {names}",
        )
    settings = BenchSettings if name == "bench" else plugins.find(section, kind).Settings
    out.print(f"[bold]{escape(f'[{name}]')}[/]")
    for key, field in flat(fields_of(settings)):
        words = f"[bold]{escape(key)}[/]  {escape(field.summary)}"
        out.print(f"  {words}", soft_wrap=True, highlight=False)
        out.print(f"      [dim]{escape(field.help)}[/]", soft_wrap=True, highlight=False)


def _about(section: str, name: str) -> str:
    try:
        return (inspect.getdoc(plugins.find(section, name)) or "").split("\n")[0]
    except RigError as error:
        return f"not usable: {error.cause}"


def _session_folders(root: Path) -> Iterator[Path]:
    for path in sorted(root.glob("*")):
        if SessionFolder(path).is_denied() or (path / session_folder.EVENTS).exists():
            yield path


def _status(path: Path) -> str:
    folder = SessionFolder(path)
    if folder.is_unbegun():
        return "empty: its run ended before its first line"
    try:
        folder.refuse_other()
        folder.events()
        status = folder.journal().status
        status = "killed or running" if status == "killed" else status
        found = path / session_folder.RESULTS
        marked = of_session(path)
        is_changed = any(label.text == changed.CHANGED for label in marked)
        verdict = document.read(found).outcome.upper() if found.exists() else ""
    except (DataError, OSError, LookupError, TypeError, ValueError):
        return "not readable"
    return ", ".join(filter(None, (status, "" if is_changed else verdict, labels.texts(marked))))
