# SPDX-License-Identifier: Apache-2.0
"""`rig firmware`: a project for a board, built, run in an emulator, written to the
board."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rig.bench.diagrams import page as wiring
from rig.cli.boards.firmware_flash import flash
from rig.cli.boards.firmware_model import STEPS, WORKLOAD, put_model
from rig.cli.boards.firmware_sww import WORKLOAD as SWW
from rig.cli.boards.firmware_sww import put_sww
from rig.cli.boards.firmware_tflite import WORKLOAD as TFLITE
from rig.cli.boards.firmware_tflite import put_tflite
from rig.cli.boards.image_arguments import (
    chosen_image,
    image_argument,
    refuse_other_files,
    workload_option,
)
from rig.cli.boards.kernels_options import kernels_options
from rig.cli.lazy import LazyGroup
from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.models.model_kinds import is_int8
from rig.cli.options import FILE, refuse_idle
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_table,
    say,
    say_plain,
)
from rig.errors import BenchError, ConfigError, did_you_mean
from rig.firmware import project as projects
from rig.firmware import toolchain
from rig.firmware.emulator import PICO, Emulator, program
from rig.firmware.model_options import ModelOptions
from rig.firmware.monitors import MONITORS, chosen
from rig.firmware.part import part
from rig.network.fixed.make import BITS_MAX, BITS_MIN
from rig.network.tflite.kernels import Kernels
from rig.network.tflite.payloads import PayloadForm

_folder = click.argument("folder", metavar="[DIR]", type=FILE, default=Path())
_BESIDE_TFLITE = "beside a .tflite file, which states its arithmetic"
_WITH_PINS = "a board with pins: rig firmware boards"
#: Parameters of a NIR file that is built, and of a .tflite file.
_OF_TFLITE = ("kernels", "library", "real_input", "features", "streams")
_OF_NIR = ("dt_s", "bits", "steps", "preset", "reset", "spikes_max", "start")


@click.group(cls=LazyGroup)
def firmware() -> None:
    """Make, build, emulate and flash the firmware of a board:
    docs/tutorials/PORTING.md."""


@firmware.command()
@click.argument("folder", metavar="DIR", type=FILE)
@click.option("--board", metavar="NAME", help="A board of `rig firmware boards`.")
@click.option(
    "--port",
    metavar="NAME",
    help="Without a board: posix, a process, or template, functions to fill in.",
)
@click.option(
    "--monitor",
    "names",
    metavar="NAME",
    multiple=True,
    help=(
        f"Wire the board to {', '.join(MONITORS)}: a bench file and a picture of each;"
        " may be repeated [default: all]."
    ),
)
def new(
    folder: Path, board: str | None, port: str | None, names: tuple[str, ...]
) -> None:
    """Write a project for a board into DIR; it builds without the rig. Its WIRING.md
    shows the wires to each energy monitor.
    """
    known = projects.ports(projects.sources())
    name = board or port
    if name is None or (board and port):
        raise ConfigError(
            "one of --board and --port is wanted",
            path="--board",
            try_next="rig firmware boards lists the boards; or --port template",
        )
    if board is not None and board in known and known[board].board is None:
        raise ConfigError(
            f"{board} is no board", path="--board", try_next=f"--port {board}"
        )
    if port is not None and port in known and known[port].board is not None:
        raise ConfigError(
            f"{port} is a board", path="--port", try_next=f"--board {port}"
        )
    wired = known[name].board if name in known else None
    if names and name in known and (wired is None or wired.wiring is None):
        raise ConfigError(
            f"no monitor is wired to {name}",
            path="--monitor",
            try_next=_WITH_PINS,
        )
    monitors = chosen(names)
    with projects.whole_or_none(folder):
        made = projects.create(folder, name, projects.sources())
        benches = wiring.write(folder, name, tuple(monitors))
    kind = "port" if made.board is None else "board"
    say_plain(f"{folder} is a project of the {kind} {name}: {made.about}")
    if benches:
        say_plain(
            f"wires and benches: {folder / wiring.PAGE};"
            f" {', '.join(bench.name for bench in benches)}"
        )
    say_plain(f"next: cat {folder / 'README.md'}; rig firmware build {folder}")


@firmware.command()
@click.argument("name", metavar="[BOARD]", required=False)
@click.option(
    "--monitor",
    metavar="NAME",
    help=f"With BOARD: its wires to one of {', '.join(MONITORS)}.",
)
def boards(name: str | None, monitor: str | None) -> None:
    """List the boards that have firmware, or how one is connected."""
    known = projects.ports(projects.sources())
    if name is not None:
        if monitor is None:
            _say_board(name, known)
        else:
            _say_wires(_board(name, known), name, monitor)
        return
    refuse_idle("without BOARD", "monitor")
    rows = []
    for each, port in known.items():
        if port.board is not None:
            rows.append((each, *_facts_of(port, port.board)))
    heads = ("board", "core", "SYNC", "Tx, Rx", "flashed by", "tried")
    # A narrow terminal gets three columns; `rig firmware boards BOARD` has the rest.
    tables = [borderless_table(), borderless_table()]
    for table, left_out in zip(tables, (set(), {2, 3, 4}), strict=True):
        kept = [at for at in range(len(heads)) if at not in left_out]
        for at in kept:
            table.add_column(heads[at], no_wrap=not left_out)
        for row in rows:
            table.add_row(*(escape(row[at]) for at in kept))
    print_table(Terminal(), *tables, also="with rig firmware boards BOARD")
    say_plain("next: rig firmware boards BOARD; rig firmware new DIR --board BOARD")


def _board(name: str, known: Mapping[str, projects.Port]) -> projects.Board:
    """Return a board; raises ConfigError for another name."""
    board = known[name].board if name in known else None
    if board is None:
        names = [each for each, port in known.items() if port.board is not None]
        raise ConfigError(
            f"there is no board {name}",
            try_next=f"{did_you_mean(name, names)}one of {', '.join(names)}",
        )
    return board


def _say_board(name: str, known: Mapping[str, projects.Port]) -> None:
    """Print how a board is connected; raises ConfigError for another name."""
    board = _board(name, known)
    core, sync, _, tools, tried = _facts_of(known[name], board)
    rows = [("core", core), ("SYNC", sync)]
    rows += [("Tx", board.tx), ("Rx", board.rx)]
    if board.adapter:
        rows.append(("UART by", board.adapter))
    rows += [("flashed by", tools), ("tried", tried)]
    say_plain(f"{name}: {board.title}")
    for what, text in rows:
        say_plain(text, f"  {what:<10} ")
    if board.wiring is not None:
        for what, text in wiring.facts_as_text(board.wiring):
            say_plain(text, f"  {what:<10} ")


def _say_wires(board: projects.Board, name: str, monitor: str) -> None:
    """Print the wires between a board and a monitor; raises ConfigError for a monitor
    that there is not, or a board that has none.
    """
    if board.wiring is None:
        raise ConfigError(
            f"no monitor is wired to {name}",
            path="--monitor",
            try_next=_WITH_PINS,
        )
    lines = chosen((monitor,))[monitor]
    say_plain(f"{name}: {board.title}, wires to a monitor: {lines.title}")
    for wire in wiring.drawn(name, board, board.wiring, monitor).lines():
        say_plain(wire, "  ")
    for limit in lines.limits:
        say_plain(limit)
    say_plain(f"next: rig firmware boards {name} has the jumpers, and more")


def _facts_of(port: projects.Port, board: projects.Board) -> tuple[str, ...]:
    """Return the cells of a board."""
    tried = "run" if board.is_run else "built, never run"
    if port.machine:
        tried = f"emulated by {port.emulator}"
        tried += "" if board.is_run or not board.flash else ", never run"
    sync = board.sync + (" by interrupt" if board.raised_by == "interrupt" else "")
    tools = ", ".join(board.flash) or "nothing: only emulated"
    return (board.core, sync, f"{board.tx}, {board.rx}", tools, tried)


@firmware.command(short_help="Build the images of a project and show their size")
@_folder
@click.argument("settings", metavar="[NAME=VALUE]...", nargs=-1)
@click.option(
    "--model",
    metavar="MODEL.nir|.tflite|.onnx",
    type=FILE,
    help=(
        "Build only the workload `network`, or `tflite`, with this model:"
        " docs/reference/FIXED_POINT.md, MODELS.md."
    ),
)
@click.option(
    "--target",
    metavar="BOARD",
    help="With --model: make DIR a project of this board or port if there is none.",
)
@click.option(
    "--input",
    "inputs",
    metavar="INPUT.npy",
    type=FILE,
    help=(
        "Inputs for which scales are chosen, as with rig model quantize; the bench"
        " file that is written measures them."
    ),
)
@dt_option
@click.option(
    "--bits",
    type=click.IntRange(BITS_MIN, BITS_MAX),
    default=BITS_MAX,
    help="Bits of a weight, with its sign.",
)
@conventions_options
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    help=f"Largest number of steps of an input [default: of INPUT.npy, else {STEPS}].",
)
@kernels_options
@click.option(
    "--real-input",
    is_flag=True,
    help="The device takes float32 and quantises it, in a phase of its own.",
)
@click.option(
    "--features",
    type=click.Choice(("mfcc",)),
    help=(
        "The device takes a second of sound and computes its features, in a phase of"
        " its own: docs/how-to/MLPERF_TINY.md."
    ),
)
@click.option(
    "--stream",
    "streams",
    is_flag=True,
    help="Build the workload `sww`: a .tflite model answers for a signal, row by row.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print all commands of make.")
def build(
    folder: Path,
    settings: tuple[str, ...],
    model: Path | None,
    target: str | None,
    verbose: bool,
    kernels: str,
    real_input: bool,
    features: str | None,
    **words: Any,
) -> None:
    """Build the images of the project in DIR and show their size. Settings such as
    LEAVE_OUT=CLASSIC are passed to make.

    With --model a network is quantised unless it already is. Its use of flash and RAM
    is printed first, and a part without room for it is refused. DIR defaults to
    MODEL-PORT.
    """
    if "=" in folder.name and not folder.exists():
        folder, settings = Path(), (str(folder), *settings)
    if model is not None:
        if real_input:
            refuse_idle("beside --real-input", "features")
        payload = PayloadForm.REALS if real_input else PayloadForm(features or "int8")
        options = ModelOptions(
            path=model, kernels=Kernels(kernels), payload=payload, **words
        )
        workload = _workload_of(options)
        if workload != WORKLOAD:
            refuse_idle(_BESIDE_TFLITE, *_OF_NIR)
            if options.kernels is Kernels.PORTABLE:
                refuse_idle(f"with --kernels {Kernels.PORTABLE}", "library")
        else:
            refuse_idle("beside a NIR file", *_OF_TFLITE)
        folder, settings = with_model(folder, target, options, settings)
    else:
        workload = ""
        refuse_idle("without --model", "target", "inputs", *_OF_NIR, *_OF_TFLITE)
    make_images(folder, settings, workload, verbose=verbose)
    if workload:
        _say_next(folder, workload)


def _say_next(folder: Path, workload: str) -> None:
    """Print the commands that measure the image of a model."""
    bench = folder / f"{workload}.toml"
    if not bench.is_file():
        say_plain("the same command with --input INPUT.npy writes a bench", "next: ")
        return
    board = projects.read_port(folder / projects.PORT_FILE).board
    emulated = folder / projects.emulated_file(workload)
    if emulated.is_file():
        say_plain(f"rig run {emulated}, in an emulator", "next: ")
    if board is None:
        say_plain(f"rig run {bench}", "next: ")
    elif board.flash:
        flashed = f"rig firmware flash {folder} --workload {workload}"
        say_plain(f"{flashed}; rig run {bench}", "next: ")


def make_images(
    folder: Path, settings: Sequence[str], workload: str, *, verbose: bool = False
) -> list[Path]:
    """Build a project by arguments of make, and print the size of its images, of one
    workload where it is named; return their paths.
    """
    port = projects.read_port(folder / projects.PORT_FILE)
    _make(folder, port, settings, verbose=verbose)
    images = projects.images(folder)
    if workload:
        images = [image for image in images if image.stem == workload]
    if not images:
        raise BenchError(
            f"make made no image below {folder / 'build'}",
            try_next="look at the Makefile's `all`",
        )
    size = toolchain.find(f"{port.compiler.removesuffix('gcc').removesuffix('cc')}size")
    print_images(
        Terminal(), [toolchain.image_size(size, folder, image) for image in images]
    )
    return images


def print_images(out: Terminal, images: Sequence[toolchain.ImageSize]) -> None:
    """Print a line for each image."""
    names = max(len(str(image.path)) for image in images)
    for image in images:
        sizes = f"{image.flash_b:>9,} B of flash {image.ram_b:>9,} B of RAM"
        say(out, sizes, escape(f"{image.path!s:<{names}}"))


def with_model(
    folder: Path, target: str | None, options: ModelOptions, settings: tuple[str, ...]
) -> tuple[Path, tuple[str, ...]]:
    """Put a network into a project, a new one if there is none; return its folder and
    the arguments of make.
    """
    if target is not None and folder == Path():
        folder = Path(f"{options.path.stem}-{target}")
    if target is None or (folder / projects.PORT_FILE).exists():
        port = projects.read_port(folder / projects.PORT_FILE)
        if target is not None and not projects.is_of(folder, target):
            raise ConfigError(
                f"{folder} is a project of another board or port", path="--target"
            )
        return folder, _put(folder, port, options, settings)
    known = projects.ports(projects.sources())
    if target in known:
        # No project without its compiler.
        toolchain.find("make")
        toolchain.find(known[target].compiler)
    # A refused model leaves no project that holds another one.
    with projects.whole_or_none(folder):
        port = projects.create(folder, target, projects.sources())
        wiring.write(folder, target, tuple(MONITORS))
        goals = _put(folder, port, options, settings)
    say_plain(f"{folder} is a new project of the port {target}")
    return folder, goals


def _workload_of(options: ModelOptions) -> str:
    if not is_int8(options.path):
        return WORKLOAD
    return SWW if options.streams else TFLITE


def _put(
    folder: Path, port: projects.Port, options: ModelOptions, settings: tuple[str, ...]
) -> tuple[str, ...]:
    """Put a model into a project; return the arguments of make."""
    workload = _workload_of(options)
    put = {TFLITE: put_tflite, SWW: put_sww, WORKLOAD: put_model}
    put[workload](folder, port, options, part(folder))
    return (*projects.goals(port, workload), *settings)


@firmware.command(short_help="Run an image in an emulator until Ctrl-C")
@image_argument
@workload_option
@click.option(
    "--machine",
    default="",
    help="QEMU's name of the board, if the project names none or another.",
)
def emulate(path: Path, workload: str, machine: str) -> None:
    """Run the project in DIR, or an image, in QEMU, or that of a Pico in rp2040js,
    until Ctrl-C; print how to reach it.
    """
    bench = Path("BENCH")
    options: tuple[str, ...] = ()
    emulator = "rp2040js" if machine == PICO else "qemu"
    if path.is_dir():
        port = projects.read_port(path / projects.PORT_FILE)
        bench = path / f"{workload}.toml"
        options = port.options if machine in ("", port.machine) else ()
        machine = machine or port.machine
        if not machine:
            hint = (
                "the port posix runs as a process: rig probe BENCH --set "
                "sut.posix.program=build/posix/null"
            )
            raise ConfigError(
                f"no emulator has a machine for {path}",
                path="--machine",
                try_next=hint,
            )
        emulator = port.emulator
        program(emulator)  # before the build, which may take a while
        _make(path, port, _wanted(port, workload))
        path = chosen_image(path, workload, emulated=bool(port.emulated))
    else:
        refuse_idle("beside IMAGE", "workload")
        refuse_other_files(path)
    if not machine:
        raise ConfigError(
            "an image does not say which board it is for",
            path="--machine",
            try_next=(
                "rig firmware emulate DIR, the project that it is of; else a machine of"
                " qemu-system-arm -M help"
            ),
        )
    with Emulator(path, machine, options, emulator) as running:
        name = {"qemu": "QEMU"}.get(emulator, emulator)
        say_plain(
            f"{path} runs in {name}, machine {machine}: simulated, its times are those"
            " of no device"
        )
        probe = (
            f"rig probe {bench} --set sut.uart.port={running.url}"
            " --set sut.uart.simulated=true"
        )
        say_plain(probe, "reach it: ")
        say_plain("Ctrl-C ends it")
        try:
            running.wait()
        except KeyboardInterrupt:
            say_plain("ended")


def _wanted(port: projects.Port, workload: str) -> tuple[str, ...]:
    """Return the arguments with which make builds only the emulator's image of a
    workload; none if the port does not list it.
    """
    goal = projects.goals(port, workload)[-1]
    return (goal,) if port.emulated or goal in port.goals else ()


def _make(
    folder: Path, port: projects.Port, settings: Sequence[str], *, verbose: bool = False
) -> None:
    """Build a project. The compiler's errors are printed unchanged, its commands if
    `verbose`. Raises BenchError.
    """
    make = toolchain.find("make")
    toolchain.find(port.compiler)
    shown = None if verbose else subprocess.DEVNULL
    code = subprocess.run(
        [make, "-C", folder, *settings], stdout=shown, check=False
    ).returncode
    if code:
        raise BenchError(
            "the firmware does not build",
            evidence=f"make ended with {code}",
            try_next=(
                "the first error above; rig firmware build -v shows the commands as"
                " well"
            ),
        )


firmware.add_command(flash)
