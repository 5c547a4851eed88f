# SPDX-License-Identifier: Apache-2.0
"""`rig start`, walked to the end with an emulator or a process in the board's place,
and stopped at each of its questions."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import pytest

from rig.cli.boards import questions
from rig.cli.exit_codes import NOT_TESTED, STOPPED
from rig.cli.main import rig as command_line
from rig.errors import ConfigError, RigError
from rig.firmware import project
from rig.firmware.emulator import Emulator
from tests import boards
from tests.rig.cli.boards.test_firmware import fake_tool, needs_arm, needs_make
from tests.uncounted import uncounted
from tests.waiting import eventually

#: Walks to the end without a board, as quickly as it goes.
SHORT = (
    *("--set", "task.asc.samples=2"),
    *("--set", "scenario.single_stream.idle_s=0.2"),
)
#: No host is so busy that an emulated device is given up on.
PATIENT_S = 30
Start = Callable[..., tuple[int, str]]


@pytest.fixture
def start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Start:
    """Run `rig start` in tmp_path, not at a terminal; return its exit code and output."""

    def run(*words: str | Path) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            try:
                given = ["start", *map(str, words)]
                code = command_line.main(given, standalone_mode=False)
                error = ""
            except RigError as refused:
                code = refused.exit_code
                error = str(refused)
        return code or 0, "".join(capfd.readouterr()) + error

    return run


def only_session(folder: Path) -> Path:
    (session,) = (folder / "sessions").iterdir()
    return session


@needs_make
def test_it_goes_to_a_result_with_a_process_and_is_gone_on_with(
    start: Start, tmp_path: Path
) -> None:
    words = ("--board", "posix", "--monitor", "simulated", *SHORT)
    code, output = start(*words)
    assert code == 0, output
    given = [line for line in output.splitlines() if line.startswith("$ rig ")]
    assert [line.split()[2] for line in given] == [
        "firmware",
        "firmware",
        "probe",
        "run",
    ]
    session = only_session(tmp_path)
    assert f"result: sessions/{session.name}" in output
    results = json.loads((session / "results.json").read_text(encoding="utf-8"))
    assert len(results["trials"]) == 5
    # The project is there: it is not made again.
    code, output = start(*words, "--trials", "1")
    assert code == NOT_TESTED and "$ rig firmware new" not in output
    assert len(list((tmp_path / "sessions").iterdir())) == 2


@needs_arm
def test_it_goes_to_a_result_with_the_emulated_pico(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards.need_rp2040js(monkeypatch)
    words = ("--board", "pico", "--monitor", "simulated", "--yes", "--trials", "1")
    patient = f"sut.rp2040js.timeout_s={PATIENT_S}"
    code, output = start(*words, "--set", "task.asc.samples=1", "--set", patient)
    assert code == NOT_TESTED, output
    assert "PASS  SYNC wire: 8 marks of the device, 8 edges at the monitor" in output
    assert "$ rig firmware flash" not in output
    results = json.loads((only_session(tmp_path) / "results.json").read_text("utf-8"))
    assert len(results["trials"]) == 1


@needs_arm
def test_a_board_is_flashed_and_measured_at_its_port(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in openocd's place notes its order to write; the emulator at a socket
    is the board.
    """
    boards.need_rp2040js(monkeypatch)
    noted = fake_tool(tmp_path / "tools", "openocd")
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.environ['PATH']}")
    with Emulator(boards.pico("asc"), "pico", (), "rp2040js") as emulated:
        code, output = start(
            *("mine", "--board", "pico", "--monitor", "none", "--port", emulated.url),
            *("--tool", "openocd", "--yes", "--trials", "1"),
            *("--set", "sut.uart.simulated=true", "--set", "task.asc.samples=1"),
            *("--set", f"sut.uart.timeout_s={PATIENT_S}"),
        )
    assert code == NOT_TESTED, output
    assert "build/pico/asc.elf" in noted.read_text(encoding="utf-8")
    bench = (tmp_path / "mine" / "asc.toml").read_text(encoding="utf-8")
    assert f'port = "{emulated.url}"' in bench
    assert "[task.asc] data in mine/asc.toml" in output


def test_a_board_that_does_not_answer_ends_it_at_the_probe(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = fake_tool(tmp_path / "tools", "make")
    fake_tool(tmp_path / "tools", "arm-none-eabi-gcc")
    size = tmp_path / "tools" / "arm-none-eabi-size"
    fake_tool(tmp_path / "tools", size.name)
    size.write_text("#!/bin/sh\necho text data bss\necho 1000 200 30 x\n", "ascii")
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.environ['PATH']}")
    project.create(tmp_path / "mine", "pico", project.sources())
    image = tmp_path / "mine" / "build" / "pico" / "asc.elf"
    image.parent.mkdir(parents=True)
    image.write_bytes(b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + b"\x02\0" + bytes(34))
    code, output = start(
        *("mine", "--board", "pico", "--monitor", "none", "--port", "/dev/nosuch"),
        *("--flashed", "--yes"),
    )
    assert "build/pico/asc.elf" in noted.read_text(encoding="utf-8")
    assert code == 3 and "/dev/nosuch" in output
    assert "rig start mine --board pico --monitor none --port /dev/nosuch" in output
    assert not (tmp_path / "sessions").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of esp32c6"),
        (["--board", "picos"], "did you mean pico"),
        (["--board", "pico"], "no terminal to ask at"),
        (["--board", "pico", "--monitor", "ppk"], "did you mean ppk2"),
        (["--board", "mps2", "--monitor", "ppk2"], "one of simulated"),
        (["--board", "nano33ble", "--monitor", "simulated"], "one of js220"),
        (["--board", "pico", "--monitor", "none"], "--port"),
        (
            ["--board", "pico", "--monitor", "ppk2", "--port", "/dev/ttyUSB9"],
            "--instrument",
        ),
        (
            ["--board", "pico", "--monitor", "none", "--port", "/dev/ttyUSB9"],
            "whether the wires are made",
        ),
        (
            ["--board", "pico", "--monitor", "simulated", "--port", "/dev/ttyUSB9"],
            "--port has no effect here",
        ),
        (
            ["--board", "posix", "--monitor", "simulated", "--instrument", "1"],
            "--instrument has no effect here",
        ),
        (["full", "--board", "pico", "--monitor", "simulated"], "no project of pico"),
        (["other", "--board", "pico", "--monitor", "simulated"], "no project of pico"),
    ],
)
def test_an_answer_that_lacks_or_cannot_be_is_refused_before_a_file_is_written(
    start: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    said: str,
) -> None:
    monkeypatch.setattr(questions, "scan", list)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work", encoding="utf-8")
    project.create(tmp_path / "other", "pico2", project.sources())
    before = sorted(tmp_path.rglob("*"))
    code, output = start(*words)
    assert code == ConfigError.exit_code and said in output
    assert sorted(tmp_path.rglob("*")) == before


