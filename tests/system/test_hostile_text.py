# SPDX-License-Identifier: Apache-2.0
"""Text from outside in the output of the commands: names that command a terminal, turn
the writing, or begin a line of their own come from a device, an instrument, a bench, a
session, a network, a trace.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np
import pytest

from rig.bench import scan
from rig.interfaces.monitor import FoundInstrument
from tests.commands import rig
from tests.sut_backends.uart.public_device import Build, PublicDevice

#: Clears the screen, sets the window's title, returns to the line's begin, colours by
#: C1, turns the direction of writing, begins a line of its own, and is markup.
NASTY = "a\x1b[2J\x1b]0;t\x07\rb\x9b31m\u202egnp\nFORGED\x85[red]c[/]<b>d</b>"
FORGED = "FORGED"
#: Characters that a command may print: the rest are commands to the terminal, or
#: unseen.
UNSEEN = re.compile(
    "[^\\n\\t\x20-\x7e\xa0-\u200a\u2010-\u2027\u202f-\u205f\u2070-\ufefe\uff00-\U0010ffff]"
)
BENCH = """
[bench]
name = {name}
trials = 1
[sut.{sut}]
{settings}
[monitor.{monitor}]
{instrument}
[scenario.single_stream]
idle_s = 0.1
[task.null]
samples = 2
[metadata]
architecture = {said}
"""


def quoted(text: str) -> str:
    """Return a string of TOML."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def bench(path: Path, name: str = "plain", **parts: str) -> Path:
    of = {
        "sut": "virtual",
        "settings": "",
        "monitor": "none",
        "instrument": "",
        **parts,
    }
    path.write_text(
        BENCH.format(name=quoted(name), said=quoted(NASTY), **of), encoding="utf-8"
    )
    return path


def shown(*words: str | Path, cwd: Path) -> str:
    """Return a command's output, which commands no terminal and forges no line."""
    done = rig(*words, cwd=cwd)
    printed = done.stdout + done.stderr
    assert not UNSEEN.findall(printed), (words, printed)
    assert not re.search(rf"^[\s'\"]*{FORGED}", printed, re.MULTILINE), (words, printed)
    assert "Traceback" not in printed, printed
    return printed


def test_of_a_bench_file(tmp_path: Path) -> None:
    path = bench(tmp_path / f"{NASTY.replace('/', '|')}.toml", monitor="virtual")
    for words in (("plan",), ("run",)):
        shown(*words, path, cwd=tmp_path)
    for broken in (
        {"name": NASTY},
        {"sut": quoted(NASTY)},
        {"settings": f"{quoted(NASTY)} = 1"},
        {"settings": f"clock_ppm = {quoted(NASTY)}"},
        {"sut": "uart", "settings": f"port = {quoted(NASTY)}"},
        {"monitor": "playback", "instrument": f"path = {quoted(NASTY)}"},
        {"monitor": "keysight_n6705", "instrument": f"resource = {quoted(NASTY)}"},
    ):
        path = bench(tmp_path / "broken.toml", **broken)
        assert FORGED in shown("probe", path, cwd=tmp_path)
    (tmp_path / "none.toml").write_text(
        f"[bench]\nname = 1\n# {NASTY}\n", encoding="utf-8"
    )
    shown("run", tmp_path / "none.toml", cwd=tmp_path)


class Nasty(PublicDevice):
    """A device with the hostile text in all its words, as far as a line can."""

    def _say(self, text: str, end: str = "\r\n") -> None:
        line = NASTY.replace("\n", "").replace("[red]", "")
        super()._say(text.replace("]", f"{line}]") if text.endswith("]") else text, end)


class Refusing(Nasty):
    """The same; it refuses to infer."""

    def _infer(self, count: int, warmups: int) -> None:
        self._say(f"e-[{count}]")


@pytest.mark.posix
@pytest.mark.parametrize(("kind", "command"), [(Nasty, "probe"), (Refusing, "run")])
def test_of_a_device(kind: type[PublicDevice], command: str, tmp_path: Path) -> None:
    with kind(Build(sample_b=16, infer_s=0.0)) as device:
        path = bench(
            tmp_path / "b.toml", sut="uart", settings=f"port = {quoted(device.port)}"
        )
        assert "gnp" in shown(command, path, cwd=tmp_path)


@contextmanager
def instrument() -> Iterator[int]:
    """Serve an instrument whose every answer is a hostile identity."""
    line = (
        NASTY.replace("\n", "").encode()
        + b",N6705C,"
        + NASTY.replace("\n", "").encode()
    )
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    with server.accept()[0] as client:
                        while client.recv(1000):
                            client.sendall(line + b",1\n")
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_of_an_instrument(tmp_path: Path) -> None:
    with instrument() as port:
        resource = f'resource = "TCPIP::127.0.0.1::{port}::SOCKET"\ntimeout_s = 0.5'
        path = bench(tmp_path / "b.toml", monitor="keysight_n6705", instrument=resource)
        assert "gnp" in shown("probe", path, cwd=tmp_path)


