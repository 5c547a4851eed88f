# SPDX-License-Identifier: Apache-2.0
"""Signals while a device is held: they ask for the end, and raise in no frame, as a
callback of a library or a finaliser would swallow the exception.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.commands import Running, rig, started_program
from tests.conftest import VIRTUAL_NULL
from tests.waiting import eventually

#: After each step the main thread is in a frame whose exceptions Python prints and
#: drops.
SWALLOWING = """
import ctypes, sys, time
from rig.cli.main import main
from rig.cli.printed.progress import RunProgress

class Finalised:
    def __del__(self):
        time.sleep(0.05)  # a library that works

@ctypes.CFUNCTYPE(None)
def callback():
    time.sleep(0.05)  # a library that works

shown = RunProgress.__call__

def show(self, event):
    shown(self, event)
    {frame}

RunProgress.__call__ = show
sys.argv = ["rig", *{words!r}]
main()
"""
FRAMES = {"callback": "callback()", "finaliser": "Finalised()"}
#: A step that is under way ends, the supply goes off, and the session gets its last
#: line.
LIMIT_S = 10.0


def swallowing(cwd: Path, frame: str, *words: str | Path) -> Running:
    return started_program(
        SWALLOWING.format(frame=frame, words=[*map(str, words)]), cwd
    )


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_a_frame_that_swallows_exceptions_stops_the_run(
    tmp_path: Path, how: signal.Signals, frame: str
) -> None:
    if signal.getsignal(how) is signal.SIG_IGN:
        pytest.skip("what this process ignores, as under nohup, its children ignore")
    many = ("--set", "task.null.samples=3000")
    process = swallowing(
        tmp_path, frame, "run", VIRTUAL_NULL, *many, "--sessions", tmp_path
    )
    (lines,) = eventually(
        lambda: [
            path
            for path in tmp_path.glob("*/trial-1/completions.jsonl")
            if path.read_bytes().count(b"\n") >= 3
        ],
        process=process,
    )
    began_s = time.monotonic()
    process.signal(how)
    done = process.ended(60.0)
    assert time.monotonic() - began_s < LIMIT_S
    assert done.returncode == 130, done.stderr
    assert "stopped\n  the supply is off\n" in done.stderr
    assert f"  try: rig resume {lines.parent.parent}\n" in done.stderr
    assert "ignored" not in done.stderr and "Traceback" not in done.stderr
    checked = rig("check", lines.parent.parent)
    assert "status abort" in checked.stdout and "rig resume" in checked.stdout


def test_a_signal_while_a_trace_is_recovered_ends_resume(tmp_path: Path) -> None:
    """The copy runs in a process of its own, which is ended."""
    text = """
import sys
from rig.cli.main import main
from rig.host.stop import LOOK_S
from rig.trace import recovery

real = recovery.limited_child.run

def endless(arguments, asked, limit_s):
    print("recovering", flush=True)
    return real(["-c", "import time; time.sleep(600)  # until it is killed"], asked, limit_s)

recovery.limited_child.run = endless
sys.argv = ["rig", "resume", {folder!r}]
main()
"""
    many = (
        "--set",
        "task.null.samples=200",
        "--set",
        "monitor.virtual.sample_hz=50_000",
    )
    words = ("run", VIRTUAL_NULL, *many, "--sessions", tmp_path)
    first = swallowing(tmp_path, FRAMES["callback"], *words)
    (lines,) = eventually(
        lambda: [
            path
            for path in tmp_path.glob("*/trial-1/completions.jsonl")
            if path.read_bytes().count(b"\n") >= 3
        ],
        process=first,
    )
    first.signal(signal.SIGKILL)
    first.ended(60.0)
    folder = lines.parent.parent
    process = started_program(text.format(folder=str(folder)), tmp_path)
    eventually(lambda: "recovering" in process.printed(), process=process)
    began_s = time.monotonic()
    process.signal(signal.SIGTERM)
    done = process.ended(60.0)
    assert done.returncode == 130, done.stdout + done.stderr
    assert time.monotonic() - began_s < LIMIT_S
