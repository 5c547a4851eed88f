# SPDX-License-Identifier: Apache-2.0
"""`rig` in a process of its own, which has its modules already: to import them is most of what a
short command takes.

The process is forked from one that imported them and did nothing else. tests/rig/cli/test_main.py
also starts `python -m rig` itself, as a shell does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

#: Modules of the commands, and what they import when they use it.
_IMPORTED = (
    *("rig.cli.run", "rig.cli.check", "rig.cli.report", "rig.cli.measure", "rig.cli.list"),
    *("rig.check.check", "rig.report.report", "scipy.special", "matplotlib.backends.backend_svg"),
)
_LIMIT_S = 240.0


def rig(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its exit code and what it printed."""
    command = ["rig", *map(str, words)]
    if "COVERAGE_PROCESS_START" in os.environ:  # which counts where an interpreter begins
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_IMPORTED))
    with tempfile.TemporaryDirectory() as scratch:
        outputs = (Path(scratch) / "stdout", Path(scratch) / "stderr")
        process = context.Process(
            target=_run, args=(command, str(cwd or Path.cwd()), dict(os.environ), *outputs)
        )
        process.start()
        process.join(_LIMIT_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(command, _LIMIT_S)
        stdout, stderr = (path.read_text(encoding="utf-8") for path in outputs)
        return subprocess.CompletedProcess(command, process.exitcode, stdout, stderr)


def _run(
    command: list[str], cwd: str, environment: dict[str, str], stdout: Path, stderr: Path
) -> None:
    """Be the process of a command: its folder, its environment, its outputs."""
    for number, path in ((1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = command

    from rig.cli.main import main

    main()
