# SPDX-License-Identifier: Apache-2.0
"""The firmware's own tests, in C and under sanitizers: `make -C firmware test`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIRMWARE = Path(__file__).parents[2] / "firmware"
COMPILER = shutil.which(os.environ.get("CC", "cc"))
MAKE = shutil.which("make")

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(COMPILER is None or MAKE is None, reason="needs make and a C compiler"),
]


def make(target: str, *settings: str) -> str:
    done = subprocess.run(
        ["make", "-C", str(FIRMWARE), target, f"PYTHON={sys.executable}", *settings],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests and replayed inputs are made of the same objects: the core is compiled once."""
    return tmp_path_factory.mktemp("build")


def test_host_tests_pass(folder: Path) -> None:
    output = make("test", f"BUILD={folder}")
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
    ):
        assert f"{name}: " in output


def test_the_stored_inputs_of_the_fuzz_targets_find_nothing(folder: Path) -> None:
    output = make("replay", f"BUILD={folder}")
    for name in ("frame", "text", "shim", "qubo"):
        stored = len(list((FIRMWARE / "tests" / "corpus" / name).iterdir()))
        assert stored >= 5
        assert f"{name}: {stored} inputs replayed" in output


@pytest.mark.repeats  # of `make check`
def test_everything_compiles_without_a_warning(tmp_path: Path) -> None:
    assert "warnings: none" in make("warnings", f"BUILD={tmp_path}")
