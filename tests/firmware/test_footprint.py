# SPDX-License-Identifier: Apache-2.0
"""The size table of docs/FIRMWARE.md is what the compiler gives."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GCC = "arm-none-eabi-gcc"
KIB = 1024

pytestmark = pytest.mark.skipif(
    shutil.which(GCC) is None, reason="needs arm-none-eabi-gcc (Debian: gcc-arm-none-eabi)"
)


def rows_of(text: str) -> dict[str, tuple[int, int]]:
    """Return name -> bytes on Cortex-M0+ and M4."""
    return {
        name: (int(m0), int(m4))
        for name, m0, m4 in re.findall(
            r"^\| (\w+: [^|]+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE
        )
    }


@pytest.fixture(scope="module")
def measured() -> str:
    done = subprocess.run(
        [sys.executable, "footprint.py", GCC],
        cwd=ROOT / "firmware",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_table_in_the_documentation_is_what_the_compiler_gives(measured: str) -> None:
    page = (ROOT / "docs" / "FIRMWARE.md").read_text(encoding="utf-8")
    written = rows_of(page)
    found = rows_of(measured)
    assert list(written) == list(found)
    same_compiler = measured.splitlines()[0] in page
    for name, sizes_b in found.items():
        for stated_b, found_b in zip(written[name], sizes_b, strict=True):
            assert abs(stated_b - found_b) <= (0.02 if same_compiler else 0.15) * stated_b, name


def test_what_a_framed_session_needs_is_under_6_kib_of_flash_with_all_it_is_linked_with(
    measured: str,
) -> None:
    found = rows_of(measured)
    assert (
        max(found["flash: linked, without WORDS, CLASSIC, SELF_TEST, STREAM, OPTIMIZE"]) < 6 * KIB
    )


def test_state_and_stack_keep_their_limits(measured: str) -> None:
    found = rows_of(measured)
    assert max(found["RAM: state"]) < KIB
    assert max(found["stack: worst chain"]) < KIB


def test_the_parts_come_to_the_whole(measured: str) -> None:
    found = rows_of(measured)
    for column in (0, 1):
        ram = [
            sizes_b[column]
            for name, sizes_b in found.items()
            if name.startswith("RAM") and "struct" not in name
        ]
        assert sum(ram) == found["RAM: struct nr_shim"][column]
        flash = {
            name: sizes_b[column] for name, sizes_b in found.items() if name.startswith("flash")
        }
        parts_b = sum(size_b for name, size_b in flash.items() if "linked" not in name)
        whole_b = flash["flash: linked, all parts"]
        assert abs(parts_b - flash["flash: `name` and `frame` alone"] - whole_b) < KIB / 4
        assert all(size_b < whole_b for name, size_b in flash.items() if "without" in name)
