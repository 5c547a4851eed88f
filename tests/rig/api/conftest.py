# SPDX-License-Identifier: Apache-2.0
"""Small finished sessions to look at and to change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL
from tests.recorded import recorded


@pytest.fixture
def copied(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """Return a copy of a session with so many trials on the virtual bench; it lies in
    tmp_path."""

    def copy(trials: int) -> Path:
        def record(root: Path) -> None:
            overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
            with open_bench(VIRTUAL_NULL, overrides) as bench:
                bench.run(trials, root)

        [folder] = recorded(tmp_path_factory, f"trials-{trials}", record).iterdir()
        return shutil.copytree(folder, tmp_path / folder.name)

    return copy
