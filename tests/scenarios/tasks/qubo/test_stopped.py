# SPDX-License-Identifier: Apache-2.0
"""A search for targets ends at the first Ctrl-C or TERM, with all processes that it
started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import eventually

LIMIT_S = 15.0


def children_of(pid: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        own = [int(child) for path in tasks for child in path.read_text().split()]
    except OSError:
        return []
    return own + [below for child in own for below in children_of(child)]


def working(pid: int) -> bool:
    """Return whether a process has taken a tenth of a second of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) >= 10


@pytest.mark.skipif(sys.platform != "linux", reason="processes are known by /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_search_ends_at_the_first_signal(
    tmp_path: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-m", "rig", "qubo", "targets", "--table", "own.csv"]
    command += ["--nodes", "50", "--density", "0.1", "--search", "300", "--jobs", "2"]
    command += ["--problem-seed", "7", "--problem-seed", "8", "--problem-seed", "9"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        started = eventually(
            lambda: found if len(found := children_of(process.pid)) >= 2 else [],
            process=process,
        )
        eventually(lambda: all(map(working, started[:2])), process=process)
        process.send_signal(ending)
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "stopped" in output and "Traceback" not in output
    assert "supply" not in output
    eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), LIMIT_S
    )
