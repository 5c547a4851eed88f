# SPDX-License-Identifier: Apache-2.0
"""The size table of docs/reference/FIRMWARE.md agrees with the compiler."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.builds import BUILD, built_with, make
from tests.conftest import ROOT
from tests.programs import captured

GCC = "arm-none-eabi-gcc"
KIB = 1024

pytestmark = pytest.mark.skipif(
    shutil.which(GCC) is None,
    reason="needs arm-none-eabi-gcc (Debian: gcc-arm-none-eabi)",
)


def rows_of(text: str, cpu: str) -> dict[str, int]:
    """Return name -> bytes on a core, from a table with a column for each."""
    rows = [line.strip("|").split("|") for line in text.splitlines()]
    lines = [list(map(str.strip, row)) for row in rows]
    heading = next(cells for cells in lines if cpu in cells)
    column = heading.index(cpu)
    return {
        cells[0]: int(cells[column])
        for cells in lines
        if len(cells) == len(heading) and cells[column].isdecimal() and ": " in cells[0]
    }


@pytest.fixture(
    scope="module",
    params=["cortex-m0plus", pytest.param("cortex-m4", marks=pytest.mark.repeats)],
)
def cpu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def measured(cpu: str) -> str:
    make(f"PYTHON={sys.executable}", f"build/size-{cpu}.md")
    return (BUILD / f"size-{cpu}.md").read_text(encoding="utf-8")


def test_the_table_in_the_documentation_is_what_the_compiler_gives(
    measured: str, cpu: str
) -> None:
    page = (ROOT / "docs/reference/FIRMWARE.md").read_text(encoding="utf-8")
    written = rows_of(page, cpu)
    result = rows_of(measured, cpu)
    assert list(written) == list(result) and len(result) > 20
    same_compiler = measured.splitlines()[0] in page
    for name, found_b in result.items():
        stated_b = written[name]
        assert (
            abs(stated_b - found_b) <= (0.02 if same_compiler else 0.15) * stated_b
        ), name


def test_what_a_framed_session_needs_is_under_6_kib_of_flash_with_all_it_is_linked_with(
    measured: str, cpu: str
) -> None:
    result = rows_of(measured, cpu)
    assert (
        result["flash: linked, without WORDS, CLASSIC, SELF_TEST, STREAM, OPTIMIZE"]
        < 6 * KIB
    )


def test_state_and_stack_keep_their_limits(measured: str, cpu: str) -> None:
    result = rows_of(measured, cpu)
    assert result["RAM: state"] < KIB
    assert result["stack: worst chain"] < KIB


def test_the_parts_come_to_the_whole(measured: str, cpu: str) -> None:
    result = rows_of(measured, cpu)
    ram = [
        size_b
        for name, size_b in result.items()
        if name.startswith("RAM") and "struct" not in name
    ]
    assert sum(ram) == result["RAM: struct nr_shim"]
    flash = {
        name: size_b for name, size_b in result.items() if name.startswith("flash")
    }
    parts_b = sum(size_b for name, size_b in flash.items() if "linked" not in name)
    whole_b = flash["flash: linked, all parts"]
    assert abs(parts_b - flash["flash: `name` and `frame` alone"] - whole_b) < KIB / 4
    assert all(size_b < whole_b for name, size_b in flash.items() if "without" in name)


def test_the_sizes_of_the_boards_are_those_of_their_images() -> None:
    folder = built_with("boards", "WORKLOADS=null asc")
    footprint = ROOT / "firmware" / "footprint.py"
    done = captured([sys.executable, footprint, GCC, folder], check=True)
    rows = done.stdout.splitlines()[2:]
    page = (ROOT / "docs/reference/FIRMWARE.md").read_text(encoding="utf-8")
    compiler = captured([GCC, "--version"], check=True).stdout.splitlines()[0]
    if compiler not in page:
        pytest.skip("the page has the sizes of another compiler")
    assert len(rows) >= 8
    for row in rows:
        assert row in page.splitlines()
