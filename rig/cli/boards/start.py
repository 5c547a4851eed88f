# SPDX-License-Identifier: Apache-2.0
"""`rig start`: from a board on the desk to its first result. Each step is a command of
its own, printed before it runs, so that it can be given again by hand.
"""

from __future__ import annotations

import shlex
from itertools import chain
from pathlib import Path

import click

from rig.bench.first_bench import FirstBench
from rig.cli.boards.questions import FirstAnswers, answered, confirm
from rig.cli.options import FILE, sessions_option, set_option
from rig.cli.printed.terminal import say_plain

_TRIALS = 5


@click.command()
@click.argument("folder", metavar="[DIR]", type=FILE, required=False)
@click.option("--board", metavar="NAME", help="A board of `rig firmware boards`.")
@click.option(
    "--monitor",
    metavar="NAME",
    help=(
        "js220, js320, ppk2, lpm01a or n6705; none; or simulated: an emulator in the"
        " board's place."
    ),
)
@click.option("--port", help="Serial port of the board.")
@click.option(
    "--instrument",
    metavar="ADDRESS",
    help="Serial port, address or serial number of the monitor.",
)
@click.option("--tool", help="Tool of `rig firmware flash` that writes the image.")
@click.option(
    "--flashed", is_flag=True, help="The image is on the board already: flash none."
)
@click.option(
    "--trials", type=click.IntRange(1), default=_TRIALS, help="Number of trials."
)
@click.option("--yes", is_flag=True, help="The wires are made: do not ask.")
@set_option
@sessions_option
@click.pass_context
def start(
    context: click.Context,
    folder: Path | None,
    board: str | None,
    monitor: str | None,
    port: str | None,
    instrument: str | None,
    tool: str | None,
    flashed: bool,
    trials: int,
    yes: bool,
    overrides: tuple[str, ...],
    sessions: Path,
) -> int:
    """Go from a board on the desk to a first result, step by step.

    Asks for board, monitor and port, then makes the project in DIR, builds and flashes
    its image, shows the wires, probes, and runs the trials. An option answers its
    question; with all of them, and --yes, no terminal is needed. DIR defaults to the
    board's name; where the folder has a project of the board, that one is continued.
    """
    given = FirstAnswers(folder, board, monitor, port, instrument)
    first = answered(given, asks_for_wires=not yes)
    steps = _Steps(context, first)
    with steps:
        if not first.is_made:
            steps.give(*first.new_words)
        first.write_addresses()
        steps.give(*first.build_words)
        if first.is_flashed and not flashed:
            steps.give(*first.flash_words(tool or ""))
        for words in first.wires_words:
            steps.give(*words)
        if first.is_wired and not yes:
            confirm(first)
        settings = list(chain.from_iterable(("--set", each) for each in overrides))
        if code := steps.give("probe", str(first.bench), *settings):
            say_plain(f"the rows above, then {first.again}", "next: ")
            return code
        before = _sessions(sessions)
        words = ["--trials", str(trials), "--sessions", str(sessions), *settings]
        code = steps.give("run", str(first.bench), *words)
        _say_end(first, sorted(_sessions(sessions) - before))
    return code


class _Steps:
    """Gives commands to the same program; a stop names the command that goes on."""

    def __init__(self, context: click.Context, first: FirstBench) -> None:
        self._root = context.find_root().command
        self._first = first
        self._step = ""

    def __enter__(self) -> _Steps:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        """Add notes to a KeyboardInterrupt."""
        if not isinstance(error, KeyboardInterrupt | click.Abort):
            return
        stopped = error.__cause__ or error
        if self._step == "probe":
            stopped.add_note("the supply is off")
        kept = "kept" if self._first.folder.exists() else "not there"
        stopped.add_note(f"{self._first.folder} is {kept}")
        stopped.add_note(f"try: {self._first.again}")

    def give(self, *words: str) -> int:
        """Print a command and run it; return its exit code, 0 where it has none."""
        self._step = words[0]
        say_plain(f"rig {shlex.join(words)}", "$ ")
        code = self._root.main(list(words), prog_name="rig", standalone_mode=False)
        return code if isinstance(code, int) else 0


def _sessions(folder: Path) -> set[Path]:
    return set(folder.iterdir()) if folder.is_dir() else set()


def _say_end(first: FirstBench, made: list[Path]) -> None:
    """Print the folder of the result and what to do next."""
    for session in made:
        say_plain(str(session), "result: ")
        say_plain(f"rig check {session}", "next: ")
    if first.is_flashed:
        say_plain(
            "sounds of the data set in place of generated ones: [task.asc] data in"
            f" {first.bench}",
            "next: ",
        )
        return
    say_plain("simulated: a board and its monitor in their place:", "next: ")
    say_plain("rig start --board NAME --monitor NAME", "  ")
