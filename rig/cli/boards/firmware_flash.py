# SPDX-License-Identifier: Apache-2.0
"""`rig firmware flash`: write an image to its board by one of many tools."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rig.cli.boards.image_arguments import (
    chosen_image,
    image_argument,
    refuse_other_files,
    workload_option,
)
from rig.cli.options import refuse_idle
from rig.cli.printed.terminal import say_plain
from rig.firmware import flasher, flashing
from rig.firmware.flashing import FlashChoice, FlashPlan

#: Tools that ask the board for its part.
_ASKING = ("st-flash", "picotool", "bossac")


@click.command(short_help="Write an image to the board")
@image_argument
@workload_option
@click.option(
    "--tool",
    type=click.Choice(flasher.TOOLS),
    help="Tool that writes the image [default: the first that is installed of those"
    " that suit the board].",
)
@click.option(
    "--board", default="", help="The board, of an image that does not name its own."
)
@click.option(
    "--target",
    default="",
    help="The tool's name of another part: OpenOCD's target file, a UF2 family.",
)
@click.option(
    "--interface",
    default="",
    help="OpenOCD's file of the debug probe [default: the board's].",
)
@click.option(
    "--device",
    default="",
    metavar="ID",
    help="One of several: serial number of a board or probe, port, folder of a drive.",
)
@click.option("--dry-run", is_flag=True, help="Only show the command.")
def flash(
    path: Path,
    workload: str,
    tool: str | None,
    board: str,
    target: str,
    interface: str,
    device: str,
    dry_run: bool,
) -> None:
    """Write the project's image in DIR, or an image, to the board: tools by board in
    docs/how-to/FLASHING.md."""
    folder = path if path.is_dir() else None
    if folder is not None:
        refuse_idle("beside a project, which states its board", "board")
        path = chosen_image(folder, workload, emulated=False)
    else:
        refuse_idle("beside IMAGE", "workload")
    refuse_other_files(path)
    choice = FlashChoice(
        board=board,
        tool=tool or "",
        target=target,
        interface=interface,
        device=device,
    )
    planned = flashing.plan(path, choice, folder)
    if planned.tool != "openocd":
        idle = ("target",) if planned.tool in _ASKING else ()
        refuse_idle(f"with {planned.tool}", "interface", *idle)
    commands = planned.shown()
    if planned.board:
        _say_choice(planned, is_default=tool is None)
    for command in commands:
        say_plain(shlex.join(command))
    if dry_run:
        return
    flashing.carry_out(planned, lambda line: say_plain(line, "  "))
    bench = f"{folder / workload}.toml" if folder is not None else "BENCH"
    say_plain(
        f"written. next: rig probe {shlex.quote(bench)} --set sut.uart.port=PORT"
        " (rig scan lists ports)"
    )


def _say_choice(planned: FlashPlan, *, is_default: bool) -> None:
    text = f"{planned.board}: by {planned.tool}"
    others = [tool for tool in planned.suitable if tool != planned.tool]
    if is_default and others:
        text += f", the first that is installed; --tool has {', '.join(others)}"
    say_plain(text)
