# SPDX-License-Identifier: Apache-2.0
"""The device firmware's sources: where they are, its ports, and projects made of one
port, which build without the rig.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import cattrs

from rig.errors import BenchError, ConfigError, did_you_mean
from rig.files.shipped import shipped
from rig.firmware.wiring import BoardWiring

#: File beside each port, and in a project, that describes it.
PORT_FILE = "port.toml"
_ELF = b"\x7fELF"
#: Serial port of the adapters of most boards.
_ANY_PORT = "/dev/ttyACM0"
_RUNS = (2, 3)  # e_type: an executable, or one that can be put anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What connects a board: its SYNC pin and what raises it, the pins of its UART and
    the adapter of that, and the tools that write its flash, the usual one first, each
    with the name that it has of the part. `probe` is OpenOCD's name of the debug probe
    on the board, or of the usual one; `wiring` of a board that a monitor can be wired
    to. `port` is the usual name of the adapter's serial port on Linux. `is_run` once
    an image ran on the board itself.
    """

    title: str
    core: str
    sync: str
    raised_by: Literal["timer", "interrupt", "emulator"]
    tx: str
    rx: str
    adapter: str = ""
    port: str = _ANY_PORT
    probe: str = "stlink"
    flash: dict[str, str] = field(default_factory=dict)
    wiring: BoardWiring | None = None
    is_run: bool = False


@dataclass(frozen=True, slots=True)
class Port:
    """The content of a port.toml.

    `compiler` is the required program; `needs` are further parts of the firmware
    folder; `goals` are the targets of the firmware's Makefile, if the port has no
    Makefile of its own. `emulator` runs its images; `machine` is the name that it has
    of the board, empty if it has none, `options` are further arguments. `emulated` is
    the folder below build/ of images that only the emulator runs.
    """

    about: str
    compiler: str
    needs: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    machine: str = ""
    emulator: Literal["qemu", "rp2040js"] = "qemu"
    options: tuple[str, ...] = ()
    emulated: str = ""
    board: Board | None = None


def sources() -> Path:
    """Return the firmware folder: of the checkout, or what an installed package
    brought; raise BenchError where there is none.
    """
    return shipped("firmware")


def ports(folder: Path) -> dict[str, Port]:
    """Return the ports below the firmware folder, boards among them, by name."""
    files = [
        *folder.glob(f"ports/*/{PORT_FILE}"),
        *folder.glob(f"boards/*/{PORT_FILE}"),
    ]
    ordered = sorted(files, key=lambda path: path.parent.name)
    return {path.parent.name: read_port(path) for path in ordered}


def boards(folder: Path) -> dict[str, Board]:
    """Return the boards below the firmware folder, by name."""
    known = ports(folder)
    return {name: port.board for name, port in known.items() if port.board is not None}


def own_board(folder: Path) -> tuple[str, Board] | None:
    """Return the name and the content of a project's board; None where it has none, or
    is no project.
    """
    named = [path.parent.name for path in folder.glob(f"boards/*/{PORT_FILE}")]
    if len(named) != 1 or not (folder / PORT_FILE).exists():
        return None
    board = read_port(folder / PORT_FILE).board
    return None if board is None else (named[0], board)


def read_port(path: Path) -> Port:
    """Read a port.toml; raise ConfigError where there is none or it is wrong."""
    try:
        return cattrs.Converter(forbid_extra_keys=True).structure(
            tomllib.loads(path.read_text(encoding="utf-8")), Port
        )
    except OSError as error:
        hint = "rig firmware new DIR --board NAME makes a project; then give its folder"
        raise ConfigError(
            f"{path.parent} is no firmware project",
            evidence=f"no {PORT_FILE} in it",
            try_next=hint,
        ) from error
    except (ValueError, cattrs.BaseValidationError) as error:
        keys = ", ".join(Port.__dataclass_fields__)
        raise ConfigError(
            f"{path} is wrong", evidence=repr(error), try_next=f"its keys are {keys}"
        ) from error


