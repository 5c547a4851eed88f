# SPDX-License-Identifier: Apache-2.0
"""Whatever ends the rig, the supply of a real instrument goes off: a board of its own process
watches the rig die.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", BOARD],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = self.process.stdout.readline().split()[1]

    def says(self) -> str:
        """Return its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def board() -> Iterator[Board]:
    board = Board()
    yield board
    board.process.kill()
    board.process.communicate()


def powered_rig(board: Board, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a process that opens the bench, powers the DUT, and then hangs."""
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCH.format(port=board.port))
    hang = "print('open', flush=True); time.sleep(600)  # until it is killed"
    code = (
        "from rig.session.session import open_bench\nimport time\nwith "
        f"open_bench({str(bench)!r}):\n    {hang}"
    )
    rig = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert rig.stdout is not None and rig.stdout.readline() == "open\n"
    assert board.says() == "supply on"
    return rig


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_the_supply_goes_off_when_the_rig_is_gone(
    board: Board, tmp_path: Path, ending: signal.Signals
) -> None:
    rig = powered_rig(board, tmp_path)
    os.kill(rig.pid, ending)
    assert board.says() == "supply off"
    rig.communicate()
    assert rig.returncode != 0


def test_a_bench_that_is_left_in_peace_needs_no_watchdog(board: Board, tmp_path: Path) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCH.format(port=board.port))
    code = f"from rig.session.session import open_bench\nwith open_bench({str(bench)!r}):\n    pass"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [board.says(), board.says()] == ["supply on", "supply off"]
    board.process.terminate()
    assert board.process.stdout is not None
    assert "supply" not in board.process.stdout.read(), "nobody opened the board again"


@pytest.mark.long
def test_an_instrument_that_has_gone_as_well_is_named(board: Board, tmp_path: Path) -> None:
    rig = powered_rig(board, tmp_path)
    board.process.kill()
    board.process.wait()
    started = time.monotonic()
    from rig.bench.supply_off import switch_off

    problems = switch_off((tmp_path / "bench.toml").read_text(), [""])
    assert len(problems) == 1 and "may still be on" in problems[0]
    assert time.monotonic() - started < 60
    rig.kill()
    rig.communicate()