#: Answers that lead to the next question, in turn, and what each of them is asked for.
ASKED = (
    ("Which board?", "pico"),
    ("Which monitor?", "3"),
    ("At which serial port is the board?", "/dev/nosuch"),
    ("Where is the Nordic PPK2?", "/dev/nosuch-either"),
)


class Terminal:
    """`rig start` at a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.fd, end = pty.openpty()
        self.output = ""
        # The terminal is the one of its session: Ctrl-C comes from its keys.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IN_A_TERMINAL, "start", *words],
            cwd=folder,
            env=uncounted(),
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
        )
        os.close(end)
        os.set_blocking(self.fd, False)

    def shows(self, text: str) -> None:
        """Wait for a text."""
        eventually(lambda: text in self._read(), limit_s=60.0)

    def types(self, text: str) -> None:
        """Press keys once the program waits for them: a Ctrl-C between its question and
        its read() is seen only after the next key.
        """
        stat = Path(f"/proc/{self._process.pid}/stat")
        eventually(lambda: _state(stat) == _SLEEPING)
        os.write(self.fd, text.encode())

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        try:
            eventually(
                lambda: self._read() is None or self._process.poll() is not None,
                limit_s=120.0,
            )
            self._read()
        finally:
            self._process.kill()
            os.close(self.fd)
        return self._process.wait()

    def _read(self) -> str:
        with suppress(BlockingIOError, OSError):
            while block := os.read(self.fd, 65536):
                self.output += block.decode()
        return self.output


#: State of a process that waits, as proc(5) has it.
_SLEEPING = "S"


def _state(stat: Path) -> str:
    after_name = stat.read_text("ascii").rpartition(")")[2]
    return after_name.split()[0]


_IN_A_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from rig.cli.boards import questions
from rig.cli.main import main
questions.scan = list  # the desk of this computer is not looked at
main()
"""


@pytest.mark.parametrize("asked", range(len(ASKED)))
def test_ctrl_c_at_a_question_leaves_no_file(tmp_path: Path, asked: int) -> None:
    terminal = Terminal(tmp_path)
    for question, answer in ASKED[:asked]:
        terminal.shows(question)
        terminal.types(f"{answer}\n")
    terminal.shows(ASKED[asked][0])
    terminal.shows(": ")
    terminal.types("\x03")
    assert terminal.ended() == STOPPED, terminal.output
    assert "nothing was written" in terminal.output
    assert list(tmp_path.iterdir()) == []


@needs_make
def test_questions_are_answered_by_name_or_number_and_lead_to_a_result(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path, *SHORT, "--trials", "1")
    terminal.shows("name or number")
    terminal.types("nosuch\n")
    terminal.shows("nosuch is neither a name nor a number above")
    terminal.types("posix\n")
    terminal.shows("Which monitor?")
    terminal.types("1\n")
    assert terminal.ended() == NOT_TESTED, terminal.output
    assert f"result: sessions/{only_session(tmp_path).name}" in terminal.output


@needs_arm
def test_ctrl_c_before_the_wires_are_made_keeps_the_project_and_names_the_command(
    tmp_path: Path,
) -> None:
    words = ("--board", "nano33ble", "--monitor", "none", "--port", "/dev/nosuch")
    terminal = Terminal(tmp_path, *words, "--flashed")
    terminal.shows("then Enter")
    terminal.types("\x03")
    assert terminal.ended() == STOPPED, terminal.output
    words_again = "rig start nano33ble --board nano33ble --monitor none"
    assert "nano33ble is kept" in terminal.output and words_again in terminal.output
    assert project.is_of(tmp_path / "nano33ble", "nano33ble")
    assert not (tmp_path / "sessions").exists()


def test_a_project_that_cannot_be_written_whole_is_removed(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = project._copy
    places = []

    def stopped(source: Path, place: Path) -> None:
        places.append(place)
        if len(places) == 3:
            raise KeyboardInterrupt
        copied(source, place)

    monkeypatch.setattr(project, "_copy", stopped)
    with pytest.raises(click.Abort):
        start("--board", "pico", "--monitor", "simulated")
    assert len(places) == 3 and list(tmp_path.iterdir()) == []