def create(folder: Path, name: str, origin: Path) -> Port:
    """Write a project of port `name` into `folder`, which is new or empty; raise
    ConfigError otherwise.
    """
    known = ports(origin)
    if name not in known:
        listed = "; ".join(f"{port} ({about.about})" for port, about in known.items())
        raise ConfigError(
            f"there is no board or port {name}",
            evidence=f"looked in {origin}",
            try_next=f"{did_you_mean(name, known)}one of {listed}",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"{folder} is there and not empty",
            try_next="another name; nothing was written",
        )
    port = known[name]
    with whole_or_none(folder), refused(folder):
        for part, place in _parts(name, port, origin):
            _copy(origin / part, folder / place)
        if port.goals:
            # The last of a workload is the image for the emulator, where that has its
            # own.
            emulated = [goals(port, task)[-1] for task in _EMULATED_WORK]
            built = dict.fromkeys((*port.goals, *emulated))
            (folder / "Makefile").write_text(
                _MAKEFILE.format(goals=" ".join(built)), encoding="utf-8"
            )
        for task, work in _WORK.items():
            _write_bench(folder, task, work, port)
        if port.machine:
            for task, work in _EMULATED_WORK.items():
                _write_emulated_bench(folder, task, work, port)
        (folder / "README.md").write_text(_readme(name, port), encoding="utf-8")
    return port


@contextmanager
def whole_or_none(folder: Path) -> Iterator[None]:
    """Remove a folder that was new or empty, or its content, if writing into it fails
    or is stopped.
    """
    was_there = folder.exists()
    is_free = not was_there or (folder.is_dir() and not any(folder.iterdir()))
    try:
        yield
    except BaseException:
        if is_free:
            shutil.rmtree(folder, ignore_errors=True)
            if was_there:
                folder.mkdir(exist_ok=True)
        raise


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Translate refusals of a disk into BenchError."""
    try:
        yield
    except OSError as error:
        raise BenchError(
            f"{folder} cannot be written",
            evidence=str(error),
            try_next="another folder, or its permissions",
        ) from error


def emulated_file(task: str) -> str:
    """Return the name of a project's bench with an emulator in the board's place."""
    return f"{task}-emulated.toml"


def goals(port: Port, workload: str) -> tuple[str, ...]:
    """Return what make calls the images of a workload, the last for the emulator;
    settings of make where the port's own Makefile chooses.
    """
    if not port.goals:
        return (f"WORKLOADS={workload}",)
    image = Path(port.goals[0]).with_stem(workload)
    if not port.emulated:
        return (str(image),)
    return (str(image), str(image.parent.with_name(port.emulated) / image.name))


def is_of(folder: Path, name: str) -> bool:
    """Check whether a project is one of port `name`."""
    known = ports(sources()).get(name)
    return known is not None and read_port(folder / PORT_FILE) == known


def images(folder: Path) -> list[Path]:
    """Return the programs built below `folder`: build/BOARD/WORKLOAD.elf, or without
    the ending for a process of this machine.
    """
    return [
        path
        for path in sorted(folder.glob("build/*/*"))
        if path.is_file() and is_image(path)
    ]


def is_image(path: Path) -> bool:
    """Check whether a file is a linked program in ELF."""
    with path.open("rb") as file:
        start = file.read(18)
    return start[:4] == _ELF and int.from_bytes(start[16:18], "little") in _RUNS


def is_for_emulator(image: Path) -> bool:
    """Check whether an image was built with the clocks of an emulator, and would run
    at wrong rates on a board.
    """
    return image.parent.name.endswith("-emulated")


def _parts(name: str, port: Port, origin: Path) -> Iterator[tuple[str, str]]:
    """Give each thing to copy and its place: a port with a Makefile of its own goes to
    the top, where its owner will work on it.
    """
    port_folder = f"ports/{name}" if port.board is None else f"boards/{name}"
    yield from ((part, part) for part in ("core", "workloads", *port.needs))
    if not port.goals:
        yield port_folder, "."
        return
    yield port_folder, port_folder
    yield from ((path.name, path.name) for path in sorted(origin.glob("*.mk")))
    yield from (("Makefile", "firmware.mk"), (f"{port_folder}/{PORT_FILE}", PORT_FILE))


def _copy(source: Path, place: Path) -> None:
    if source.is_dir():
        shutil.copytree(
            source,
            place,
            ignore=shutil.ignore_patterns("build*", "__pycache__", "*.o"),
            dirs_exist_ok=True,
        )
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)


_MAKEFILE = """# SPDX-License-Identifier: Apache-2.0
.PHONY: project
project: {goals}
include firmware.mk
"""

_BENCH = """# rig probe {task}.toml --set sut.uart.port={serial}
# `rig scan` lists serial ports, and the lines of your energy monitor, to stand here instead of
# [monitor.none]. Without one, accuracy and latency are measured by the device's own clock, which
# nothing checks, and there is no energy.
[bench]
name = "{task}"

