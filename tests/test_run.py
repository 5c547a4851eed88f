# SPDX-License-Identifier: Apache-2.0
"""What passes only the second time fails `make test`, unless it is listed with a reason."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.run import FLAKY, flaky

#: Fails the first time, and whenever `broken.txt` is there.
SECOND_TIME = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("case", ["a", "b"])
def test_second(case):
    seen = Path(f"seen-{case}")
    first = case == "b" and not seen.exists()
    seen.touch()
    assert not first and not Path("broken.txt").exists()
"""
LISTED = "tests/test_it.py::test_second  # its line is simulated in real time\n"


def run(folder: Path, listed: str, jobs: str = "2") -> subprocess.CompletedProcess[str]:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text(SECOND_TIME)
    (folder / FLAKY).write_text(listed)
    command = [sys.executable, str(ROOT / "tests" / "run.py"), jobs]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_test_that_passes_only_the_second_time_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "")
    assert done.returncode == 1, done.stdout
    said = (
        "make test: passed the second time only: tests/test_it.py::test_second[b]; not in "
        "tests/flaky.txt, so this run fails"
    )
    assert said in done.stdout
    assert "test_second[a]; " not in done.stdout


@pytest.mark.parametrize(
    "listed",
    [LISTED, LISTED.replace("test_second", "test_second[b]")],
    ids=["the test", "the case"],
)
def test_one_that_is_listed_with_a_reason_does_not(tmp_path: Path, listed: str) -> None:
    done = run(tmp_path, listed)
    assert done.returncode == 0, done.stdout
    assert (
        "tests/test_it.py::test_second[b]; known: its line is simulated in real time" in done.stdout
    )


def test_the_list_excuses_none_that_fails_twice(tmp_path: Path) -> None:
    (tmp_path / "broken.txt").touch()
    assert run(tmp_path, LISTED).returncode == 1


def test_one_after_the_other_the_same_holds(tmp_path: Path) -> None:
    assert run(tmp_path, "", jobs="0").returncode == 1


def test_a_run_without_failures_passes(tmp_path: Path) -> None:
    (tmp_path / "seen-b").touch()
    done = run(tmp_path, "")
    assert done.returncode == 0, done.stdout
    assert "second time" not in done.stdout


@pytest.mark.parametrize(
    "line",
    ["tests/test_it.py::test_second", "tests/test_it.py::test_second  #  ", "test_second  # slow"],
)
def test_a_line_without_a_reason_or_a_test_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="lacks a reason, or is no test"):
        flaky(line)


def test_every_test_on_the_list_is_there() -> None:
    for name in flaky((ROOT / FLAKY).read_text(encoding="utf-8")):
        path, _, test = name.partition("::")
        function = test.rpartition("::")[2].partition("[")[0]
        assert re.search(
            rf"^ *def {function}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        ), name


def test_make_test_runs_this() -> None:
    assert "tests/run.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
