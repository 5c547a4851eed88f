# SPDX-License-Identifier: Apache-2.0
"""`rig bench`: list the example benches, and write one to start from."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from rig.cli.lazy import LazyGroup
from rig.cli.terminal import Terminal
from rig.errors import ConfigError, storage_error
from rig.shipped import shipped

_OUT = Terminal()
_KINDS = ("sut", "monitor", "scenario", "task")
#: Where the images of the examples lie, and where those of a project named firmware will.
_IMAGES = '"../firmware/build/'
_PROJECT = "firmware"


@click.group(cls=LazyGroup)
def bench() -> None:
    """List example benches, or write one to start from."""


@bench.command("list", short_help="List the example benches, and what is in each")
def list_() -> None:
    """List the example benches: device, energy monitor, scenario and task of each."""
    paths = sorted(shipped("benches").glob("*.toml"))
    width = max(len(path.stem) for path in paths)
    for path in paths:
        kinds = ", ".join(_kinds(tomllib.loads(path.read_text(encoding="utf-8"))))
        _say(f"{path.stem:<{width}}  {kinds}")
    _say("rig bench new NAME writes one of them here")


@bench.command(short_help="Write an example bench to a file")
@click.argument("name")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def new(name: str, file: Path | None) -> None:
    """Write the example bench NAME to FILE, by default NAME.toml in this folder."""
    name = name.removesuffix(".toml")
    known = {path.stem: path for path in sorted(shipped("benches").glob("*.toml"))}
    if name not in known:
        raise ConfigError(
            f"there is no example bench {name}", path="NAME", try_next=f"one of {', '.join(known)}"
        )
    text = known[name].read_text(encoding="utf-8")
    file = file or Path(f"{name}.toml")
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text.replace(_IMAGES, f'"{_PROJECT}/build/'))
    except FileExistsError as error:
        raise ConfigError(
            f"{file} is there already", path="FILE", try_next="another name; nothing was written"
        ) from error
    except OSError as error:
        raise storage_error(error, file) from error
    _say(f"{file} is written")
    for step in _steps(text, file):
        _say(f"next: {step}")


def _kinds(tree: dict[str, Any]) -> list[str]:
    """Return what is in a bench, by its kinds; of several rails the monitor of each."""
    found = []
    for key in _KINDS:
        tables = [tree.get(key, {})]
        if key == "monitor":
            tables += list(tree.get("rail", {}).values())
        found.append(" + ".join(kind for table in tables for kind in table) or "-")
    return found


def _steps(text: str, file: Path) -> list[str]:
    """Return what to do before the bench runs, and how to run it."""
    steps = []
    _, image, rest = text.partition(_IMAGES)
    if image:
        place = rest.partition('"')[0]
        port = place.partition("/")[0]
        folder = file.parent / _PROJECT
        build = f"rig firmware build {folder}"
        if port == "host":  # the firmware as a process of this machine, by this machine's clock
            port = "posix"
            build += f" build/{place}"
        steps += [f"rig firmware new {folder} --port {port}", build]
    return [*steps, f"rig run {file}"]


def _say(text: str) -> None:
    _OUT.print(escape(text), soft_wrap=True, highlight=False)
