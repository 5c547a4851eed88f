# SPDX-License-Identifier: Apache-2.0
"""The questions of `rig start`: which board, monitor and port; all are answered before
a file is written.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import click

from rig.bench.scan import ONBOARD, SERIAL, ScanRow, scan
from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError, did_you_mean
from rig.firmware import project
from rig.firmware.monitors import MONITORS, bench_name
from rig.firmware.project import Port

_NONE = "none"
_SIMULATED = "simulated"
#: No board: the firmware as a process of this computer.
_PROCESS = "posix"
_WORKLOAD = "asc"


@dataclass(frozen=True, slots=True)
class FirstAnswers:
    """The answers that the command line gives, None for those that it does not."""

    folder: Path | None
    board: str | None
    monitor: str | None
    port: str | None
    instrument: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBench:
    """A project to be made, its bench, and the words of the commands for it."""

    folder: Path
    board: str
    monitor: str
    known: Port
    addresses: Mapping[str, str] = field(default_factory=dict)
    workload: str = _WORKLOAD

    @property
    def is_made(self) -> bool:
        """Whether the project is there."""
        return (self.folder / project.PORT_FILE).exists()

    @property
    def is_flashed(self) -> bool:
        """Whether a board runs the image, not this computer."""
        return self.monitor != _SIMULATED

    @property
    def is_wired(self) -> bool:
        """Whether wires are to be made."""
        return self.is_flashed

    @property
    def new_words(self) -> list[str]:
        """The words after the folder that make the project."""
        kind = "--port" if self.known.board is None else "--board"
        return [kind, self.board]

    @property
    def goals(self) -> tuple[str, ...]:
        """What make builds: the image that is run."""
        built = project.goals(self.known, self.workload)
        return built[:1] if self.is_flashed else built[-1:]

    @property
    def wires_words(self) -> list[list[str]]:
        """The words that print the board, and those that print its wires; none of a
        process.
        """
        found = []
        if self.known.board is not None:
            found.append([self.board])
        if self.monitor in MONITORS:
            found.append([self.board, "--monitor", self.monitor])
        return found

    @property
    def bench(self) -> Path:
        """The bench file."""
        if self.monitor in MONITORS:
            return self.folder / f"{bench_name(self.board, self.monitor)}.toml"
        if self.is_flashed or self.known.board is None:
            return self.folder / f"{self.workload}.toml"
        return self.folder / project.emulated_file(self.workload)

    @property
    def again(self) -> str:
        """The command line with these answers."""
        words = [str(self.folder), "--board", self.board, "--monitor", self.monitor]
        for path, address in self.addresses.items():
            option = "--port" if path == _PORT else "--instrument"
            words += [option, address]
        return f"rig start {shlex.join(words)}"


_PORT = "sut.uart.port"


def answered(given: FirstAnswers, *, asks_for_wires: bool) -> FirstBench:
    """Ask for what is not given, and return the project to be made. Raises ConfigError
    for an answer that cannot be, and where there is no terminal to ask at.
    """
    try:
        return _answered(given, asks_for_wires)
    except (KeyboardInterrupt, click.Abort) as error:
        error.add_note("nothing was written")
        raise


def _answered(given: FirstAnswers, asks_for_wires: bool) -> FirstBench:
    known = project.ports(project.sources())
    board = _chosen("--board", "Which board?", _boards(known), given.board)
    port = known[board]
    monitor = _chosen("--monitor", "Which monitor?", _monitors(port), given.monitor)
    folder = given.folder or Path(board)
    _require_room(folder, board)
    addresses = {}
    if monitor == _SIMULATED:
        _refuse_address("--port", given.port)
    else:
        question = "At which serial port is the board?"
        addresses[_PORT] = _typed("--port", question, _ports(), given.port)
    lines = MONITORS.get(monitor)
    if lines is None:
        _refuse_address("--instrument", given.instrument)
    elif given.instrument or lines.address_needed:
        question = f"Where is the {lines.title}?"
        places = _addresses(lines.kind)
        address = _typed("--instrument", question, places, given.instrument)
        addresses[f"monitor.{lines.kind}.{lines.address}"] = address
    first = FirstBench(
        folder=folder, board=board, monitor=monitor, known=port, addresses=addresses
    )
    if first.is_wired and asks_for_wires and not _at_terminal():
        raise ConfigError(
            "there is no terminal to ask at whether the wires are made",
            path="--yes",
            try_next="--yes once they are",
        )
    return first


def confirm(first: FirstBench) -> None:
    """Wait until the wires are made."""
    click.prompt(
        f"Make these wires ({first.folder / 'WIRING.md'} has the picture), then Enter",
        default="",
        show_default=False,
    )


def _boards(known: Mapping[str, Port]) -> dict[str, str]:
    """Return what can be measured, by name, with a description."""
    found = {
        name: f"{port.board.title}, {port.board.core}"
        for name, port in known.items()
        if port.board is not None
    }
    return found | {_PROCESS: "no board: a process of this computer, simulated"}


def _monitors(port: Port) -> dict[str, str]:
    """Return the monitors that a board can have."""
    board = port.board
    found = {}
    if board is not None and board.wiring is not None:
        found = {name: lines.title for name, lines in MONITORS.items()}
    if board is not None and board.flash:
        found[_NONE] = "no energy: accuracy and latency by the board's own clock"
    if port.machine:
        found[_SIMULATED] = f"{port.emulator} in the board's place"
    if board is None:
        found[_SIMULATED] = "a virtual monitor"
    return found


def _chosen(
    option: str, question: str, choices: Mapping[str, str], given: str | None
) -> str:
    """Return one of the choices: as given, or asked until it is one."""
    listed = ", ".join(choices)
    if given is None:
        _require_terminal(option, f"one of {listed}")
        return _picked(question, choices)
    if given not in choices:
        raise ConfigError(
            f"{given} is not one of them",
            path=option,
            try_next=f"{did_you_mean(given, choices)}one of {listed}",
        )
    return given


def _picked(question: str, choices: Mapping[str, str]) -> str:
    """Ask until a name or a number is one of the choices."""
    say_plain(question)
    for number, (name, text) in enumerate(choices.items(), start=1):
        say_plain(f"{name}: {text}", f"  {number:>2}  ")
    numbers = {str(at): name for at, name in enumerate(choices, start=1)}
    while True:
        typed: str = click.prompt("name or number", type=str).strip()
        answer = numbers.get(typed, typed)
        if answer in choices:
            return answer
        say_plain(f"{typed} is neither a name nor a number above")


def _typed(
    option: str, question: str, found: Mapping[str, str], given: str | None
) -> str:
    """Return an address: as given, or asked for; the first that was found is
    proposed.
    """
    if given is not None:
        return given
    hint = f"{option} with one of {', '.join(found)}" if found else option
    _require_terminal(option, f"{hint}; rig scan lists what is attached")
    say_plain(question)
    for address, text in found.items():
        say_plain(text, f"  {address}  ")
    answer: str = click.prompt("address", type=str, default=next(iter(found), None))
    return answer.strip()


def _require_terminal(option: str, hint: str) -> None:
    if not _at_terminal():
        raise ConfigError(
            "an answer is wanted, and there is no terminal to ask at",
            path=option,
            try_next=hint,
        )


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _refuse_address(option: str, given: str | None) -> None:
    if given is not None:
        raise ConfigError(
            f"{option} has no effect here", path=option, try_next=f"leave out {option}"
        )


def _require_room(folder: Path, board: str) -> None:
    """Raise ConfigError for a folder that is neither free nor of the board."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    is_project = folder.is_dir() and (folder / project.PORT_FILE).exists()
    if not is_project or not project.is_of(folder, board):
        raise ConfigError(
            f"{folder} is there, and no project of {board}",
            path="DIR",
            try_next="another folder: rig start DIR; nothing was written",
        )


@cache
def _found() -> list[ScanRow]:
    say_plain("looking for serial ports and instruments ...")
    return scan()


def _ports() -> dict[str, str]:
    """Return the serial ports that no instrument claims."""
    return _addresses(SERIAL) | _addresses(ONBOARD)


def _addresses(kind: str) -> dict[str, str]:
    """Return the addresses of attached things of a kind, with their names."""
    found = {}
    for row in _found():
        quoted = re.search(r'"([^"\n]*)"', row.setting)
        if row.kind == kind and quoted:
            found[quoted[1]] = row.name
    return found
