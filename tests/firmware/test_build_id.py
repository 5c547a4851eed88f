# SPDX-License-Identifier: Apache-2.0
"""The name of an image's build stands for every source that the image is made of."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

FIRMWARE = ROOT / "firmware"
WORKLOADS = ("null", "asc", "qubo", "network", "tflite", "sww")

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None,
    reason="make or cc is missing (Debian: apt-get install make gcc libc6-dev)",
)


def build_id(folder: Path, workload: str) -> str:
    """Return the name that make would give the image's build."""
    words = ["make", "-n", "-B", "-C", str(folder), f"build/posix/{workload}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    (name,) = set(re.findall(r'NR_BUILD=\S*?"(\w+)"', done.stdout))
    return name


def sources_of(folder: Path, workload: str) -> set[Path]:
    """Return the files of the project that the compiler opens for an image."""
    words = ["make", "-n", "-B", "-C", str(folder), f"build/posix/{workload}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    commands = [line for line in done.stdout.splitlines() if line.startswith("cc ")]
    opened = set()
    for command in commands:
        listed = re.sub(r"-o \S+| \S+\.o\b", " ", command) + " -MM"
        made = subprocess.run(
            listed, shell=True, cwd=folder, capture_output=True, text=True, check=True
        )
        names = re.findall(r"[^\s\\:]+\.[ch]\b", made.stdout)
        opened |= {folder / name for name in names}
    return opened


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_change_of_any_source_changes_the_name(tmp_path: Path, workload: str) -> None:
    folder = tmp_path / "firmware"
    shutil.copytree(FIRMWARE, folder, ignore=shutil.ignore_patterns("build*"))
    before = build_id(folder, workload)
    sources = sources_of(folder, workload)
    assert folder / "core" / "nr_shim.h" in sources
    unchanged = []
    for source in sorted(sources):
        content = source.read_bytes()
        source.write_bytes(content + b"/* changed */\n")
        if build_id(folder, workload) == before:
            unchanged.append(source.relative_to(folder))
        source.write_bytes(content)
    assert unchanged == []