def test_of_a_network(tmp_path: Path) -> None:
    nodes = {
        "input": nir.Input(np.array([2])),
        NASTY.replace("/", "|"): nir.Linear(np.ones((3, 2))),
        "output": nir.Output(np.array([3])),
    }
    names = list(nodes)
    path = tmp_path / f"n\x1b\n{FORGED}.nir"
    nir.write(path, nir.NIRGraph(nodes, list(pairwise(names))))
    np.save(tmp_path / "inputs.npy", np.ones((1, 4, 2)))
    assert FORGED in shown("model", "inspect", path, cwd=tmp_path)
    shown("model", "check", path, cwd=tmp_path)
    inputs = tmp_path / "inputs.npy"
    node = names[1]
    assert FORGED in shown(
        *(
            "model",
            "run",
            path,
            inputs,
            "--dt",
            "1e-3",
            "--record",
            node,
            "--output",
            "o.npz",
        ),
        cwd=tmp_path,
    )
    assert FORGED in shown(
        *("model", "run", path, inputs, "--dt", "1e-3", "--record", "no"), cwd=tmp_path
    )
    options = ("--inputs", inputs, "--dt=1e-3")
    shown("model", "quantize", path, *options, cwd=tmp_path)


def test_of_a_trace(tmp_path: Path) -> None:
    path = tmp_path / f"{NASTY.replace('/', '|')}.csv"
    rows = "".join(f"{number},1,2,0\n" for number in range(20))
    path.write_text(f't (s),I (A),U (V),"{NASTY}"\n{rows}', encoding="utf-8")
    shown("measure", path, cwd=tmp_path)
    head = NASTY.replace("\n", " ")
    path.write_text(f't (s),I (A),U (V),"{head}"\n{rows}', encoding="utf-8")
    for form in ([], ["--csv"], ["--json"]):
        shown("measure", path, *form, cwd=tmp_path)
    assert FORGED in shown("measure", path, "--current", "none", cwd=tmp_path)
    broken = path.with_suffix(".jls")
    broken.write_bytes(b"jlsfmt\r\n \n \x1a  \xb2\x1c" + bytes(200))
    assert FORGED in shown("measure", broken, cwd=tmp_path)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a session with plain names."""
    folder = tmp_path_factory.mktemp("plain")
    done = rig("run", bench(folder / "b.toml", monitor="virtual"), cwd=folder)
    assert done.returncode == 4, done.stderr
    (made,) = (folder / "sessions").iterdir()
    return made


def spoilt(value: object) -> object:
    """Return JSON with the hostile text in every string that is no name of a kind of
    thing."""
    match value:
        case dict():
            return {key: spoilt(each) for key, each in value.items()}
        case list():
            return [spoilt(each) for each in value]
        case str() if not re.fullmatch(r"[0-9a-f]{64}|[\w.+-]*", value):
            return value + NASTY
    return value


FILES = (
    "results.json",
    "provenance.json",
    "trial-1/completions.jsonl",
    "events.jsonl",
    "bench.toml",
)


def of_a_stranger(session: Path, folder: Path, *files: str) -> Path:
    """Return a copy of a session, of a hostile name, with the hostile text in some of
    its files."""
    copy = folder / "sessions" / f"s {NASTY.replace('/', '|')}"
    shutil.copytree(session, copy)
    for path in map(copy.joinpath, files):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        if path.suffix == ".toml":
            path.write_text(text.replace('"plain"', quoted(NASTY)), encoding="utf-8")
        else:
            made = [json.dumps(spoilt(json.loads(line))) for line in lines]
            path.write_text("\n".join(made) + "\n", encoding="utf-8")
    return copy


@pytest.mark.parametrize("files", [FILES[:1], FILES[1:3], FILES[3:4], FILES[4:]])
def test_of_files_of_a_session(
    files: tuple[str, ...], session: Path, tmp_path: Path
) -> None:
    folder = of_a_stranger(session, tmp_path, *files)
    page = folder / "report.html"
    if files != FILES[:1]:
        # a second drawing for comparison reads no other file
        page.unlink()
    assert FORGED in shown("check", folder, cwd=tmp_path)
    shown("report", folder, cwd=tmp_path)
    html = page.read_text(encoding="utf-8") if page.exists() else ""
    assert "<b>d" not in html and not UNSEEN.findall(html)


def test_of_a_session(session: Path, tmp_path: Path) -> None:
    folder = of_a_stranger(session, tmp_path, "results.json", "provenance.json")
    for words in (
        ("list",),
        ("sessions",),
        ("resume", folder),
        ("compare", session, folder),
    ):
        assert FORGED in shown(*words, cwd=tmp_path), words
    shown("sessions", "--tag", folder, NASTY, cwd=tmp_path)


def test_of_a_serial_number_no_key_of_a_bench_file_is_made() -> None:
    result = FoundInstrument("it", 'A"\nport = "B', 'serial = "A"\nport = "B"')
    row = scan._instrument("joulescope", result)
    assert row.setting == "[monitor.joulescope]"
