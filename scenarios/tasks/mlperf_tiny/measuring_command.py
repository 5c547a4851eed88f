# SPDX-License-Identifier: Apache-2.0
"""The work of `rig tiny`: model, image and bench files in one folder, then a session
for each mode, and their results on one page.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rig.api.report import write_report
from rig.cli import exit_codes
from rig.cli.boards.firmware import make_images, with_model
from rig.cli.boards.firmware_sww import WORKLOAD as SWW
from rig.cli.boards.firmware_tflite import WORKLOAD as TFLITE
from rig.cli.boards.kernels_options import PORTABLE
from rig.cli.kept_session import KeptSession
from rig.cli.options import refuse_idle
from rig.cli.printed.terminal import Terminal, escape, say, say_plain
from rig.cli.run_bench import run_session
from rig.errors import BenchError, ConfigError, did_you_mean
from rig.files import small_text
from rig.firmware import project as projects
from rig.network.tflite.kernels import Kernels
from rig.results.document import Results
from scenarios.tasks.mlperf_tiny import benches, outcome
from scenarios.tasks.mlperf_tiny.benches import BACKENDS, MODES
from scenarios.tasks.mlperf_tiny.references import (
    NAMES,
    REFERENCES,
    WAKE_WORD,
    WAKE_WORD_NAME,
)
from scenarios.tasks.mlperf_tiny.tensors import TensorBenchmark
from scenarios.tasks.mlperf_tiny.wake_word import WakeWordBenchmark

SUMMARY = "summary.txt"
_SESSIONS = "sessions"
_FIRMWARE = "firmware"
_BOARDS = {"posix": "posix", "qemu": "stm32f405"}
_BOARD = "stm32f405"


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyRun:
    """The words of the command line."""

    benchmark: str
    settings: tuple[str, ...]
    clone: Path
    inputs: Path | None
    on: str
    board: str | None
    kernels: str
    library: Path | None
    monitor: Path | None
    modes: tuple[str, ...]
    files: int
    minutes: float | None
    trials: int
    folder: Path | None


@dataclass(frozen=True, slots=True)
class MadeBenches:
    """The folder with a bench file for each mode, and the first lines of its page."""

    folder: Path
    about: tuple[str, ...]


def measure(requested: TinyRun, *, run: bool) -> int:
    """Make image and benches, run the modes, print the results; return the exit
    code.
    """
    made = prepare(requested)
    if not run:
        _say_next(requested, made.folder)
        return 0
    return run_modes(made, _modes(requested), requested.trials)


def prepare(requested: TinyRun) -> MadeBenches:
    """Write model, firmware and bench files into one folder."""
    if requested.benchmark not in NAMES:
        raise ConfigError(
            f"there is no benchmark {requested.benchmark}",
            try_next=f"{did_you_mean(requested.benchmark, NAMES)}one of"
            f" {', '.join(NAMES)}",
        )
    _refuse_unused(requested)
    chosen = _chosen(requested)
    default = Path(f"tiny-{requested.benchmark}-{Path(requested.on).name}")
    folder = requested.folder or default
    is_new = not folder.exists()
    _own_folder(folder, chosen.benchmark)
    try:
        return _filled(requested, chosen, folder)
    except BaseException:
        # A refused model leaves no folder.
        if is_new:
            shutil.rmtree(folder)
        raise


def _chosen(requested: TinyRun) -> TensorBenchmark | WakeWordBenchmark:
    """Open the model and look for the data."""
    if requested.benchmark in REFERENCES:
        tensors = TensorBenchmark.of(
            REFERENCES[requested.benchmark],
            requested.clone,
            requested.inputs,
            on=requested.on,
            files=requested.files,
        )
        # before the image is built
        tensors.require_inputs(requested.modes)
        return tensors
    return WakeWordBenchmark.of(
        requested.clone, requested.inputs, on=requested.on, minutes=requested.minutes
    )


def _filled(
    requested: TinyRun, chosen: TensorBenchmark | WakeWordBenchmark, folder: Path
) -> MadeBenches:
    kept = folder / f"{chosen.benchmark}.tflite"
    kept.write_bytes(small_text.read_block(chosen.path))
    image, machine = "", ""
    if requested.on not in ("virtual", "cpu"):
        image, machine = _image(requested, chosen, kept)
    about, tables = chosen.tables(folder, kept.name)
    for mode in MODES:
        sut = chosen.sut(image, machine, mode)
        monitor = chosen.monitor(requested.monitor, mode)
        mode_tables = tables(mode)
        text = benches.bench(
            benchmark=chosen.benchmark,
            mode=mode,
            sut=sut,
            monitor=monitor,
            tables=mode_tables,
        )
        (folder / f"{mode}.toml").write_text(text, encoding="utf-8")
    title = (
        f"MLPerf Tiny {chosen.benchmark} on {requested.on}: {chosen.path.name},"
        f" {chosen.identity}, SHA-256 {chosen.network.sha256}"
    )
    return MadeBenches(folder, (title, about))


def run_modes(made: MadeBenches, modes: Sequence[str], trials: int) -> int:
    """Run the bench file of each mode; print and keep their results; return the exit
    code.
    """
    console = Terminal()
    sessions = made.folder / _SESSIONS
    outcomes: list[tuple[str, Results]] = []
    page = list(made.about)
    for mode in modes:
        say_plain(f"{mode}: {made.folder / mode}.toml")
        with KeptSession() as kept:
            bench = made.folder / f"{mode}.toml"
            result = run_session(
                bench, (), trials, sessions, console=console, kept=kept
            )
            write_report(result.folder, hashed=True, trials=result.trials)
        outcomes.append((mode, result.results))
        page += ["", *outcome.lines(mode, result.results, result.folder)]
        (made.folder / SUMMARY).write_text("\n".join(page) + "\n", encoding="utf-8")
    for line in page:
        console.print(escape(line), soft_wrap=True, highlight=False)
    say(console, escape(f"{made.folder / SUMMARY}; rig check SESSION, rig report"))
    return exit_codes.FAIL if outcome.is_bad(outcomes) else 0


def _refuse_unused(requested: TinyRun) -> None:
    """Raise ConfigError for options that have no effect, or contradict the device."""
    if requested.benchmark == WAKE_WORD_NAME:
        refuse_idle("of a signal", "files")
    else:
        refuse_idle("of tensors", "minutes")
        if requested.inputs is not None:
            refuse_idle("beside --inputs, as none are generated", "files")
    if requested.on in ("virtual", "cpu"):
        of_image = "board", "settings", "kernels", "library"
        refuse_idle(f"with --on {requested.on}, which has no image", *of_image)
        return
    if requested.kernels == PORTABLE:
        refuse_idle(f"with --kernels {PORTABLE}", "library")
    is_port = "/" in requested.on or requested.on.upper().startswith("COM")
    if requested.on not in BACKENDS and not is_port:
        raise ConfigError(
            f"there is no device {requested.on}",
            path="--on",
            try_next=f"one of {', '.join(BACKENDS)}; or a serial port: rig scan",
        )
    _refuse_board(requested.board or _BOARDS.get(requested.on, _BOARD), requested.on)
    if is_port and requested.monitor is None and "energy" in requested.modes:
        raise ConfigError(
            "energy needs an energy monitor",
            path="--monitor",
            try_next="a file with the lines of `rig scan`: docs/how-to/MONITORS.md",
        )


def _modes(requested: TinyRun) -> list[str]:
    """Return the modes to run: those that are named, else all that the device has, or
    the one whose stream has the results of all.
    """
    if requested.modes:
        return [mode for mode in MODES if mode in requested.modes]
    metered = requested.on in BACKENDS or requested.monitor is not None
    if requested.benchmark == WAKE_WORD_NAME:
        return ["energy" if metered else "performance"]
    if not metered:
        say_plain("no energy: --monitor FILE names a monitor")
    return [mode for mode in MODES if metered or mode != "energy"]


def _own_folder(folder: Path, benchmark: str) -> None:
    """Make a folder, or take one that this command has made before for the benchmark;
    raises ConfigError for another.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file", path="--to", try_next="a folder")
    is_ours = (folder / f"{MODES[0]}.toml").is_file()
    if folder.is_dir() and any(folder.iterdir()) and not is_ours:
        raise ConfigError(
            f"{folder} is there and not empty",
            path="--to",
            try_next="another name; nothing was written",
        )
    names = [*(each.benchmark for each in REFERENCES.values()), WAKE_WORD.benchmark]
    for other in names:
        if other != benchmark and (folder / f"{other}.tflite").is_file():
            raise ConfigError(
                f"{folder} has the benchmark {other}, whose bench files those of"
                f" {benchmark} would replace",
                path="--to",
                evidence=f"{other}.tflite in it",
                try_next="another name; nothing was written",
            )
    folder.mkdir(parents=True, exist_ok=True)


