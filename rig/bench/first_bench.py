# SPDX-License-Identifier: Apache-2.0
"""A board's first bench: the monitors that it can have, and the commands that make its
project, build its image and write it to the board.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rig.bench.bench_file import BenchFile
from rig.bench.editing import BenchText
from rig.bench.scan import ScanRow
from rig.errors import BenchError, ConfigError
from rig.firmware import project
from rig.firmware.monitors import MONITORS, bench_name
from rig.firmware.project import Port
from rig.host.program import run_program
from rig.host.python_child import command

NO_MONITOR = "none"
SIMULATED = "simulated"
#: The setting of the board's serial port.
PORT = "sut.uart.port"
#: No board: the firmware as a process of this computer.
_PROCESS = "posix"
_WORKLOAD = "asc"
#: A build on a slow computer, or the slowest tool that writes an image.
_STEP_S = 900.0


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
        return self.monitor != SIMULATED

    @property
    def is_wired(self) -> bool:
        """Whether wires are to be made."""
        return self.is_flashed

    @property
    def new_words(self) -> list[str]:
        """The words that make the project."""
        kind = "--port" if self.known.board is None else "--board"
        return ["firmware", "new", str(self.folder), kind, self.board]

    @property
    def build_words(self) -> list[str]:
        """The words that build the image that is run."""
        built = project.goals(self.known, self.workload)
        goals = built[:1] if self.is_flashed else built[-1:]
        return ["firmware", "build", str(self.folder), *goals]

    def flash_words(self, tool: str = "") -> list[str]:
        """Return the words that write the image to the board, by a tool or the first
        that there is.
        """
        words = ["firmware", "flash", str(self.folder), "--workload", self.workload]
        return [*words, "--tool", tool] if tool else words

    @property
    def wires_words(self) -> list[list[str]]:
        """The words that print the board, and those that print its wires; none of a
        process.
        """
        commands = []
        if self.known.board is not None:
            commands.append(["firmware", "boards", self.board])
        if self.monitor in MONITORS:
            wires = ["firmware", "boards", self.board, "--monitor", self.monitor]
            commands.append(wires)
        return commands

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
            option = "--port" if path == PORT else "--instrument"
            words += [option, address]
        return f"rig start {shlex.join(words)}"

    def require_room(self) -> None:
        """Raise ConfigError for a folder that is neither free nor of the board."""
        folder = self.folder
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        is_project = folder.is_dir() and (folder / project.PORT_FILE).exists()
        if not is_project or not project.is_of(folder, self.board):
            raise ConfigError(
                f"{folder} is there, and no project of {self.board}",
                path="DIR",
                try_next="another folder: rig start DIR; nothing was written",
            )

    def write_addresses(self) -> None:
        """Write the ports and addresses into the bench file; raises ConfigError for one
        that cannot be.
        """
        file = BenchFile.read(self.bench)
        text = BenchText(file.text)
        for path, value in self.addresses.items():
            text = text.with_value(path, value)
        if problem := text.problem(self.folder):
            raise problem.error
        if text.text != file.text:
            file.saved(text.text)


def instrument_setting(monitor: str) -> str:
    """Return the path of the setting that names the instrument."""
    lines = MONITORS[monitor]
    return f"monitor.{lines.kind}.{lines.address}"


def board_choices(known: Mapping[str, Port]) -> dict[str, str]:
    """Return what can be measured, by name, with a description."""
    choices = {
        name: f"{port.board.title}, {port.board.core}"
        for name, port in known.items()
        if port.board is not None
    }
    return choices | {_PROCESS: "no board: a process of this computer, simulated"}


def monitor_choices(port: Port) -> dict[str, str]:
    """Return the monitors that a board can have, by name, with a description."""
    board = port.board
    choices = {}
    if board is not None and board.wiring is not None:
        choices = {name: lines.title for name, lines in MONITORS.items()}
    if board is not None and board.flash:
        choices[NO_MONITOR] = "no energy: accuracy and latency by the board's own clock"
    if port.machine:
        choices[SIMULATED] = f"{port.emulator} in the board's place"
    if board is None:
        choices[SIMULATED] = "a virtual monitor"
    return choices


def attached(rows: Iterable[ScanRow], *kinds: str) -> dict[str, str]:
    """Return the addresses of attached things of some kinds, with their names."""
    addresses = {}
    for row in rows:
        if row.kind in kinds and row.addresses:
            addresses[row.addresses[0]] = row.name
    return addresses


def make(first: FirstBench, heard: Callable[[str], None], *, flashes: bool) -> None:
    """Make a project by its commands, each a process of its own: `heard` is called with
    each command and each line that it prints. Raises BenchError for one that fails, and
    DeadlineError for one that does not end.
    """
    first.require_room()
    if not first.is_made:
        _give(first.new_words, heard)
    first.write_addresses()
    _give(first.build_words, heard)
    if flashes:
        _give(first.flash_words(), heard)


def _give(words: list[str], heard: Callable[[str], None]) -> None:
    named = f"rig {shlex.join(words)}"
    heard(f"$ {named}")
    end = run_program(command("-m", "rig", *words), _STEP_S, heard)
    if end.code:
        raise BenchError(
            f"{named} has ended with exit code {end.code}",
            evidence=end.evidence,
            try_next="the lines that it printed name the cause; then begin again;"
            " finished steps stay",
        )
