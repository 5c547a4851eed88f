# SPDX-License-Identifier: Apache-2.0
"""Folders that several tests look at, such as a session: made once in a run of the
suite, by the first of its processes that asks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def recorded(
    factory: pytest.TempPathFactory, name: str, record: Callable[[Path], object]
) -> Path:
    """Return a folder into which `record` wrote; its content must not be changed."""
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with root.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file
        whole = root.with_suffix(".whole")
        if not whole.exists():
            shutil.rmtree(root, ignore_errors=True)  # of one that failed
            record(root)
            whole.touch()
    return root
