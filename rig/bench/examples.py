# SPDX-License-Identifier: Apache-2.0
"""The example benches of the rig: their content, and a copy to start from."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rig.bench import config
from rig.bench.bench_file import BenchFile, write
from rig.bench.config import Config
from rig.errors import ConfigError, did_you_mean
from rig.files.shipped import shipped

_KINDS = ("sut", "monitor", "scenario", "task")
#: Folder of the images in the examples, and the name of a project that replaces it.
_IMAGES = '"../firmware/build/'
_PROJECT = "firmware"


@dataclass(frozen=True, slots=True)
class Example:
    """An example bench: its kinds of device, monitor, scenario and task, and the words
    at its head.
    """

    name: str
    path: Path
    sut: str
    monitor: str
    scenario: str
    task: str
    about: str

    @property
    def kinds(self) -> tuple[str, str, str, str]:
        """The kinds of its parts."""
        return self.sut, self.monitor, self.scenario, self.task

    @property
    def text(self) -> str:
        """The bench as it is written for a project in the same folder."""
        return self.path.read_text(encoding="utf-8").replace(
            _IMAGES, f'"{_PROJECT}/build/'
        )


def examples() -> list[Example]:
    """Return all example benches, by name."""
    return [_example(path) for path in sorted(shipped("benches").glob("*.toml"))]


def example(name: str) -> Example:
    """Return the example of a name, with or without .toml; raises ConfigError."""
    known = {each.name: each for each in examples()}
    name = name.removesuffix(".toml")
    if name not in known:
        raise ConfigError(
            f"there is no example bench {name}",
            path="NAME",
            try_next=(
                f"{did_you_mean(name, known, 3)}rig bench list shows all, with what is"
                " in each"
            ),
        )
    return known[name]


def new(name: str, path: Path) -> BenchFile:
    """Write an example to a file that is not there yet; raises ConfigError and
    BenchError."""
    return write(path, example(name).text, new=True)


def steps(name: str, path: Path) -> list[str]:
    """Return the commands to give before a bench made of an example runs, and that
    which runs it.
    """
    _, image, rest = example(name).path.read_text(encoding="utf-8").partition(_IMAGES)
    place = rest.partition('"')[0]
    found = _made_by(path.parent / _PROJECT, place) if image else []
    return [*found, f"rig run {path}"]


def refuse_missing(resolved: Config) -> None:
    """Raise ConfigError where the program that the device is, is not there."""
    settings = resolved.sut.settings
    for name in config.programs(settings):
        program = Path(getattr(settings, name))
        if not program.name or program.is_file():
            continue
        folder = program.parents[2] if len(program.parents) > 2 else program.parent
        made = "; ".join(_made_by(folder, f"{program.parent.name}/{program.name}"))
        raise ConfigError(
            f"there is no program {program}",
            path=f"sut.{resolved.sut.kind}.{name}",
            evidence="the device is this program: a session cannot begin without it",
            try_next=f"{made}; in a checkout make firmware",
        )


def _made_by(folder: Path, place: str) -> list[str]:
    """Return the commands that make an image of a project, named as PORT/NAME."""
    port = place.partition("/")[0]
    quoted = shlex.quote(str(folder))
    build = f"rig firmware build {quoted}"
    # the firmware as a process of this machine, by this machine's clock
    if port == "host":
        port = "posix"
        build += f" build/{place}"
    kind = "port" if port == "posix" else "board"
    name = port.removesuffix("-emulated")
    if name != port:
        build += f" build/{place}"
    return [f"rig firmware new {quoted} --{kind} {name}", build]


def _example(path: Path) -> Example:
    text = path.read_text(encoding="utf-8")
    tree = tomllib.loads(text)
    about = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        about.append(line.lstrip("# "))
    return Example(path.stem, path, *_kinds(tree), about=" ".join(about))


def _kinds(tree: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the kinds of a bench; of several rails the monitor of each."""
    found = []
    for key in _KINDS:
        tables = [tree.get(key, {})]
        if key == "monitor":
            tables += list(tree.get("rail", {}).values())
        found.append(" + ".join(chain.from_iterable(tables)) or "-")
    sut, monitor, scenario, task = found
    return sut, monitor, scenario, task
