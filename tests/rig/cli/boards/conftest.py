# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.cli.main import rig as command_line
from rig.errors import RigError

Rig = Callable[..., tuple[int, str]]


@pytest.fixture
def rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Rig:
    """Run the command line in tmp_path, `path` in place of PATH; return its exit code
    and the output of it and its programs.
    """

    def run(*words: str | Path, path: str | None = None) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setenv("PATH", path if path is not None else os.environ["PATH"])
            capfd.readouterr()
            try:
                code = command_line.main([*map(str, words)], standalone_mode=False)
                error = ""
            except RigError as refused:
                code = refused.exit_code
                error = str(refused)
        return code or 0, "".join(capfd.readouterr()) + error

    return run
