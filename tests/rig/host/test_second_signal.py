# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: the first is an interrupt, the second the end, at any point of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rig.host import second_signal
from tests.conftest import ROOT
from tests.programs import captured
from tests.uncounted import uncounted
from tests.waiting import eventually

LIMIT_S = 10.0
#: Commands that never end: inside the interpreter's own C code, which asks for no
#: signals and lets no other thread run; and in Python that takes its time to clean up.
#: Sleeps are short: Python 3.14 looks for no signal between `print` with an argument by
#: name and the next call, and a signal then waits for the end of a sleep.
HANGS = """
import sys, time
from collections import deque
from itertools import repeat
import click
from rig.cli.main import main, rig

@rig.command("hang")
def hang():
    print("in", flush=True)
    deque(repeat(None), maxlen=0)

@rig.command("cleans-up")
def cleans_up():
    try:
        print("in", flush=True)
        while True:
            time.sleep(0.01)  # until the first signal
    finally:
        print("first", flush=True)
        while True:
            time.sleep(0.01)  # until the second

main()
"""


#: A library that drops whatever is raised while it is imported, as some C extensions do.
DROPS = """
import time
print("in", flush=True)
try:
    time.sleep(1)  # the import is under way when the signal comes
except BaseException:
    pass
"""
#: A library whose import never ends.
NEVER_ENDS = """
import time
print("in", flush=True)
while True:
    time.sleep(0.01)  # until the second signal
"""
IMPORTS = """
import time
from rig.host.second_signal import handle_once

handle_once()
import drops
print("imported", flush=True)
while True:
    time.sleep(0.01)  # until the signal
"""


@contextmanager
def begun(command: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", HANGS, command]
    with subprocess.Popen(
        words, env=uncounted(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "in\n"
            yield process
        finally:
            process.kill()


@contextmanager
def importing(folder: Path, library: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that is importing a library."""
    (folder / "drops.py").write_text(library, encoding="utf-8")
    paths = os.pathsep.join(map(str, (ROOT, folder)))
    with subprocess.Popen(
        [sys.executable, "-c", IMPORTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**uncounted(), "PYTHONPATH": paths},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "in\n"
            yield process
        finally:
            process.kill()


def pending(process: subprocess.Popen[str]) -> bool:
    """Return whether a signal was sent to a process and not yet taken by the system for
    it."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    masks = [
        line.split()[1]
        for line in status.splitlines()
        if line[:7] in ("SigPnd:", "ShdPnd:")
    ]
    return any(int(mask, 16) for mask in masks)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only glibc forgets a handler by itself"
)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_a_command_that_hangs_in_a_library(
    ending: signal.Signals,
) -> None:
    with begun("hang") as process:
        process.send_signal(ending)
        eventually(lambda: not pending(process), LIMIT_S)
        assert process.poll() is None
        process.send_signal(ending)
        assert process.wait(LIMIT_S) == -ending


def test_the_second_ends_a_command_that_cleans_up_for_long() -> None:
    with begun("cleans-up") as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "first\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == -signal.SIGINT


def test_signals_that_are_ignored_stay_so() -> None:
    code = (
        "import signal, os; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        f"from {second_signal.__name__} import handle_once\n"
        "handle_once()\n"
        "for _ in range(3):\n"
        "    os.kill(os.getpid(), signal.SIGINT); os.kill(os.getpid(), signal.SIGHUP)\n"
        "print('alive')"
    )
    done = captured([sys.executable, "-c", code], timeout=LIMIT_S)
    assert done.stdout == "alive\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to a process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_is_not_lost_in_a_library_that_is_being_imported(
    tmp_path: Path, number: signal.Signals
) -> None:
    with importing(tmp_path, DROPS) as process:
        process.send_signal(number)
        output, errors = process.communicate(timeout=LIMIT_S)
    assert output == "imported\n"
    assert errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc has what is pending")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_an_import_that_never_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    with importing(tmp_path, NEVER_ENDS) as process:
        process.send_signal(number)
        # On a busy computer the first could still be pending: a second one of its kind
        # would be dropped by the system.
        eventually(lambda: not pending(process), LIMIT_S)
        # Longer than the first one waits until it is sent again.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(10 * second_signal._IMPORT_POLL_S)
        process.send_signal(number)
        assert process.wait(LIMIT_S) == -number
