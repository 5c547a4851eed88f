# SPDX-License-Identifier: Apache-2.0
"""Tests lie in a folder named as what they test: tests/rig/trace has those of rig/trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = ROOT / "tests"
#: What is here mirrors a folder of the product.
MIRRORED = ("rig", "drivers", "sut_backends", "scenarios", "gui")
#: What has none: tests of C code by its tools, of pages, and of several parts together.
OTHERS = ("docs", "firmware", "system", "vectors")


def folders_of_tests(top: Path) -> list[Path]:
    return sorted({path.parent.relative_to(TESTS) for path in top.rglob("test_*.py")})


@pytest.mark.parametrize("top", MIRRORED)
def test_the_tests_of_a_folder_lie_in_a_folder_of_its_name(top: str) -> None:
    found = folders_of_tests(TESTS / top)
    assert found, "there are tests"
    assert [folder for folder in found if not (ROOT / folder).is_dir()] == []


def test_every_folder_of_tests_is_one_of_these() -> None:
    tops = {path.name for path in TESTS.iterdir() if path.is_dir() and folders_of_tests(path)}
    assert tops <= {*MIRRORED, *OTHERS}