[sut.uart]
port = "{serial}"
baud = 115_200

[monitor.none]

{work}"""  # noqa: E501

#: The images of the port posix run as processes of this machine.
_HOSTED = """# The firmware as a process of this machine; the virtual monitor draws the current
# from its SYNC edges. Times are those of a simulated processor, and no statement about any device.
[bench]
name = "{task}"

[sut.posix]
program = "build/posix/{task}"

[monitor.virtual]

{work}"""  # noqa: E501

#: A workload on a board that an emulator has.
_EMULATED = """# The image in {emulator}, without the board; the virtual monitor
# draws the current from its SYNC edges. Times are those of an emulator, and no
# statement about any device.
[bench]
name = "{task}-emulated"

[sut.{emulator}]
machine = "{machine}"
program = "{program}"

[monitor.virtual]
sample_hz = 200_000

{work}"""
_EMULATED_WORK = {
    "null": (
        "[scenario.single_stream]\nrepeat = 1_000\n\n"
        "[task.null]\nsamples = 5\npayload_b = 1024\n"
    ),
    "asc": "[scenario.single_stream]\n\n[task.asc]\nsamples = 3\n",
    "qubo": (
        "[scenario.optimization]\n"
        "timeouts_s = [0.01, 0.1]  # the rules go on to 100 s\n"
        "target_limit_s = 1.0\n\n"
        "[task.qubo]\nnodes = [100]\ndensities = [0.05]\nseeds = [0]\n"
    ),
}

#: A process is faster than a board: null phases are repeated until a window is long
#: enough.
_HOSTED_WORK = {
    "null": (
        "[scenario.single_stream]\nrepeat = 10_000\n\n"
        "[task.null]\nsamples = 20\npayload_b = 1024\n"
    )
}

#: Workloads of the benches of a project: small enough for a small part.
_WORK = {
    "null": "[scenario.single_stream]\n\n[task.null]\nsamples = 20\npayload_b = 1024\n",
    "asc": "[scenario.single_stream]\n\n[task.asc]\nsamples = 40\n",
    "qubo": (
        """[scenario.optimization]
timeouts_s = [0.01, 0.1, 1.0]  # the rules go on to 10 and 100 s
target_limit_s = 10.0

