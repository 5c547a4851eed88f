# SPDX-License-Identifier: Apache-2.0
"""A search for targets ends at the first Ctrl-C or TERM."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.uncounted import uncounted
from tests.waiting import eventually

LIMIT_S = 15.0


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to a process")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_search_ends_at_the_first_signal(
    tmp_path: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-m", "rig", "qubo", "targets", "--table", "own.csv"]
    command += ["--nodes", "50", "--density", "0.1", "--search", "300"]
    command += ["--problem-seed", "0", "--problem-seed", "7"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        # The row of seed 0 is proven, and written before the search from seed 7.
        eventually((tmp_path / "own.csv").exists, process=process)
        process.send_signal(ending)
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "stopped" in output and "Traceback" not in output
    assert "supply" not in output
