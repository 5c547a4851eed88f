# SPDX-License-Identifier: Apache-2.0
"""The real firmware on a real pseudo terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builds import built


@pytest.fixture(scope="session")
def firmware() -> Path:
    """Build the POSIX firmware; returns the folder of its programs."""
    if not shutil.which("cc") or not shutil.which("make"):
        pytest.skip("the POSIX firmware needs a C compiler and make")
    return built("posix") / "posix"
