# SPDX-License-Identifier: Apache-2.0
"""What docs/tutorials/PYTHON.md shows runs as printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import rig
from tests import commands
from tests.commands import pytest_in
from tests.conftest import ROOT

PAGE = (ROOT / "docs/tutorials/PYTHON.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
VIRTUAL_ASC = ROOT / "benches" / "virtual-asc.toml"


def test_the_program_runs_from_top_to_bottom(tmp_path: Path) -> None:
    shutil.copy(VIRTUAL_ASC, tmp_path)
    program = "".join(block for block in BLOCKS if "def test_" not in block)
    done = commands.program(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "surely below 2 mJ: energy_infer = " in done.stdout


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester) -> None:
    shutil.copy(VIRTUAL_ASC, pytester.path)
    pytester.makepyfile(
        test_device=next(block for block in BLOCKS if "def test_" in block)
    )
    pytest_in(pytester).assert_outcomes(passed=4)


def test_every_option_of_the_page_is_one_of_the_plugin(
    pytester: pytest.Pytester,
) -> None:
    listed = set(re.findall(r"`(--rig-\w+)", PAGE))
    in_help = set(
        re.findall(r"^  (--rig-\w+)", pytest_in(pytester, "-h").stdout.str(), re.M)
    )
    assert listed == in_help


def test_every_name_of_the_page_exists() -> None:
    assert set(re.findall(r"\brig\.(\w+)\(", PAGE)) - {"mark"} <= set(rig.__all__) | {
        "rig"
    }
