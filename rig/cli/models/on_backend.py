# SPDX-License-Identifier: Apache-2.0
"""`rig model map` and `sense`: how a chip would hold a network, and the readings of a
board that runs it.
"""

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
from rig.cli.models.model_kinds import refuse_int8
from rig.cli.options import FILE
from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError
from rig.interfaces.plugin_classes import MapsNetworks, SensesItself
from rig.network import conventions, graph
from rig.network.array_file import array_of
from rig.network.conventions import ConventionChoice

_on_option = click.option(
    "--on", "kind", required=True, metavar="KIND", help="The backend, as in [sut.KIND]."
)
_set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the backend; may be repeated.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("map")
@click.argument("path", metavar="MODEL.nir", type=FILE)
@_on_option
@dt_option
@conventions_options
@_set_option
@_json_option
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
            try_next=f"one of {', '.join(_kinds_with(MapsNetworks))}",
        )
    refuse_int8(path, "and only networks in NIR files are mapped")
    step_s, rule = _asked(path, dt_s, choice)
    settings = settings_of("sut", kind, changes)
    _print_report(backend.mapping(settings, path, step_s, *rule), as_json)


@click.command("sense")
@click.argument("path", metavar="MODEL.nir", type=FILE)
@click.argument("inputs", metavar="INPUT.npy", type=FILE)
@_on_option
@dt_option
@conventions_options
@_set_option
@_json_option
def sense_model(
    path: Path,
    inputs: Path,
    kind: str,
    dt_s: float | None,
    choice: ConventionChoice,
    changes: Sequence[str],
    as_json: bool,
) -> None:
    """Print the readings of a board's own sensors while it runs a network.

    Times and energies are means over runs, without SYNC, each with its label. A monitor
    of the rig measures the energy of each window instead.
    """
    backend: object = plugins.find("sut", kind)
    if not isinstance(backend, SensesItself):
        raise ConfigError(
            f"[sut.{kind}] has no sensors of its own",
            path="--on",
            try_next=f"one of {', '.join(_kinds_with(SensesItself))}",
        )
    values = array_of(inputs)
    values = values[None] if values.ndim == 2 else values
    refuse_int8(path, "and only networks in NIR files are sensed")
    step_s, rule = _asked(path, dt_s, choice)
    settings = settings_of("sut", kind, changes)
    _print_report(backend.sense(settings, path, step_s, values, *rule), as_json)


def _kinds_with(hook: type) -> list[str]:
    """List the kinds of backends that offer an optional interface."""
    kinds = []
    for kind in plugins.names("sut"):
        # One that cannot be loaded is not offered.
        with suppress(ConfigError):
            if isinstance(plugins.find("sut", kind), hook):
                kinds.append(kind)
    return kinds


def _asked(
    path: Path, dt_s: float | None, choice: ConventionChoice
) -> tuple[float | None, tuple[str, ...]]:
    """Return the time step to ask a backend with, and the rule of the conventions where
    they were chosen.
    """
    read = graph.read(path)
    if dt_s is None:
        dt_s = choice.dt_s(graph.stated_dt_s(read))
    if choice == ConventionChoice():
        return dt_s, ()
    return dt_s, (conventions.text_of(choice.of(graph.taken_apart(read)[0])),)


def _print_report(report: Mapping[str, Any], as_json: bool) -> None:
    """Print the report of a backend, as JSON or one line for each entry."""
    if as_json:
        click.echo(json.dumps(report, indent=1))
        return
    for line in _lines(report, 0):
        indent = " " * (len(line) - len(line.lstrip()))
        say_plain(line.lstrip(), indent)


def _lines(content: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in content.items():
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
    parts = []
    for name, value in one.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} ({_row(value)})")
        else:
            parts.append(f"{name} {_word(value)}")
    return ", ".join(parts)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
