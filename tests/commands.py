# SPDX-License-Identifier: Apache-2.0
"""Programs in a process of their own which has the rig's modules already: to import them is most of
what a short command takes.

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
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

#: Modules of the commands, and what they import when they use it.
_IMPORTED = (
    *("rig.cli.run", "rig.cli.check", "rig.cli.report", "rig.cli.measure", "rig.cli.list"),
    *("rig.check.check", "rig.report.report", "scipy.special", "matplotlib.backends.backend_svg"),
    *("pytest", "pandas"),
)
_LIMIT_S = 240.0


def rig(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its exit code and what it printed."""
    return _done(_rig, ["-m", "rig", *map(str, words)], cwd)


def program(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as `python -W error -c` does."""
    return _done(_program, ["-W", "error", "-c", text], cwd)


def pytest_at(cwd: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder."""
    return _done(_pytest, ["-m", "pytest", *map(str, words)], cwd)


def pytest_in(pytester: pytest.Pytester, *words: str | Path) -> pytest.RunResult:
    """Run pytest in the folder of a test; return what it did, as `runpytest_subprocess` does."""
    began_s = time.monotonic()
    done = pytest_at(pytester.path, f"--basetemp={pytester.path / 'basetemp'}", *words)
    outputs = (done.stdout.splitlines(), done.stderr.splitlines())
    return pytest.RunResult(done.returncode, *outputs, time.monotonic() - began_s)


def _done(
    main: Callable[[list[str]], None], words: list[str], cwd: Path | None
) -> subprocess.CompletedProcess[str]:
    if "COVERAGE_PROCESS_START" in os.environ:  # which counts where an interpreter begins
        return subprocess.run(
            [sys.executable, *words],
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
            target=_run, args=(main, words, str(cwd or Path.cwd()), dict(os.environ), *outputs)
        )
        process.start()
        process.join(_LIMIT_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, _LIMIT_S)
        stdout, stderr = (path.read_text(encoding="utf-8") for path in outputs)
        return subprocess.CompletedProcess(words, process.exitcode, stdout, stderr)


def _run(
    main: Callable[[list[str]], None],
    words: list[str],
    cwd: str,
    environment: dict[str, str],
    stdout: Path,
    stderr: Path,
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
    main(words)


def _rig(words: list[str]) -> None:
    sys.argv = words[1:]
    from rig.cli.main import main

    main()


def _program(words: list[str]) -> None:
    sys.argv = ["-c"]
    sys.path.insert(0, "")
    warnings.simplefilter("error")
    exec(compile(words[-1], "<string>", "exec"), {"__name__": "__main__"})


def _pytest(words: list[str]) -> None:
    sys.argv = words[1:]
    sys.path.insert(0, "")
    # Of the rig's modules, none has an assertion to be rewritten.
    sys.exit(pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *words[2:]]))
