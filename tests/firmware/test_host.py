# SPDX-License-Identifier: Apache-2.0
"""The firmware's own tests, in C and under sanitizers: `make -C firmware test`."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.builds import FIRMWARE, make

COMPILER = shutil.which(os.environ.get("CC", "cc"))
MAKE = shutil.which("make")

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(
        COMPILER is None or MAKE is None, reason="needs make and a C compiler"
    ),
]


def test_host_tests_pass() -> None:
    output = make("test", f"PYTHON={sys.executable}")
    for name in (
        "frame",
        "division",
        "text",
        "shim",
        "messages",
        "optimize",
        "stream",
        "self_test",
        "faults",
        "time",
        "minimal",
        "network",
        "io_manager",
    ):
        assert f"{name}: " in output


def test_the_stored_inputs_of_the_fuzz_targets_find_no_fault() -> None:
    output = make("replay", f"PYTHON={sys.executable}")
    for name in ("frame", "text", "shim", "qubo"):
        stored = len(list((FIRMWARE / "tests" / "corpus" / name).iterdir()))
        assert stored >= 5
        assert f"{name}: {stored} inputs replayed" in output


@pytest.mark.repeats  # of `make check`
def test_everything_compiles_without_a_warning(tmp_path: Path) -> None:
    assert "warnings: none" in make("warnings", f"BUILD={tmp_path}")
