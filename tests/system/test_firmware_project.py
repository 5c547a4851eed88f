# SPDX-License-Identifier: Apache-2.0
"""A project of the port posix, from an empty folder to a measurement, by commands
alone.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import commands
from tests.length import length


@pytest.mark.posix
@pytest.mark.skipif(
    shutil.which("make") is None, reason="needs make (apt-get install make)"
)
def test_the_benches_of_a_project_of_processes_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")  # the quickest

    def rig(*words: str) -> subprocess.CompletedProcess[str]:
        return commands.rig(*words, cwd=tmp_path)

    assert rig("firmware", "new", "firmware", "--port", "posix").returncode == 0
    assert rig("firmware", "build", "firmware").returncode == 0
    for task in ("null", "asc")[: length(2, 1)]:
        done = rig("run", f"firmware/{task}.toml", "--trials", "1")
        assert done.returncode == 4, "one trial is too few for a verdict"
        assert "1 trial of the 5 that the rule asks for" in done.stdout, done.stdout
