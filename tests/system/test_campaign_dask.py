# SPDX-License-Identifier: Apache-2.0
"""`rig campaign --scheduler`: cells at bench hosts, which are worker processes with
boards; a worker is killed in the middle.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rig.api.sessions.session import sessions
from rig.check.check import check
from rig.store.session_folder import EVENTS
from tests.commands import rig, started
from tests.waiting import eventually

pytest.importorskip("distributed")

BOARDS = ("a", "b", "c", "d")
BENCH = """
[bench]
trials = 2
[sut.posix]
program = "{program}"
[monitor.virtual]
sample_hz = 200_000
[scenario.single_stream]
idle_s = {idle_s}
[task.null]
samples = 6
"""


@contextmanager
def process(*words: str, data: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of Dask with a data folder of its own, as at a host of its own."""
    environment = {**os.environ, "XDG_DATA_HOME": str(data)}
    with log.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


class Hosts:
    """A scheduler, and two workers that offer boards."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        log = folder / "scheduler.log"
        words = ("scheduler", "--port=0", "--no-dashboard", "--host=127.0.0.1")
        stack.enter_context(process(*words, data=folder / "scheduler", log=log))
        found = eventually(
            lambda: re.findall(r"tcp://127[\d.:]+", log.read_text()), 120
        )
        self.address = found[0]

    def worker(self, name: str, boards: str) -> subprocess.Popen[bytes]:
        """Start a worker that offers boards, and wait until it is known."""
        offered = " ".join(f"board:{board}=1" for board in boards)
        more = ("--no-nanny", "--nthreads=4", "--no-dashboard", "--name", name)
        log = self._folder / f"{name}.log"
        words = ("worker", self.address, *more, "--resources", offered)
        scratch = f"--local-directory={self._folder / name}"
        child = self._stack.enter_context(
            process(*words, scratch, data=self._folder / name, log=log)
        )
        eventually(lambda: "Registered to" in log.read_text(), 120, child)
        return child


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield Hosts(tmp_path, stack)


def grid(folder: Path, firmware: Path, idle_s: float = 0.2) -> None:
    for board in BOARDS:
        text = BENCH.format(program=firmware / "null", idle_s=idle_s)
        (folder / f"{board}.toml").write_text(text)
    benches = ", ".join(f'"{board}.toml"' for board in BOARDS)
    (folder / "grid.toml").write_text(f"[grid]\nbench = [{benches}]\nrepetitions = 2\n")


def statuses(root: Path) -> dict[str, list[str]]:
    """Return the statuses of the sessions of each cell."""
    found: dict[str, list[str]] = {}
    for session in sessions(root):
        name = re.sub(r"^\d+T\d+Z-", "", session.path.name)
        found.setdefault(name, []).append(session.status)
    return found


CELLS = {f"{board}-r{number}" for board, number in itertools.product(BOARDS, (1, 2))}


@pytest.mark.posix
@pytest.mark.long
def test_cells_of_a_killed_worker_end_at_the_other_one_and_none_counts_twice(
    tmp_path: Path, firmware: Path, hosts: Hosts
) -> None:
    grid(tmp_path, firmware, idle_s=1.0)
    first = hosts.worker("first", "abcd")
    hosts.worker("second", "abcd")
    words = ("campaign", "grid.toml", "--to", "cells", "--scheduler", hosts.address)
    running = started(*words, cwd=tmp_path)
    begun = "first/neurorig/campaigns/*/*/" + EVENTS
    eventually(lambda: len(list(tmp_path.glob(begun))) >= 1, 120)
    first.send_signal(signal.SIGKILL)
    ended = running.ended()
    assert "8 cells: 8 done, 0 failed, 0 missing" in ended.stdout, (
        ended.stdout + ended.stderr
    )
    assert statuses(tmp_path / "cells") == {cell: ["success"] for cell in CELLS}
    # The sessions that the killed worker left ended in order, and stay at its host.
    left = statuses(next((tmp_path / "first/neurorig/campaigns").iterdir()))
    assert set(map(tuple, left.values())) <= {("abort",)}
    assert left.keys() <= CELLS


@pytest.mark.posix
@pytest.mark.long
def test_a_board_that_is_gone_is_reported_and_the_same_command_goes_on(
    tmp_path: Path, firmware: Path, hosts: Hosts
) -> None:
    grid(tmp_path, firmware, idle_s=1.0)
    first = hosts.worker("first", "ab")
    hosts.worker("second", "cd")
    words = ("campaign", "grid.toml", "--to", "cells", "--scheduler", hosts.address)
    running = started(*words, cwd=tmp_path)
    begun = "first/neurorig/campaigns/*/*/" + EVENTS
    eventually(lambda: len(list(tmp_path.glob(begun))) == 2, 120)
    first.send_signal(signal.SIGKILL)
    ended = running.ended()
    assert ended.returncode == 1
    assert "no worker offers board:a any more" in ended.stdout
    assert "8 cells: 4 done, 0 failed, 4 missing" in ended.stdout
    assert statuses(tmp_path / "cells") == {
        cell: ["success"] for cell in CELLS if cell[0] in "cd"
    }

    # At its host the session that was cut off is resumed.
    hosts.worker("first", "ab")
    again = rig(*words, cwd=tmp_path)
    assert "8 cells: 8 done" in again.stdout, again.stdout + again.stderr
    assert statuses(tmp_path / "cells") == {cell: ["success"] for cell in CELLS}
    journals = [path.read_text() for path in tmp_path.glob(f"cells/*/{EVENTS}")]
    assert sum("session_resumed" in text for text in journals) == 2
    for session in sessions(tmp_path / "cells"):
        assert check(session.path).ok
    assert not list(tmp_path.glob("*/neurorig/campaigns/*/*/" + EVENTS))


@pytest.mark.posix
def test_ctrl_c_stops_the_cells_at_their_hosts(
    tmp_path: Path, firmware: Path, hosts: Hosts
) -> None:
    grid(tmp_path, firmware, idle_s=1.0)
    hosts.worker("first", "abcd")
    words = ("campaign", "grid.toml", "--to", "cells", "--scheduler", hosts.address)
    running = started(*words, cwd=tmp_path)
    begun = "first/neurorig/campaigns/*/*/" + EVENTS
    eventually(lambda: len(list(tmp_path.glob(begun))) == 4, 120)
    running.signal(signal.SIGINT)
    ended = running.ended()
    assert ended.returncode == 130, ended.stdout + ended.stderr
    left = statuses(next((tmp_path / "first/neurorig/campaigns").iterdir()))
    assert set(map(tuple, left.values())) == {("abort",)}
    assert len(left) == 4


def test_a_board_that_none_offers_is_refused_before_anything_runs(
    tmp_path: Path, hosts: Hosts
) -> None:
    hosts.worker("first", "a")
    (tmp_path / "board.toml").write_text(
        '[sut.uart]\nport = "/dev/nosuch"\n[monitor.none]\n'
        "[scenario.single_stream]\n[task.null]\n"
    )
    (tmp_path / "grid.toml").write_text('[grid]\nbench = "board.toml"\n')
    words = ("campaign", "grid.toml", "--to", "cells", "--scheduler", hosts.address)
    ran = rig(*words, cwd=tmp_path)
    assert ran.returncode == 2
    assert "no worker offers board:board" in ran.stderr
    assert "offered: board:a" in ran.stderr


def test_no_scheduler_is_named(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('[grid]\nbench = "virtual-null"\n')
    words = ("campaign", "grid.toml", "--scheduler", "tcp://127.0.0.1:1")
    ran = rig(*words, cwd=tmp_path)
    assert ran.returncode == 2
    assert "no Dask scheduler at tcp://127.0.0.1:1" in ran.stderr
