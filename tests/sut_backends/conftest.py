# SPDX-License-Identifier: Apache-2.0
"""The real firmware as a process, for every test that wants a device."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rig.interfaces.context import BenchContext
from sut_backends.hosted.posix import DutProcess
from tests.builds import built

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def null_program() -> Path:
    """Build the firmware with the null workload, which answers with the first 64 bytes
    of its input.
    """
    if not any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler")
    return built("posix") / "posix" / "null"


@pytest.fixture
def start_dut(null_program: Path) -> Iterator[Callable[..., DutProcess]]:
    """Start firmware processes without a backend around them; their edges are not
    recorded.
    """
    started: list[DutProcess] = []
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def start(*arguments: str) -> DutProcess:
        started.append(DutProcess(null_program, arguments, nowhere))
        return started[-1]

    yield start
    for process in started:
        process.close()
    os.close(nowhere)


@pytest.fixture
def context() -> BenchContext:
    """Give a table whose supply is on."""
    context = BenchContext(folder=ROOT, seed=1)
    context.world.supply_on = True
    return context
