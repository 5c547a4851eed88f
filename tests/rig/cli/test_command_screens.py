# SPDX-License-Identifier: Apache-2.0
"""Screens of commands that need no session, as stored in screens/: run in a folder with
a network, inputs, bench files, and files whose names are wrong.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np
import pytest

from rig.bench import config
from rig.cli.boards import firmware
from sut_backends.served.serve import Server
from tests import screens
from tests.conftest import ROOT
from tests.images import elf
from tests.rig.cli.test_screens import SCREENS
from tests.scenarios.tasks.mlperf_tiny import fake_clone

_VECTORS = ROOT / "tests" / "vectors" / "nir"
_SQUARE = "p edge 4 8\ne 1 2\ne 2 3\ne 3 4\ne 4 1\ne 1 2\n"
_MATRIX = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 3\n"
#: Name of a screen -> the words after `rig`.
SHOWN: dict[str, str] = {
    "bench-list": "bench list",
    "bench-list-extra": "bench list extra",
    "bench-list-no-command": "bench lst",
    "bench-list-no-option": "bench list --json",
    "bench-no-folder": "bench new virtual-asc nosuch/mine.toml",
    "campaign-empty-axis": "campaign empty.toml",
    "campaign-no-grid": "campaign nosuch.toml",
    "campaign-none-done": "campaign grid.toml --status",
    "campaign-too-many": "campaign grid.toml --most 3",
    "campaign-wrong-setting": "campaign wrong.toml",
    "docs-extra": "docs CHECK extra",
    "docs-no-option": "docs --jsn",
    "doctor-no-bench": "doctor nosuch.toml",
    "doctor-no-option": "doctor --jsn",
    "firmware-boards": "firmware boards",
    "firmware-boards-pico": "firmware boards pico",
    "firmware-boards-extra": "firmware boards pico posix",
    "firmware-boards-no-option": "firmware boards --wires",
    "firmware-boards-wires": "firmware boards nucleo_l4r5zi --monitor js220",
    "firmware-boards-unknown": "firmware boards posix",
    "firmware-build-idle": "firmware build nosuch --steps 3",
    "firmware-emulate": "firmware emulate board.elf --machine mps2-an385",
    "firmware-emulate-no-image": "firmware emulate nosuch",
    "firmware-emulate-no-machine": "firmware emulate board.elf",
    "firmware-emulate-other-file": "firmware emulate text.jls",
    "firmware-flash": "firmware flash board.elf --tool openocd --target t.cfg --dry-run",
    "firmware-flash-no-tool": "firmware flash board.elf --tool jlink",
    "firmware-flash-workload": "firmware flash board.elf --workload asc",
    "firmware-new": "firmware new board --port posix",
    "firmware-new-no-monitor": "firmware new board --board pico --monitor ppk1",
    "firmware-new-no-port": "firmware new board",
    "firmware-new-no-folder": "firmware new text.jls --port posix",
    "firmware-new-there": "firmware new full --port posix",
    "gui-extra": "gui bench.toml extra",
    "gui-no-option": "gui --dem",
    "gui-two-ways": "gui bench.toml --demo",
    "list-kind": "list task.null",
    "list-no-sessions": "list --sessions nosuch",
    "monitor-check": "monitor check bench.toml --resistor 1kohm,0.1% --voltmeter 0.05%"
    " --seconds 0.3 --clock-seconds 0",
    "monitor-check-other-resistor": "monitor check bench.toml --resistor 1kohm,0.1%"
    " --seconds 0.3 --clock-seconds 0 --simulated-ohm 1200",
    "monitor-check-no-bench": "monitor check nosuch.toml",
    "monitor-check-no-tolerance": "monitor check bench.toml --resistor 1kohm",
    "monitor-check-there": "monitor check bench.toml --out board.elf",
    "model-check": "model check lif.nir --dt 0.001 --reset zero",
    "model-check-no-file": "model check nosuch.nir",
    "model-check-other-file": "model check bad.nir",
    "model-check-wrong": "model check lif.nir --dt 5",
    "model-inspect-other-file": "model inspect bad.nir",
    "model-map": "model map plain.nir --on loihi --dt 0.001 --reset zero",
    "model-map-no-kind": "model map lif.nir --on nosuch --dt 0.001",
    "model-map-no-step": "model map lif.nir --on loihi",
    "model-map-other-kind": "model map lif.nir --on cpu --dt 0.001",
    "model-quantize": "model quantize lif.nir -o fixed.nir --input in.npy --dt 0.001",
    "model-quantize-no-folder": "model quantize lif.nir -o nosuch/fixed.nir",
    "model-quantize-no-input": "model quantize lif.nir -o fixed.nir --input nosuch.npy",
    "model-quantize-no-step": "model quantize lif.nir -o fixed.nir",
    "model-run": "model run lif.nir in.npy --dt 0.001",
    "model-run-no-input": "model run lif.nir nosuch.npy --dt 0.001",
    "model-run-no-node": "model run lif.nir in.npy --dt 0.001 --record nosuch",
    "model-run-shape": "model run lif.nir wide.npy --dt 0.001",
    "model-sense-no-input": "model sense lif.nir nosuch.npy --on loihi --dt 0.001",
    "model-sense-other-kind": "model sense lif.nir in.npy --on cpu --dt 0.001",
    "model-sense-simulated": "model sense lif.nir in.npy --on loihi --dt 0.001",
    "qubo-inspect": "qubo inspect square.col",
    "qubo-inspect-cut-off": "qubo inspect cut-off.txt",
    "qubo-search-cut-off": "qubo search cut-off.txt",
    "qubo-inspect-no-file": "qubo inspect nosuch.col",
    "qubo-inspect-no-kind": "qubo inspect square.mtx",
    "qubo-search": "qubo search square.col --target 2",
    "qubo-search-no-file": "qubo search nosuch.col",
    "qubo-search-no-target": "qubo search square.col --target 0.5",
    "qubo-largest": "qubo largest qubo.toml --edges-max 2000 --timeout 0.01",
    "qubo-largest-no-bench": "qubo largest nosuch.toml",
    "qubo-largest-no-folder": "qubo largest qubo.toml --out nosuch/largest.json",
    "qubo-largest-other-task": "qubo largest bench.toml",
    "qubo-rescore-no-session": "qubo rescore nosuch",
    "qubo-rescore-no-table": "qubo rescore full --targets text.jls",
    "qubo-rescore-other-folder": "qubo rescore full",
    "qubo-targets": "qubo targets --show --nodes 10",
    "qubo-targets-idle": "qubo targets --show --search 1",
    "qubo-targets-no-file": "qubo targets --verify --table nosuch.csv",
    "qubo-targets-no-workload": "qubo targets --nodes 11",
    "qubo-targets-verify": "qubo targets --verify --nodes 10",
    "run-no-bench": "run nosuch.toml",
    "run-not-toml": "run text.jls",
    "run-wrong-setting": "run bench.toml --set sut.virtual.clok_ppm=1",
    "scan-extra": "scan extra",
    "scan-no-option": "scan --jsn",
    "sdk-doctor-no-option": "sdk doctor --pyton nosuch",
    "sdk-doctor-no-python": "sdk doctor gpu --python nosuch",
    "sdk-install-no-kind": "sdk install",
    "sdk-install-no-python": "sdk install gpu --python nosuch",
    "sdk-install-unknown": "sdk install loihi2",
    "serve": "serve bench.toml --tcp 0",
    "serve-idle": "serve bench.toml --pty --baud 9600",
    "serve-no-bench": "serve nosuch.toml --pty",
    "serve-no-line": "serve bench.toml --pty --sync nosuch",
    "serve-nowhere": "serve bench.toml",
    "sessions-no-folder": "sessions --sessions nosuch",
    "sessions-no-option": "sessions --tags good",
    "start-address": "start --board posix --monitor simulated --port COM3",
    "start-no-answer": "start --board pico",
    "start-no-board": "start --board picos",
    "tiny": "tiny kws --from clone --on virtual --no-run",
    "tiny-no-benchmark": "tiny kwss --from clone",
    "tiny-no-clone": "tiny kws --from full",
    "tiny-no-device": "tiny kws --from clone --on qemus",
    "tiny-no-option": "tiny kws",
    "view-no-number": "view text.jls --rate fast",
    "view-no-option": "view text.jls --markers",
    "view-no-path": "view",
}
#: Screens that need more lines than a terminal has: all example benches.
LONG = {"bench-list"}
LINES = 24


class _EmulatorOfNothing:
    """Stands for QEMU: it is reachable at a fixed address, and stopped at once."""

    url = "socket://127.0.0.1:0"

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> _EmulatorOfNothing:
        return self

    def __exit__(self, *_: object) -> None: ...

    def wait(self) -> None:
        raise KeyboardInterrupt


def _stopped(_: Server) -> None:
    raise KeyboardInterrupt


def _stock_cells() -> nir.NIRGraph:
    """Return a network of a layer that Lava's own cells can hold."""
    neurons = nir.LIF(
        tau=np.full(4, 0.02),
        r=np.ones(4),
        v_leak=np.zeros(4),
        v_threshold=np.ones(4),
        v_reset=np.zeros(4),
    )
    nodes = {
        "input": nir.Input({"input": np.array([8])}),
        "weight": nir.Linear(np.full((4, 8), 0.25)),
        "neurons": neurons,
        "output": nir.Output({"output": np.array([4])}),
    }
    return nir.NIRGraph(nodes, list(pairwise(nodes)))


