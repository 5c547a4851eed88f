# SPDX-License-Identifier: Apache-2.0
"""`rig model map`: how a chip would hold a network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from rig.bench import plugins
from rig.bench.config import settings_of
from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.models.model_kinds import refuse_tflite
from rig.cli.options import FILE
from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError
from rig.interfaces.plugin_classes import MapsNetworks
from rig.network import conventions, graph
from rig.network.conventions import ConventionChoice

set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the backend; may be repeated.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("map")
@click.argument("path", metavar="MODEL.nir", type=FILE)
@click.option(
    "--on", "kind", required=True, metavar="KIND", help="The backend, as in [sut.KIND]."
)
@dt_option
@conventions_options
@set_option
@json_option
def map_model(
    path: Path,
    kind: str,
    dt_s: float | None,
    choice: ConventionChoice,
    changes: Sequence[str],
    as_json: bool,
) -> None:
    """Print how a backend's chip would hold a network.

    The network does not run: an SDK maps it without a board.
    """
    backend: object = plugins.find("sut", kind)
    if not isinstance(backend, MapsNetworks):
        raise ConfigError(
            f"[sut.{kind}] maps no networks",
            path="--on",
            try_next=f"one of {', '.join(kinds_with(MapsNetworks))}",
        )
    step_s, rule = asked(path, dt_s, choice)
    settings = settings_of("sut", kind, changes)
    print_report(backend.mapping(settings, path, step_s, *rule), as_json)


def kinds_with(hook: type) -> list[str]:
    """List the kinds of backends that offer an optional interface."""
    kinds = []
    for kind in plugins.names("sut"):
        # One that cannot be loaded is not offered.
        with suppress(ConfigError):
            if isinstance(plugins.find("sut", kind), hook):
                kinds.append(kind)
    return kinds


def asked(
    path: Path, dt_s: float | None, choice: ConventionChoice
) -> tuple[float | None, tuple[str, ...]]:
    """Return the time step to ask a backend with, and the rule of the conventions where
    they were chosen.
    """
    refuse_tflite(path)
    read = graph.read(path)
    if dt_s is None:
        dt_s = choice.dt_s(graph.stated_dt_s(read))
    if choice == ConventionChoice():
        return dt_s, ()
    return dt_s, (conventions.text_of(choice.of(graph.taken_apart(read)[0])),)


def print_report(found: Mapping[str, Any], as_json: bool) -> None:
    """Print the report of a backend, as JSON or one line for each entry."""
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for line in _lines(found, 0):
        indent = " " * (len(line) - len(line.lstrip()))
        say_plain(line.lstrip(), indent)


def _lines(found: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{indent}{name}:"
            for one in value:
                yield f"{indent}  {_row(one)}"
        elif isinstance(value, list):
            yield f"{indent}{name}: {', '.join(map(str, value))}"
        else:
            yield f"{indent}{name}: {_word(value)}"


def _row(one: Mapping[str, Any]) -> str:
    parts = [
        f"{name} ({_row(value)})"
        if isinstance(value, Mapping)
        else f"{name} {_word(value)}"
        for name, value in one.items()
    ]
    return ", ".join(parts)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