def _image(
    requested: TinyRun, chosen: TensorBenchmark | WakeWordBenchmark, kept: Path
) -> tuple[str, str]:
    """Build the image; return its path in the folder, and the machine of QEMU."""
    board = requested.board or _BOARDS.get(requested.on, _BOARD)
    project = kept.parent / _FIRMWARE
    options = replace(
        chosen.options(kept),
        kernels=Kernels(requested.kernels),
        library=requested.library,
    )
    project, goals = with_model(project, board, options, requested.settings)
    port = projects.read_port(project / projects.PORT_FILE)
    emulated = bool(port.emulated) and requested.on == "qemu"
    built = [
        image
        for image in make_images(project, goals, chosen.workload)
        if projects.is_for_emulator(image) == emulated
    ]
    if len(built) > 1:
        raise BenchError(
            f"{project} has several images of {chosen.workload}",
            evidence=", ".join(map(str, built)),
            try_next=f"remove {project / 'build'}, or another --to",
        )
    return built[0].relative_to(kept.parent).as_posix(), port.machine


def _refuse_board(board: str, on: str) -> None:
    """Raise ConfigError where a port has no images for the device."""
    known = projects.ports(projects.sources())
    if board not in known:
        raise ConfigError(
            f"there is no port {board}",
            path="--board",
            try_next=f"{did_you_mean(board, known)}one of {', '.join(known)}",
        )
    fitting = [name for name, port in known.items() if _suits(port, on)]
    if board not in fitting:
        raise ConfigError(
            f"images of the port {board} do not run on {on}",
            path="--board",
            try_next=f"one of {', '.join(fitting)}",
        )


def _suits(port: projects.Port, on: str) -> bool:
    """Check whether images of a port run on a backend, or on a board at a serial
    port.
    """
    if port.compiler == "cc":
        return on == "posix"
    if on == "qemu":
        return bool(port.machine) and port.emulator == "qemu"
    # A board without a tool that writes it is for the emulator alone.
    return on not in BACKENDS and port.board is not None and bool(port.board.flash)


def _say_next(requested: TinyRun, folder: Path) -> None:
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    say_plain(f"{folder}: {', '.join(files)}", "made ")
    if requested.on not in BACKENDS:
        workload = SWW if requested.benchmark == WAKE_WORD_NAME else TFLITE
        say_plain(
            f"rig firmware flash {folder / _FIRMWARE} --workload {workload}", "next: "
        )
    say_plain("the same command without --no-run measures", "next: ")
