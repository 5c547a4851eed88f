# SPDX-License-Identifier: Apache-2.0
"""Sessions that several files of tests look at: recorded once in a run of the suite, by
the first of its processes that asks.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def recorded(
    factory: pytest.TempPathFactory, name: str, record: Callable[[Path], object]
) -> Path:
    """Return a folder into which `record` wrote one session; its content must not be
    changed.
    """
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with root.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of with the file
        if not root.exists():
            scratch = root.with_suffix(".partial")
            record(scratch)
            scratch.rename(root)
    return root
