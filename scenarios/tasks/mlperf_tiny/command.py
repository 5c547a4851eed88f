# SPDX-License-Identifier: Apache-2.0
"""`rig tiny`: a benchmark of MLPerf Tiny with its reference model, by one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig.cli.boards.kernels_options import kernels_options
from rig.cli.lazy import LateCommand
from rig.cli.options import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    FiniteRange,
    make_settings,
    refuse_idle,
)

if TYPE_CHECKING:
    from scenarios.tasks.mlperf_tiny.measuring_command import TinyRun

#: devices_sww.yaml of the runner.
_BAUD = 115_200
_NOT_OF_BOARD = (
    "settings",
    "on",
    "board",
    "kernels",
    "library",
    "monitor",
    "modes",
    "files",
    "minutes",
    "trials",
    "no_run",
)
_WORK = "scenarios.tasks.mlperf_tiny.measuring_command"


@click.command(
    cls=LateCommand,
    modules=[_WORK],
    short_help="Measure a benchmark of MLPerf Tiny with its own model",
)
@click.argument("benchmark", metavar="kws|ic|vww|ad|sww")
@click.argument("settings", metavar="[NAME=VALUE]...", nargs=-1, callback=make_settings)
@click.option(
    "--from",
    "clone",
    type=EXISTING_FOLDER,
    required=True,
    metavar="FOLDER",
    help="A clone of mlcommons/tiny, which has the reference models.",
)
@click.option(
    "--inputs",
    type=EXISTING_FOLDER,
    metavar="FOLDER",
    help=(
        "The official tensors: a clone of eembc/energyrunner, or the folder of one"
        " benchmark; of sww the recordings [default: those of the clone; else generated"
        " ones]."
    ),
)
@click.option(
    "--on",
    default="posix",
    show_default=True,
    metavar="DEVICE",
    help="posix, qemu, virtual, cpu, or the serial port of a board.",
)
@click.option(
    "--board",
    metavar="NAME",
    help="Board of `rig firmware boards` [default: stm32f405].",
)
@kernels_options
@click.option(
    "--monitor",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Lines of an energy monitor, as `rig scan` prints them.",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(("performance", "accuracy", "energy")),
    help="Only this mode; may be repeated.",
)
@click.option(
    "--files",
    type=click.IntRange(5, 1000),
    default=24,
    show_default=True,
    help="How many tensors are generated.",
)
@click.option(
    "--minutes",
    type=FiniteRange(0.05, 60),
    help="sww: only so much of the recording [default: all; 1 of a generated signal].",
)
@click.option(
    "--interface",
    metavar="PORT",
    help="sww: the benchmark's interface board plays to a device behind it.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of trials of a mode, each the whole procedure.",
)
@click.option(
    "--to",
    "folder",
    type=FILE,
    metavar="DIR",
    help="Folder of image, benches and sessions [default: tiny-BENCHMARK-DEVICE].",
)
@click.option("--no-run", is_flag=True, help="Only make the image and the benches.")
def tiny(interface: str | None, no_run: bool, **words: Any) -> int:
    """Build the firmware with a benchmark's reference model and measure performance,
    accuracy and energy; of sww all in one stream, as the benchmark's runner does.
    Settings such as LEAVE_OUT=CLASSIC are passed to make.

    All that is made is in one folder: model, firmware, bench files, sessions, and
    summary.txt: docs/how-to/MLPERF_TINY.md, WAKE_WORD.md.
    """
    from scenarios.tasks.mlperf_tiny.measuring_command import TinyRun, measure

    requested = TinyRun(**words)
    if interface is not None:
        return _by_board(interface, requested)
    return measure(requested, run=not no_run)


def _by_board(port: str, requested: TinyRun) -> int:
    from scenarios.tasks.mlperf_tiny.interface_command import (
        InterfaceRun,
        measure_by_board,
    )

    if requested.benchmark != "sww":
        refuse_idle("except of sww", "interface")
    refuse_idle("beside --interface, whose device has its own firmware", *_NOT_OF_BOARD)
    folder = requested.folder or Path(f"tiny-sww-{Path(port).name}")
    return measure_by_board(
        InterfaceRun(port, _BAUD, requested.clone, requested.inputs, folder)
    )
