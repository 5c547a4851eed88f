# SPDX-License-Identifier: Apache-2.0
"""The README's commands work."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.commands import program, pytest_in
from tests.conftest import ROOT
from tests.programs import captured

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_program_runs_as_printed(tmp_path: Path) -> None:
    shutil.copy(ROOT / "benches" / "virtual-asc.toml", tmp_path)
    done = program(blocks("python")[0], tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"energy_infer = [\d.]+ ± [\d.]+ mJ.* PASS for \d+ energies, .*not tested \(",
        done.stdout,
    )


def test_the_test_of_the_readme_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(blocks("python")[1])
    pytest_in(pytester).assert_outcomes(passed=1)


def test_the_readme_has_every_command_and_no_other() -> None:
    listed = captured([sys.executable, "-m", "rig", "--help"], check=True).stdout
    named = set(re.findall(r"^\| .*?`rig (\w+)", README, re.MULTILINE))
    # A cell may name two: `rig gui`, `rig view`.
    named |= set(re.findall(r"^\| `[^|]*`, `rig (\w+)", README, re.MULTILINE))
    assert named == set(
        re.findall(r"^  (\w+)  ", listed.partition("Commands:\n")[2], re.MULTILINE)
    )


def test_the_window_is_shown_near_the_top_and_labelled() -> None:
    top = "".join(README.splitlines(keepends=True)[:20])
    [picture] = re.findall(r"!\[[^]]+\]\(([^)]+)\)", top)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
    assert "SIMULATED" in top


def test_ci_runs_the_shell_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    # The same tests, with their coverage counted.
    ci = ci.replace("make coverage", "make test")
    lines = "".join(blocks("sh")).splitlines()
    lines = [line for line in lines if "FOLDER" not in line]
    assert lines
    for line in lines:
        assert line in ci, line


def test_every_file_the_readme_names_is_there() -> None:
    for name in re.findall(
        r"`((?:docs|benches|firmware|examples|rig|drivers|sut_backends|scenarios)/[\w./-]*)`",
        README,
    ):
        assert (ROOT / name).exists(), name