def furnish(folder: Path) -> None:
    """Put the files into a folder that the commands name."""
    shutil.copy(_VECTORS / "norse-lif-0.001.nir", folder / "lif.nir")
    nir.write(folder / "plain.nir", _stock_cells())
    spikes = np.zeros((1, 12, 8), dtype=np.uint8)
    spikes[:, ::2] = 1
    np.save(folder / "in.npy", spikes)
    np.save(folder / "wide.npy", spikes[0, :, :3])
    for name in ("null", "qubo"):
        text = config.load(ROOT / "benches" / f"virtual-{name}.toml").toml()
        path = folder / ("bench.toml" if name == "null" else "qubo.toml")
        path.write_text(text, encoding="utf-8")
    head = '[grid]\nbench = "bench.toml"\nrepetitions = 2\n[axis]\n'
    for name, axis in (
        ("grid", "sut.virtual.idle_w = [0.005, 0.01]"),
        ("empty", "sut.virtual.idle_w = []"),
        ("wrong", "sut.virtual.idel_w = [0.005]"),
    ):
        (folder / f"{name}.toml").write_text(head + axis, encoding="utf-8")
    for name in ("text.jls", "bad.nir", "full/file.txt"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("words of another kind\n", encoding="utf-8")
    (folder / "board.elf").write_bytes(elf())
    (folder / "square.col").write_text(_SQUARE, encoding="utf-8")
    (folder / "cut-off.txt").write_text("3 2\n1 2 1\n", encoding="utf-8")
    (folder / "square.mtx").write_text(_MATRIX, encoding="utf-8")
    fake_clone.clone(folder / "clone")


@contextmanager
def _in_a_folder(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    folder.mkdir()
    furnish(folder)
    with patch.context() as inner:
        inner.chdir(folder)
        yield


@pytest.mark.parametrize("name", SHOWN)
def test_a_screen_is_the_stored_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firmware, "Emulator", _EmulatorOfNothing)
    monkeypatch.setattr(Server, "run", _stopped)

    def show(width: int, piped: bool) -> str:
        with _in_a_folder(tmp_path / f"{width}-{piped}", monkeypatch):
            text = screens.of_command(width, piped, *SHOWN[name].split())
        # A free port of this computer.
        return re.sub(r"(socket://127\.0\.0\.1):\d+", r"\1:0", text)

    screens.compare(SCREENS / f"{name}.txt", screens.every(show))


@pytest.mark.parametrize("name", SHOWN)
def test_a_stored_screen_fits_the_terminal(name: str) -> None:
    text = (SCREENS / f"{name}.txt").read_text(encoding="utf-8")
    assert not screens.wider(text)
    if name not in LONG:
        for screen in text.split("=====")[1:]:
            assert len(screen.rstrip().splitlines()) - 1 <= LINES + 2
