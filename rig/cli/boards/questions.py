# SPDX-License-Identifier: Apache-2.0
"""The questions of `rig start`: which board, monitor and port; all are answered before
a file is written.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import click

from rig.bench.first_bench import (
    PORT,
    SIMULATED,
    FirstBench,
    attached,
    board_choices,
    instrument_setting,
    monitor_choices,
)
from rig.bench.scan import ONBOARD, SERIAL, ScanRow, scan
from rig.cli.printed.terminal import say_plain
from rig.errors import ConfigError, did_you_mean
from rig.firmware import project
from rig.firmware.monitors import MONITORS


@dataclass(frozen=True, slots=True)
class FirstAnswers:
    """The answers that the command line gives, None for those that it does not."""

    folder: Path | None
    board: str | None
    monitor: str | None
    port: str | None
    instrument: str | None


def answered(given: FirstAnswers, *, asks_for_wires: bool) -> FirstBench:
    """Ask for missing options, and return the project to be made. Raises ConfigError
    for an answer that cannot be, and where there is no terminal to ask at.
    """
    try:
        return _answered(given, asks_for_wires)
    except (KeyboardInterrupt, click.Abort) as error:
        error.add_note("nothing was written")
        raise


def _answered(given: FirstAnswers, asks_for_wires: bool) -> FirstBench:
    known = project.ports(project.sources())
    board = _chosen("--board", "Which board?", board_choices(known), given.board)
    port = known[board]
    monitor = _chosen(
        "--monitor", "Which monitor?", monitor_choices(port), given.monitor
    )
    folder = given.folder or Path(board)
    first = FirstBench(folder=folder, board=board, monitor=monitor, known=port)
    first.require_room()
    addresses = {}
    if monitor == SIMULATED:
        _refuse_address("--port", given.port)
    else:
        question = "At which serial port is the board?"
        kinds = (SERIAL, ONBOARD)
        addresses[PORT] = _typed("--port", question, kinds, given.port)
    lines = MONITORS.get(monitor)
    if lines is None:
        _refuse_address("--instrument", given.instrument)
    elif given.instrument or lines.address_needed:
        question = f"Where is the {lines.title}?"
        address = _typed("--instrument", question, (lines.kind,), given.instrument)
        addresses[instrument_setting(monitor)] = address
    first = replace(first, addresses=addresses)
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
    option: str, question: str, kinds: tuple[str, ...], given: str | None
) -> str:
    """Return an address: as given, or asked for; the first that was found is
    proposed.
    """
    if given is not None:
        return given
    found = attached(_found(), *kinds)
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


@cache
def _found() -> list[ScanRow]:
    say_plain("looking for serial ports and instruments ...")
    return scan()
