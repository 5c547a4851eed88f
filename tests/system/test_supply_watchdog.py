# SPDX-License-Identifier: Apache-2.0
"""At any end of the rig the supply of a real instrument goes off: a board in its own
process watches the rig die.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import Running, program, started_program
from tests.conftest import ROOT
from tests.waiting import eventually

#: benchmarks/ is no installed package.
BOARD = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from benchmarks.simulated_lpm01a import serve
serve(sys.stdout)
"""
PPK2 = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.drivers.nordic_ppk2.test_driver import attached
with attached() as (simulator, context):
    print("pty", simulator.port, flush=True)
    on = False
    while True:
        time.sleep(0.01)  # between two looks at the supply
        if context.world.supply_on != on:
            on = not on
            print("supply", "on" if on else "off", flush=True)
"""
BENCH = """
[bench]
name = "guarded"
[sut.virtual]
[monitor.{kind}]
port = "{port}"
[scenario.single_stream]
[task.null]
"""


class Board:
    """A simulated board in a process of its own: the rig takes it for a real one."""

    def __init__(
        self, folder: Path, code: str = BOARD, kind: str = "st_lpm01a"
    ) -> None:
        self.process = started_program(code, folder)
        self._kind = kind
        self._heard = 0
        self.port = self.says().split()[1]
        # While it is open no other test is given a line of this name, since a watchdog
        # would talk to it: that looks for the board long after the test.
        os.open(self.port, os.O_RDWR | os.O_NOCTTY)

    @property
    def bench(self) -> str:
        """Return a bench file that names it."""
        return BENCH.format(kind=self._kind, port=self.port)

    def says(self) -> str:
        """Return its next line."""
        self._heard += 1
        lines = eventually(
            lambda: whole if len(whole := self.said()) >= self._heard else [],
            process=self.process,
        )
        return lines[self._heard - 1].strip()

    def said(self) -> list[str]:
        """Return its lines so far."""
        return [
            line
            for line in self.process.printed().splitlines(True)
            if line.endswith("\n")
        ]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    yield from powered(Board(tmp_path))


@pytest.fixture
def ppk2(tmp_path: Path) -> Iterator[Board]:
    yield from powered(Board(tmp_path, PPK2, "nordic_ppk2"))


def powered(board: Board) -> Iterator[Board]:
    """Yield a board, and end its process."""
    yield board
    if board.process.poll() is None:
        board.process.signal(signal.SIGKILL)
    board.process.ended()


def powered_rig(board: Board, tmp_path: Path, *, safe_path: bool = False) -> Running:
    """Start a process that opens the bench, powers the DUT, and then hangs;
    `safe_path`: it looks for no module in its current folder, as the command `rig` does
    not.
    """
    bench = tmp_path / "bench.toml"
    bench.write_text(board.bench)
    hang = "print('open', flush=True); time.sleep(600)  # until it is killed"
    code = (
        "from rig.session.session import open_bench\nimport time\nwith "
        f"open_bench({str(bench)!r}):\n    {hang}"
    )
    if safe_path:
        code = "import sys; sys.path = [each for each in sys.path if each]\n" + code
    rig = started_program(code, tmp_path)
    eventually(lambda: rig.printed() == "open\n", process=rig)
    assert board.says() == "supply on"
    return rig


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"]
)
def test_the_supply_goes_off_when_the_rig_is_gone(
    board: Board, tmp_path: Path, ending: signal.Signals
) -> None:
    rig = powered_rig(board, tmp_path)
    rig.signal(ending)
    assert board.says() == "supply off"
    assert rig.ended().returncode != 0


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"]
)
def test_the_supply_of_a_ppk2_goes_off_when_the_rig_is_gone(
    ppk2: Board, tmp_path: Path, ending: signal.Signals
) -> None:
    rig = powered_rig(ppk2, tmp_path)
    rig.signal(ending)
    assert ppk2.says() == "supply off"
    assert rig.ended().returncode != 0


def test_a_bench_that_is_left_in_peace_needs_no_watchdog(
    board: Board, tmp_path: Path
) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(board.bench)
    code = (
        "from rig.session.session import open_bench\nwith"
        f" open_bench({str(bench)!r}):\n    pass"
    )
    done = program(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [board.says(), board.says()] == ["supply on", "supply off"]
    board.process.signal(signal.SIGTERM)
    eventually(lambda: board.process.poll() is not None)
    assert len(board.said()) == 3, "nobody opened the board again"


@pytest.mark.long
def test_an_instrument_that_has_gone_as_well_is_named(
    board: Board, tmp_path: Path
) -> None:
    rig = powered_rig(board, tmp_path)
    board.process.signal(signal.SIGKILL)
    eventually(lambda: board.process.poll() is not None)
    started = time.monotonic()
    from rig.bench.supply_watchdog import prepare

    order = {"bench": (tmp_path / "bench.toml").read_text(), "rails": [""]}
    problems = prepare(json.dumps(order)).carry_out()
    assert len(problems) == 1 and "may still be on" in problems[0]
    assert time.monotonic() - started < 60
    rig.signal(signal.SIGKILL)
    rig.ended()


@pytest.mark.parametrize("name", ["serial", "json", "subprocess", "drivers"])
def test_a_file_in_the_current_folder_does_not_disarm_the_watchdog(
    board: Board, tmp_path: Path, name: str
) -> None:
    # Of the name of a module that the watchdog imports: it must not run.
    (tmp_path / f"{name}.py").write_text(
        "import sys; print('not serial'); sys.exit(3)\n"
    )
    rig = powered_rig(board, tmp_path, safe_path=True)
    rig.signal(signal.SIGKILL)
    assert board.says() == "supply off"
    assert rig.ended().returncode != 0


def test_a_watchdog_that_ends_early_ends_the_run_with_the_supply_off(
    board: Board, tmp_path: Path
) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(board.bench)
    code = f"""
import os, signal, time
from rig.bench.supply_watchdog import SupplyWatchdog
from rig.session.session import open_bench
from rig.errors import BenchError
with open_bench({str(bench)!r}) as bench:
    children = open(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children").read().split()
    guards = [
        int(each) for each in children
        if b"supply_watchdog" in open(f"/proc/{{each}}/cmdline", "rb").read()
    ]
    assert len(guards) == 1, guards
    os.kill(guards[0], signal.SIGKILL)
    os.waitid(os.P_PID, guards[0], os.WEXITED | os.WNOWAIT)
    try:
        bench.run(1, {str(tmp_path / "sessions")!r})
    except BenchError as error:
        print(error.cause)
"""
    done = program(code, tmp_path)
    assert "the process that watches over the supply has ended" in done.stdout, (
        done.stderr
    )
    assert [board.says(), board.says()] == ["supply on", "supply off"]


def test_a_watchdog_that_does_not_start_is_an_error_before_power_goes_on(
    board: Board, tmp_path: Path
) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(board.bench)
    code = f"""
import os
from rig.session.session import open_bench
from rig.errors import BenchError
# The watchdog's Python finds another package of this name, without what it needs.
os.environ["PYTHONPATH"] = {str(tmp_path / "broken")!r}
try:
    with open_bench({str(bench)!r}):
        pass
except BenchError as error:
    print(error.cause, "|", error.evidence)
"""
    broken = tmp_path / "broken" / "cattrs"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise SystemError('a broken installation')\n")
    done = program(code, tmp_path)
    assert "the process that watches over the supply does not start" in done.stdout, (
        done.stderr
    )
    assert "a broken installation" in done.stdout
    board.process.signal(signal.SIGTERM)
    eventually(lambda: board.process.poll() is not None)
    assert "supply on\n" not in board.said()
