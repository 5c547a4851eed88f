# SPDX-License-Identifier: Apache-2.0
"""Programs in a process that has imported the rig's modules already, since imports take
most of the time of a short command. The process is forked from one that imported them
and did no more. tests/rig/cli/test_main.py also starts `python -m rig` itself, as a
shell does.
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
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from multiprocessing import forkserver
from pathlib import Path

import coverage
import pytest

from tests.uncounted import uncounted

#: Modules of the commands, and modules that they import on use.
_IMPORTED = (
    *(
        "tests.warm",
        "rig.cli.run_bench",
        "rig.cli.check_session",
        "rig.cli.report",
        "rig.cli.measure",
        "rig.cli.list",
    ),
    *("pytest", "pandas"),
)
_ROOT = Path(__file__).resolve().parents[1]
_LIMIT_S = 240.0


def rig(
    *words: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its exit code and its output."""
    words_of_python = ["-m", "rig", *map(str, words)]
    return Running(_rig, words_of_python, cwd, counted=True).ended()


def started(*words: str | Path, cwd: Path) -> Running:
    """Start a command, which may get signals: its branches are not counted."""
    return Running(_rig, ["-m", "rig", *map(str, words)], cwd)


def program(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as `python -W error -c` does."""
    words = ["-W", "error", "-c", text]
    return Running(_program, words, cwd, counted=True).ended()


def started_program(text: str, cwd: Path) -> Running:
    """Start a program as `python -W error -c` does; it may get signals, so its branches
    are not counted.
    """
    return Running(_program, ["-W", "error", "-c", text], cwd)


def pytest_at(cwd: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder."""
    words_of_python = ["-m", "pytest", *map(str, words)]
    return Running(_pytest, words_of_python, cwd, counted=True).ended()


def pytest_in(pytester: pytest.Pytester, *words: str | Path) -> pytest.RunResult:
    """Run pytest in the folder of a test; return its result, as `runpytest_subprocess`
    does.
    """
    began_s = time.monotonic()
    done = pytest_at(pytester.path, f"--basetemp={pytester.path / 'basetemp'}", *words)
    outputs = (done.stdout.splitlines(), done.stderr.splitlines())
    return pytest.RunResult(done.returncode, *outputs, time.monotonic() - began_s)


class Running:
    """A program that runs, its outputs in files."""

    def __init__(
        self,
        main: Callable[[list[str]], None],
        words: list[str],
        cwd: Path | None,
        counted: bool = False,
    ) -> None:
        self._words = words
        self._scratch = tempfile.TemporaryDirectory()
        self._outputs = [
            Path(self._scratch.name) / name for name in ("stdout", "stderr")
        ]
        for path in self._outputs:
            path.touch()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_IMPORTED))
        # There "tests" is found.
        with _without_coverage(), chdir(_ROOT):
            forkserver.ensure_running()
        reported = (
            main,
            words,
            str(cwd or Path.cwd()),
            dict(os.environ) if counted else uncounted(),
            *self._outputs,
        )
        self._forked = context.Process(target=_run, args=reported)
        self._forked.start()

    @property
    def pid(self) -> int:
        """Return the number of its process."""
        pid = self._forked.pid
        assert pid is not None
        return pid

    def poll(self) -> int | None:
        """Return its exit code, or None as long as it runs."""
        return self._forked.exitcode

    def said(self) -> str:
        """Return its output so far."""
        return self._outputs[0].read_text(encoding="utf-8")

    def printed(self) -> str:
        """Return its output so far."""
        return self._outputs[0].read_text(encoding="utf-8")

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ended(self, limit_s: float = _LIMIT_S) -> subprocess.CompletedProcess[str]:
        """Wait for its end; return its exit code and its output."""
        with self._scratch:
            self._forked.join(limit_s)
            code = self.poll()
            if code is None:
                self.signal(signal.SIGKILL)
                raise subprocess.TimeoutExpired(self._words, limit_s)
            stdout, stderr = (
                path.read_text(encoding="utf-8") for path in self._outputs
            )
        return subprocess.CompletedProcess(self._words, code, stdout, stderr)


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
    # under nohup the second is ignored
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    with _counted():
        main(words)


@contextmanager
def _counted() -> Iterator[None]:
    """Count the branches that this process takes, where its environment asks for it
    (`make coverage`): coverage looks there by itself only where an interpreter begins.
    """
    counting = coverage.process_startup()
    try:
        yield
    finally:
        if counting is not None:
            counting.stop()
            counting.save()


@contextmanager
def _without_coverage() -> Iterator[None]:
    """Let the process that commands are forked from count no branches: each of them
    has a count of its own, or none.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(uncounted()):
            patch.delenv(name)
        yield


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
    sys.exit(
        pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *words[2:]])
    )
