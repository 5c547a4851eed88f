# SPDX-License-Identifier: Apache-2.0
"""Whatever ends the rig, the supply of a real instrument goes off: a board of its own process
watches the rig die.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import Running, program, started_program
from tests.waiting import eventually

BOARD = "import sys; from drivers.st_lpm01a.sim.simulator import main; main(sys.stdout)"
BENCH = """
[bench]
name = "guarded"
[sut.virtual]
[monitor.st_lpm01a]
port = "{port}"
[scenario.single_stream]
[task.null]
"""


class Board:
    """A simulated board in a process of its own: the rig takes it for a real one."""

    def __init__(self, folder: Path) -> None:
        self.process = started_program(BOARD, folder)
        self._heard = 0
        self.port = self.says().split()[1]
        # While somebody has it open no other test is given a line of this name, to which a watchdog
        # would talk: that looks for the board long after the test.
        os.open(self.port, os.O_RDWR | os.O_NOCTTY)

    def says(self) -> str:
        """Return its next line."""
        self._heard += 1
        lines = eventually(
            lambda: whole if len(whole := self.said()) >= self._heard else [], process=self.process
        )
        return lines[self._heard - 1].strip()

    def said(self) -> list[str]:
        """Return its lines so far."""
        return [line for line in self.process.printed().splitlines(True) if line.endswith("\n")]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    board = Board(tmp_path)
    yield board
    if board.process.poll() is None:
        board.process.signal(signal.SIGKILL)
    board.process.ended()


def powered_rig(board: Board, tmp_path: Path) -> Running:
    """Start a process that opens the bench, powers the DUT, and then hangs."""
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCH.format(port=board.port))
    hang = "print('open', flush=True); time.sleep(600)  # until it is killed"
    code = (
        "from rig.session.session import open_bench\nimport time\nwith "
        f"open_bench({str(bench)!r}):\n    {hang}"
    )
    rig = started_program(code, tmp_path)
    eventually(lambda: rig.printed() == "open\n", process=rig)
    assert board.says() == "supply on"
    return rig


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_the_supply_goes_off_when_the_rig_is_gone(
    board: Board, tmp_path: Path, ending: signal.Signals
) -> None:
    rig = powered_rig(board, tmp_path)
    rig.signal(ending)
    assert board.says() == "supply off"
    assert rig.ended().returncode != 0


def test_a_bench_that_is_left_in_peace_needs_no_watchdog(board: Board, tmp_path: Path) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCH.format(port=board.port))
    code = f"from rig.session.session import open_bench\nwith open_bench({str(bench)!r}):\n    pass"
    done = program(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [board.says(), board.says()] == ["supply on", "supply off"]
    board.process.signal(signal.SIGTERM)
    eventually(lambda: board.process.poll() is not None)
    assert len(board.said()) == 3, "nobody opened the board again"


@pytest.mark.long
def test_an_instrument_that_has_gone_as_well_is_named(board: Board, tmp_path: Path) -> None:
    rig = powered_rig(board, tmp_path)
    board.process.signal(signal.SIGKILL)
    eventually(lambda: board.process.poll() is not None)
    started = time.monotonic()
    from rig.bench.supply_off import switch_off

    problems = switch_off((tmp_path / "bench.toml").read_text(), [""])
    assert len(problems) == 1 and "may still be on" in problems[0]
    assert time.monotonic() - started < 60
    rig.signal(signal.SIGKILL)
    rig.ended()
