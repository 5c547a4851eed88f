# SPDX-License-Identifier: Apache-2.0
"""A command that is killed right before or after any of its writes: `rig check` passes
or names the repair, and after the repair it passes.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.commands import program, rig
from tests.conftest import VIRTUAL_NULL
from tests.length import length

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

QUICK = (
    *("--set", "task.null.samples=2", "--set", "scenario.single_stream.idle_s=0.05"),
    *("--set", "monitor.virtual.sample_hz=50_000", "--trials", "1"),
)
#: Run a command, and kill it at its n-th change of a session: before an even one, after
#: an odd one. A killed process does not depend on the disk's state, so it is not
#: synchronised.
KILLED = """
import os, signal, sys
from rig.cli.main import main
from rig.store.event_file import EventFile

count = 0

def look():
    global count
    if count == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1

def counted(change):
    def changed(place, *more, **named):
        if isinstance(place, (str, os.PathLike)) and "sessions" not in str(place):
            return change(place, *more, **named)
        look()
        done = change(place, *more, **named)
        look()
        return done
    return changed

os.fsync = lambda descriptor: None
for name in ("mkdir", "rename", "replace", "truncate", "fsync"):
    setattr(os, name, counted(getattr(os, name)))
EventFile.append = counted(EventFile.append)
sys.argv = ["rig", *{words!r}]
try:
    main()
finally:
    print("changes", count, flush=True)
"""


def killed_at(at: int, cwd: Path, *words: str | Path) -> int:
    """Run a command, and kill it at its change number `at`; return how many there were,
    0 where it was killed.
    """
    done = program(KILLED.format(at=at, words=[*map(str, words)]), cwd)
    result = re.search(r"^changes (\d+)$", done.stdout, re.MULTILINE)
    if at >= 0 and result is None:
        assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
        return 0
    assert result is not None, done.stdout + done.stderr
    return int(result[1])


def places(count: int, kept: int) -> Iterator[int]:
    """Yield so many places among all, evenly; the last ones, where a session ends,
    all."""
    late = min(length(8, 4), count)
    yield from sorted(
        {*range(0, count, max(count // kept, 1)), *range(count - late, count)}
    )


def repaired(folder: Path) -> str:
    """Follow the check's hint, and return it; the session then passes."""
    checked = rig("check", folder)
    output = checked.stdout + checked.stderr
    if checked.returncode == 0:
        return "nothing"
    if "the folder can be removed" in output:
        assert "empty" in rig("sessions", "--sessions", folder.parent).stdout
        refused = rig("resume", folder)
        assert refused.returncode == 2 and "the folder can be removed" in refused.stderr
        return "removed"
    command = "resume" if re.search(r"next +rig resume", output) else "report"
    assert f"rig {command}" in output, output
    done = rig(command, folder)
    assert done.returncode in (0, 4), done.stdout + done.stderr
    checked = rig("check", folder)
    assert checked.returncode == 0, (
        output + done.stderr + checked.stdout + checked.stderr
    )
    return command


def test_a_run_killed_at_any_change_of_a_file_is_repaired_as_its_check_says(
    tmp_path: Path,
) -> None:
    words = ("run", VIRTUAL_NULL, *QUICK, "--sessions")
    count = killed_at(-1, tmp_path, *words, tmp_path / "whole" / "sessions")
    repairs = set()
    for at in places(count, length(10, 4)):
        root = tmp_path / str(at) / "sessions"
        assert killed_at(at, tmp_path, *words, root) == 0
        repairs |= {repaired(folder) for folder in root.glob("*") if folder.is_dir()}
    assert repairs == {"removed", "resume", "report", "nothing"}


def test_a_resume_killed_at_any_change_of_a_file_is_repaired_as_its_check_says(
    tmp_path: Path,
) -> None:
    words = ("run", VIRTUAL_NULL, *QUICK, "--sessions")
    count = killed_at(-1, tmp_path, *words, tmp_path / "whole" / "sessions")
    # In the midst of the steps of the only trial.
    begun = tmp_path / "begun" / "sessions"
    killed_at(count // 2, tmp_path, *words, begun)
    (folder,) = begun.iterdir()
    copy = tmp_path / "0" / "sessions" / folder.name
    copytree(folder, copy)
    count = killed_at(-1, tmp_path, "resume", copy)
    for at in places(count, length(8, 3)):
        copy = tmp_path / f"r{at}" / "sessions" / folder.name
        copytree(folder, copy)
        assert killed_at(at, tmp_path, "resume", copy) == 0
        repaired(copy)