[task.qubo]
nodes = [100, 250]
densities = [0.05]
seeds = [0, 1]
"""
    ),
}


def write_benches(
    folder: Path, task: str, work: str, port: Port, *, emulated: str = ""
) -> None:
    """Write the bench files of a task into a project: of its board, or of a process,
    and of the emulator that has the board. `work` are the scenario and the task,
    `emulated` those for the emulator where they differ.
    """
    _write_bench(folder, task, work, port)
    if port.machine:
        _write_emulated_bench(folder, task, emulated or work, port)


def _write_bench(folder: Path, task: str, work: str, port: Port) -> None:
    if _is_process(port):
        text = _HOSTED.format(task=task, work=_HOSTED_WORK.get(task, work))
    else:
        text = _BENCH.format(task=task, work=work, serial=_serial(port))
    (folder / f"{task}.toml").write_text(text, encoding="utf-8")


def _write_emulated_bench(folder: Path, task: str, work: str, port: Port) -> None:
    text = _EMULATED.format(
        task=task,
        emulator=port.emulator,
        machine=port.machine,
        program=goals(port, task)[-1],
        work=work,
    )
    (folder / emulated_file(task)).write_text(text, encoding="utf-8")


_BOARD_STEPS = (
    (
        "Wire Tx, Rx and ground, then `rig probe null.toml --set"
        " sut.uart.port={serial}`: it says what works and what to try."
    ),
    (
        "Wire SYNC to the energy monitor, its lines (`rig scan`) into `asc.toml`, flash"
        " `asc`, `rig run asc.toml`; so with `qubo`."
    ),
)
#: Steps with a board that an emulator alone has.
_EMULATED_STEPS = (
    (
        "`rig run asc-emulated.toml` measures a benchmark, with a virtual energy"
        " monitor; so with `qubo`."
    ),
)
_HOSTED_STEPS = (
    "`rig probe null.toml` says what works and what to try.",
    (
        "`rig run null.toml` measures it, with a virtual energy monitor; so with `asc`"
        " and `qubo`."
    ),
)


def _steps(port: Port) -> Sequence[str]:
    """Return what to do with a device once there are images."""
    if _is_process(port):
        return _HOSTED_STEPS
    is_only_emulated = port.board is not None and not port.board.flash
    return _EMULATED_STEPS if is_only_emulated else _BOARD_STEPS


def _serial(port: Port) -> str:
    return _ANY_PORT if port.board is None else port.board.port


def _is_process(port: Port) -> bool:
    """Check whether a port's images run on this machine: there is no board to flash
    and to wire.
    """
    return port.compiler == "cc"


#: Of the second step of a project whose image runs in rp2040js.
_NEEDS_RP2040JS = " It is rp2040js, in Node.js: `npm install rp2040js@1.4.1` here."


def _readme(name: str, port: Port) -> str:
    emulate = (
        f"`rig probe {emulated_file('null')}` and `rig run` of it take the board's"
        " place by an emulator; so does `rig firmware emulate`, with a serial line."
        + (_NEEDS_RP2040JS if port.emulator == "rp2040js" else "")
        if port.machine
        else ""
    )
    board = port.board
    flashed = " | ".join(board.flash) if board else ""
    steps = [
        (
            "Go through what `BOARD:` marks (`grep -rn BOARD: .`)."
            if not _is_process(port) and board is None
            else ""
        ),
        (
            "`rig firmware build` (or `make`) makes images under `build/`: `null` only"
            " answers; `asc` and `qubo` are benchmarks."
        ),
        emulate,
        (
            "`rig firmware flash --tool TOOL` writes an image to the board"
            f"{': ' + flashed if flashed else ''}."
            if flashed or (board is None and not _is_process(port))
            else ""
        ),
        *(step.format(serial=_serial(port)) for step in _steps(port)),
        (
            f"`WIRING.md` shows the wires to each energy monitor, `{name}-MONITOR.toml`"
            " measures with it."
            if board is not None and board.wiring is not None
            else ""
        ),
    ]
    numbered = "\n".join(
        f"{number}. {step}" for number, step in enumerate(filter(None, steps), start=1)
    )
    title = f"# Firmware for neurorig {version('neurorig')}, for {name}"
    wires = _wires(board) if board and board.flash else ""
    rest = (
        "`core/` and `workloads/` are the rig's; leave them as they are: results name"
        " the hash of all sources."
    )
    return f"{title}\n\n{wires}{numbered}\n\n{rest}\n"


def _wires(board: Board) -> str:
    return (
        f"{board.title}, {board.core}. UART: Tx {board.tx}, Rx {board.rx}"
        f" ({board.adapter}). SYNC: {board.sync}, raised by {_A[board.raised_by]}.\n\n"
    )


_A = {"timer": "a timer", "interrupt": "an interrupt", "emulator": "the emulator"}
